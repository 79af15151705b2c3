package main

import (
	"fmt"
	"strconv"
	"sync"

	"google.golang.org/protobuf/proto"

	"forager/internal/crawl/controls"
	"forager/internal/rank/distill"
	"forager/internal/stream"
	"forager/schemas"
)

// cache holds the newest records of crawl.control, model.published, hub.ranked and crawl.status: the control record of every
// crawl, its apprentice, and the hubs and statuses of its shards. All partitions of the process use it; it is safe for
// concurrent use.
type cache struct {
	controls *controls.Cache

	mu     sync.Mutex
	models map[string]*schemas.ModelPublished // by crawl
	hubs   map[string]*hubs                   // by shard
	// epochs are the highest in the statuses of a shard, by unit; outdated are the units whose last status in the
	// topic is of a lower one: a former owner wrote it late.
	epochs   map[string]uint64
	outdated map[string]bool
	// statuses are the newest of each unit, undecoded.
	statuses map[string][]byte
	// changes counts changes; the bell rings at each.
	changes  uint64
	notifier controls.Notifier
}

func newCache() *cache {
	return &cache{controls: controls.New(), models: make(map[string]*schemas.ModelPublished), hubs: make(map[string]*hubs), epochs: make(map[string]uint64), outdated: make(map[string]bool), statuses: make(map[string][]byte)}
}

// control takes a record of crawl.control.
func (b *cache) control(r stream.Record) error {
	err := b.controls.Take(r.Key, r.Value)
	b.notify() // also of one that was refused: the one in force has to be restored
	if err != nil {
		return fmt.Errorf("%s offset %d: %w", r.Topic, r.Offset, err)
	}
	return nil
}

// model takes a record of model.published; models of fewer pages than a known one are late
// copies and change nothing.
func (b *cache) model(r stream.Record) error {
	m := new(schemas.ModelPublished)
	if err := proto.Unmarshal(r.Value, m); err != nil {
		return fmt.Errorf("%s offset %d: %w", r.Topic, r.Offset, err)
	}
	if m.GetKind() != "apprentice" || m.GetCrawl() == "" || m.GetRetrained() {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if old := b.models[m.GetCrawl()]; m.GetPages() < old.GetPages() {
		return nil
	}
	b.models[m.GetCrawl()] = m
	b.changed()
	return nil
}

// hubs are the URLs that the hubs of a shard link to, as of a number of pages delivered.
type hubs struct {
	pages  uint64
	raised []schemas.ID
}

// hub takes a record of hub.ranked; rankings of fewer pages than a known one are late copies.
func (b *cache) hub(r stream.Record) error {
	if r.Value == nil {
		return nil
	}
	m := new(schemas.HubRanked)
	err := proto.Unmarshal(r.Value, m)
	var raised []schemas.ID
	if err == nil {
		raised, err = distill.Raised(m)
	}
	if err != nil {
		return fmt.Errorf("%s offset %d: %w", r.Topic, r.Offset, err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	name := unit(m.GetCrawl(), m.GetShard())
	if b.controls.Deleted(m.GetCrawl()) || b.hubs[name] != nil && m.GetPages() <= b.hubs[name].pages {
		return nil
	}
	b.hubs[name] = &hubs{pages: m.GetPages(), raised: raised}
	b.changed()
	return nil
}

// status takes a record of crawl.status; its headers are sufficient.
func (b *cache) status(r stream.Record) error {
	epoch, err := strconv.ParseUint(r.Headers[schemas.HeaderEpoch], 10, 64)
	if err != nil {
		return nil // written by an older version of the program
	}
	shard, err := shardOf(r.Headers, schemas.HeaderShard)
	if err != nil {
		return err
	}
	name := unit(r.Headers[schemas.HeaderCrawl], shard)
	b.mu.Lock()
	defer b.mu.Unlock()
	if epoch >= b.epochs[name] {
		b.statuses[name] = r.Value
	}
	highest := b.epochs[name]
	b.epochs[name] = max(highest, epoch)
	if epoch < highest {
		b.outdated[name] = true
		b.changed()
	} else {
		delete(b.outdated, name)
	}
	return nil
}

// lastStatus returns the newest status of a unit in the topic; nil if there is none.
func (b *cache) lastStatus(unit string) (*schemas.CrawlStatus, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	value, ok := b.statuses[unit]
	if !ok {
		return nil, nil
	}
	st := new(schemas.CrawlStatus)
	return st, proto.Unmarshal(value, st)
}

// takeOutdated reports, once, whether the status of a unit must be written again.
func (b *cache) takeOutdated(unit string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer delete(b.outdated, unit)
	return b.outdated[unit]
}

// ranked returns the newest hubs of a shard; nil if there are none.
func (b *cache) ranked(unit string) *hubs {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.hubs[unit]
}

// forget drops the hubs of a crawl that was deleted.
func (b *cache) forget(unit string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.hubs, unit)
}

// version counts the changes of the cache.
func (b *cache) version() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.changes
}

// look returns a crawl's newest control record and apprentice; nil if there is none.
func (b *cache) look(crawl string) (*schemas.CrawlControl, *schemas.ModelPublished) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.controls.Get(crawl), b.models[crawl]
}

// changed counts a change and wakes the readers; the caller holds mu.
func (b *cache) changed() {
	b.changes++
	b.notifier.Notify()
}

// notify counts a change and wakes the readers; also when only an object has arrived.
func (b *cache) notify() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.changed()
}

// subscribe returns a channel that gets a value after every change, until cancel is called.
func (b *cache) subscribe(int) (<-chan struct{}, func()) { return b.notifier.Subscribe() }
