package controls

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"google.golang.org/protobuf/proto"

	"forager/schemas"
)

// Book holds the newest control record of every crawl. It is safe for concurrent use.
type Book struct {
	mu     sync.RWMutex
	crawls map[string]*schemas.CrawlControl
	taken  Bell
}

// New returns an empty book.
func New() *Book {
	return &Book{crawls: make(map[string]*schemas.CrawlControl)}
}

// Subscribe returns a channel that gets a value after a record was taken, until cancel is called.
func (b *Book) Subscribe() (taken <-chan struct{}, cancel func()) { return b.taken.Subscribe() }

// Deleted reports whether a crawl was deleted: later records of it are to be ignored.
func (b *Book) Deleted(crawl string) bool {
	return b.Look(crawl).GetState() == schemas.CrawlState_CRAWL_STATE_DELETED
}

// Take takes one record of the topic: its key, the crawl, and its value, nil if the crawl
// is removed. A revision that is not above the last changes nothing: it is a late copy, or the
// record of an operator who lost a race (docs/decisions/0113). Take returns an error for a record that cannot be decoded.
func (b *Book) Take(key, value []byte) error {
	var control *schemas.CrawlControl
	if value != nil {
		control = new(schemas.CrawlControl)
		if err := proto.Unmarshal(value, control); err != nil {
			return fmt.Errorf("control record of crawl %q: %w", key, err)
		}
		if control.GetCrawl() != string(key) {
			return fmt.Errorf("control record of crawl %q has the key %q", control.GetCrawl(), key)
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case control == nil:
		delete(b.crawls, string(key))
	case b.crawls[string(key)] == nil || control.GetRevision() > b.crawls[string(key)].GetRevision():
		b.crawls[string(key)] = control
	}
	b.taken.Ring()
	return nil
}

// Crawls returns the names of the crawls that have a control record, sorted.
func (b *Book) Crawls() []string {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return slices.Sorted(maps.Keys(b.crawls))
}

// Look returns the newest control record of a crawl, nil while there is none. It must not be changed.
func (b *Book) Look(crawl string) *schemas.CrawlControl {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.crawls[crawl]
}
