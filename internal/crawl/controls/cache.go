package controls

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"google.golang.org/protobuf/proto"

	"forager/schemas"
)

// Cache holds the control record in force of every crawl. It is safe for concurrent use.
type Cache struct {
	mu     sync.RWMutex
	crawls map[string]*entry
	taken  Notifier
}

// entry is what was read of one crawl.
type entry struct {
	inForce *schemas.CrawlControl
	// last is the last record in the topic, which compaction keeps.
	last *schemas.CrawlControl
	// refused is the highest revision that was refused, and why the cause. pending: no record has restored the one in
	// force since then, so that a reader that has read no other one takes the refused one to be in force.
	refused uint64
	why     string
	pending bool
}

// New returns an empty cache.
func New() *Cache {
	return &Cache{crawls: make(map[string]*entry)}
}

// Subscribe returns a channel that gets a value after a record was taken, until cancel is called.
func (b *Cache) Subscribe() (taken <-chan struct{}, cancel func()) { return b.taken.Subscribe() }

// Deleted reports whether a crawl was deleted: later records of it are to be ignored.
func (b *Cache) Deleted(crawl string) bool {
	return b.Get(crawl).GetState() == schemas.CrawlState_CRAWL_STATE_DELETED
}

// Take takes one record of the topic: its key, the crawl, and its value, nil if the crawl
// is removed. It returns an error for a record that cannot be decoded, and those of Add.
func (b *Cache) Take(key, value []byte) error {
	if value == nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.crawls, string(key))
		b.taken.Notify()
		return nil
	}
	control := new(schemas.CrawlControl)
	if err := proto.Unmarshal(value, control); err != nil {
		return fmt.Errorf("control record of crawl %q: %w", key, err)
	}
	if control.GetCrawl() != string(key) {
		return fmt.Errorf("control record of crawl %q has the key %q", control.GetCrawl(), key)
	}
	return b.Add(control)
}

// Add adds a record of the topic, which must not be changed afterwards. A record that Check refuses changes
// nothing, and Add returns the error. A revision that is not above that of the record in force changes nothing either: it is a late
// copy, or the record of an operator who lost a race (docs/decisions/0113).
func (b *Cache) Add(control *schemas.CrawlControl) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.taken.Notify()
	e := b.crawls[control.GetCrawl()]
	if e == nil {
		e = new(entry)
		b.crawls[control.GetCrawl()] = e
	}
	e.last = control
	if e.inForce != nil {
		if err := Check(e.inForce, control); err != nil {
			e.refuse(control, err)
			return fmt.Errorf("crawl %s: %w", control.GetCrawl(), err)
		}
		if control.GetRevision() <= e.inForce.GetRevision() {
			return nil
		}
	}
	e.inForce = control
	if _, restored := Restored(control); restored && control.GetRevision() > e.refused {
		e.pending = false
	}
	return nil
}

func (e *entry) refuse(control *schemas.CrawlControl, cause error) {
	e.pending = true
	if control.GetRevision() >= e.refused {
		e.refused, e.why = control.GetRevision(), cause.Error()
	}
}

// Precede adds a record under which a crawl is known to run, although the topic may not contain it any more. It stays
// in force if the record that was taken to be in force would have been refused or ignored after it.
func (b *Cache) Precede(control *schemas.CrawlControl) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.crawls[control.GetCrawl()]
	if e == nil {
		return // without a record in the topic the crawl waits for one
	}
	err := Check(control, e.inForce)
	if err != nil {
		e.refuse(e.inForce, err)
	}
	if err != nil || control.GetRevision() >= e.inForce.GetRevision() {
		e.inForce = control
		b.taken.Notify()
	}
	if e.last.GetRevision() > e.inForce.GetRevision() && Check(e.inForce, e.last) == nil {
		e.inForce = e.last // it was refused after the other one
	}
}

// Crawls returns the names of the crawls that have a control record, sorted.
func (b *Cache) Crawls() []string {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return slices.Sorted(maps.Keys(b.crawls))
}

// Get returns the control record in force of a crawl, nil while there is none. It must not be changed.
func (b *Cache) Get(crawl string) *schemas.CrawlControl {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if e := b.crawls[crawl]; e != nil {
		return e.inForce
	}
	return nil
}

// Next returns the revision that the next record of a crawl needs, so that every reader accepts it.
func (b *Cache) Next(crawl string) uint64 {
	b.mu.RLock()
	defer b.mu.RUnlock()
	e := b.crawls[crawl]
	if e == nil {
		return 1
	}
	return e.next()
}

func (e *entry) next() uint64 { return max(e.inForce.GetRevision(), e.refused) + 1 }

// Restoration returns the record that has to be written because compaction would keep another one than that in force;
// nil if there is none.
func (b *Cache) Restoration(crawl string) *schemas.CrawlControl {
	b.mu.RLock()
	defer b.mu.RUnlock()
	e := b.crawls[crawl]
	if e == nil || !e.pending && proto.Equal(e.last, e.inForce) {
		return nil
	}
	again := proto.CloneOf(e.inForce)
	again.Revision = e.next()
	again.Restored = &schemas.Restored{Revision: again.Revision}
	if e.pending {
		again.Restored.Refused = e.why
	} else if why, restored := Restored(e.inForce); restored {
		again.Restored.Refused = why
	}
	return again
}
