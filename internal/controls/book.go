package controls

import (
	"fmt"
	"sync"

	"google.golang.org/protobuf/proto"

	"forager/schemas"
)

// Book holds the newest control record of every crawl. It is safe for concurrent use.
type Book struct {
	mu     sync.RWMutex
	crawls map[string]*schemas.CrawlControl
}

// New returns an empty book.
func New() *Book { return &Book{crawls: make(map[string]*schemas.CrawlControl)} }

// Take reads one record of the topic: its key, the crawl, and its value, nil for a crawl that
// is forgotten. A revision that is not above the last changes nothing: it is a late copy, or the
// record of an operator who lost a race (see doc.go). An error is a record that cannot be read.
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
	return nil
}

// Look returns the newest control record of a crawl, not to be changed; nil while there is none.
func (b *Book) Look(crawl string) *schemas.CrawlControl {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.crawls[crawl]
}
