package main

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"forager/internal/frontier"
	"forager/internal/stream"
	"forager/schemas"
)

const (
	// slice is the number of entries or records that one crawl's backlog of any kind may take in
	// one step, so that the others are not kept waiting.
	slice = 256
	// statusEvery is the pause between two statuses of a crawl that only counts on.
	statusEvery = time.Second
	// remindEvery is the pause after which a boundary that no model answered is sent again.
	remindEvery = 30 * time.Second
)

// prioritizer is the Processor of one partition of link.found: the shards of its crawls.
type prioritizer struct {
	partition, partitions int
	epoch                 uint64
	store                 frontier.Store
	book                  *book
	library               *library
	retryDelay            time.Duration
	rescoreBatch          int
	log                   *slog.Logger

	crawls map[string]*crawl
	// order lists the names; turn is whose dispatch comes first.
	order []string
	turn  int
	// read is the version of the book as of the last step.
	read uint64
}

// settings of a prioritizer that are those of the process.
type settings struct {
	book         *book
	library      *library
	partitions   int // of link.found
	retryDelay   time.Duration
	rescoreBatch int
	log          *slog.Logger
}

// open makes the prioritizer of a partition on what its store holds.
func (s settings) open(partition int, epoch uint64, store frontier.Store) (*prioritizer, error) {
	p := &prioritizer{
		partition: partition, partitions: s.partitions, epoch: epoch, store: store, book: s.book, library: s.library,
		retryDelay: s.retryDelay, rescoreBatch: s.rescoreBatch, log: s.log, crawls: make(map[string]*crawl),
	}
	memos, err := loadMemos(store)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(memos)) {
		if _, err := p.add(name, memos[name]); err != nil {
			return nil, err
		}
	}
	return p, p.readBook(time.Time{})
}

// add makes a crawl known to the partition.
func (p *prioritizer) add(name string, m *memo) (*crawl, error) {
	c := &crawl{name: name, memo: m, dirty: true}
	if m == nil {
		c.memo, c.unsaved = &memo{spans: make(map[string]*schemas.TopicSpan)}, true
	}
	var err error
	if c.decisions, err = newWaitingRoom(p.store, recoverKind, name); err != nil {
		return nil, err
	}
	if c.records, err = newWaitingRoom(p.store, parkedKind, name); err != nil {
		return nil, err
	}
	p.crawls[name] = c
	at, _ := slices.BinarySearch(p.order, name)
	p.order = slices.Insert(p.order, at, name)
	return c, nil
}

// crawl returns a crawl of the partition, made known where it is not, and awake.
func (p *prioritizer) crawl(name string, now time.Time) (*crawl, error) {
	c := p.crawls[name]
	if c == nil {
		var err error
		if c, err = p.add(name, nil); err != nil {
			return nil, err
		}
		return c, p.prepare(c, now)
	}
	if c.asleep() && !c.deleted() {
		c.memo.wake()
		c.unsaved = true
		return c, p.prepare(c, now)
	}
	return c, nil
}

// readBook looks at what has changed in crawl.control and model.published.
func (p *prioritizer) readBook(now time.Time) error {
	p.read = p.book.version()
	for _, name := range p.book.controls.Crawls() {
		if p.crawls[name] == nil && stream.PartitionOf([]byte(schemas.ShardKey(name, 0)), p.partitions) == p.partition {
			if _, err := p.add(name, nil); err != nil {
				return err
			}
		}
	}
	for _, name := range p.order {
		if err := p.prepare(p.crawls[name], now); err != nil {
			return err
		}
	}
	return nil
}

// Recover takes a request of the log that this partition's owners sent.
func (p *prioritizer) Recover(r stream.Record) error {
	c, err := p.crawl(r.Headers[schemas.HeaderCrawl], time.Time{})
	if err != nil {
		return err
	}
	if c.deleted() {
		return nil
	}
	c.memo.note(r.Topic, r.Partition, r.Offset)
	c.unsaved = true
	if err := p.save(c); err != nil { // the next commit may come before the next step
		return err
	}
	if c.shard == nil {
		return c.decisions.put(r)
	}
	return p.recoverIn(c, r)
}

// Step applies records, and then lets every crawl dispatch and score again.
func (p *prioritizer) Step(_ context.Context, w stream.Work) (stream.Result, error) {
	s := step{prioritizer: p, now: w.Now, replaying: w.Replaying}
	if p.read != p.book.version() {
		if err := p.readBook(w.Now); err != nil {
			return stream.Result{}, err
		}
	}
	for _, name := range p.order {
		if c := p.crawls[name]; !c.retryAt.IsZero() && !w.Now.Before(c.retryAt) {
			if err := p.prepare(c, w.Now); err != nil {
				return stream.Result{}, err
			}
		}
	}
	for _, name := range p.order {
		if err := s.unpark(p.crawls[name]); err != nil {
			return stream.Result{}, err
		}
	}
	for _, r := range w.Records {
		if err := s.take(r); err != nil {
			return stream.Result{}, err
		}
	}
	for i := range p.order {
		c := p.crawls[p.order[(i+p.turn)%len(p.order)]]
		if err := s.decide(c); err != nil {
			return stream.Result{}, fmt.Errorf("crawl %s: %w", c.name, err)
		}
	}
	p.turn++
	for _, name := range p.order {
		if err := s.close(p.crawls[name]); err != nil {
			return stream.Result{}, err
		}
	}
	return stream.Result{Outs: s.outs, Wake: s.wake}, nil
}

// Acked notes where the records of each crawl stand.
func (p *prioritizer) Acked(outs []stream.Out, at []stream.Position) error {
	for i, out := range outs {
		if out.Topic != schemas.TopicFetchRequested && out.Topic != schemas.TopicLeapSettled {
			continue
		}
		c := p.crawls[out.Headers[schemas.HeaderCrawl]]
		c.memo.note(out.Topic, at[i].Partition, at[i].Offset)
		c.unsaved = true
	}
	for _, name := range p.order {
		if err := p.save(p.crawls[name]); err != nil {
			return err
		}
	}
	return nil
}

func (p *prioritizer) save(c *crawl) error {
	if !c.unsaved {
		return nil
	}
	b, err := c.memo.bytes()
	if err != nil {
		return fmt.Errorf("state of crawl %s: %w", c.name, err)
	}
	c.unsaved = false
	return p.store.Set(memoKey(c.name), b)
}
