package main

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"forager/internal/frontier"
	"forager/internal/platform/disk"
	"forager/internal/stream"
	"forager/internal/stream/stateful"
	"forager/schemas"
)

const (
	// slice is the number of requests or parked records that one crawl may take in
	// one step, so that the others are not delayed.
	slice = 256
	// statusEvery is the time between two statuses of a crawl whose state does not change.
	statusEvery = time.Second
	// remindEvery is the time after which a boundary for which no model has come is sent again.
	remindEvery = 30 * time.Second
)

// prioritizer is the Processor of one partition of link.found: the shards of its crawls.
type prioritizer struct {
	partition, partitions int
	epoch                 uint64
	store                 frontier.Store
	book                  *cache
	library               *library
	retryDelay            time.Duration
	rescoreBatch          int
	disk                  watch
	memory                *memory
	log                   *slog.Logger

	// parked are the crawls that are parked for a fault.
	parked map[string]stateful.ParkedCrawl
	// each is the memory of one shard, bytes.
	each int
	// crawls are the shards of crawls that the partition has, by unit.
	crawls map[string]*crawl
	// order lists the units, sorted; turn selects the one that dispatches first.
	order []string
	turn  int
	// read is the version of the cache as of the last step, restored that as of which control records were restored, next the
	// input's offset after the step.
	read, restored uint64
	next           int64
}

// unit names a shard of a crawl within a partition; the first one has the crawl's name.
func unit(crawl string, shard uint32) string {
	if shard == 0 {
		return crawl
	}
	return schemas.ShardKey(crawl, shard)
}

// unitOf reads what unit wrote.
func unitOf(unit string) (crawl string, shard uint32, err error) {
	crawl, number, several := strings.Cut(unit, "/")
	if !several {
		return crawl, 0, nil
	}
	n, err := strconv.ParseUint(number, 10, 32)
	return crawl, uint32(n), err
}

// watch reports whether there is disk space for the results of another request; *disk.Watch implements it.
type watch interface {
	Check(now time.Time) disk.State
}

// settings are the settings of a prioritizer that all partitions of the process share.
type settings struct {
	book         *cache
	library      *library
	partitions   int // of link.found
	retryDelay   time.Duration
	rescoreBatch int
	disk         watch
	parked       map[string]stateful.ParkedCrawl
	memory       *memory // nil = one of the default's size for each partition
	log          *slog.Logger
}

// open makes the prioritizer of a partition from its store.
func (s settings) open(partition int, epoch uint64, store frontier.Store) (*prioritizer, error) {
	p := &prioritizer{
		partition: partition, partitions: s.partitions, epoch: epoch, store: store, book: s.book, library: s.library,
		retryDelay: s.retryDelay, rescoreBatch: s.rescoreBatch, disk: s.disk, memory: s.memory, parked: s.parked, log: s.log, crawls: make(map[string]*crawl),
	}
	if p.memory == nil {
		p.memory = newMemory(frontier.DefaultMemory)
	}
	p.shareMemory()
	states, err := loadStates(store)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(states)) {
		crawl, shard, err := unitOf(name)
		if err != nil {
			return nil, fmt.Errorf("state of crawl %s: %w", name, err)
		}
		if err := frontier.CheckLayout(store, crawl, shard); err != nil {
			return nil, stateful.OtherLayout(fmt.Errorf("crawl %s: %w", name, err))
		}
		if _, err := p.add(crawl, shard, states[name]); err != nil {
			return nil, err
		}
	}
	return p, p.readBook(time.Time{})
}

// add adds a shard of a crawl to the partition.
func (p *prioritizer) add(crawlName string, shard uint32, m *crawlState) (*crawl, error) {
	c := &crawl{name: crawlName, number: shard, state: m, dirty: true}
	name := unit(crawlName, shard)
	if m == nil {
		c.state, c.unsaved = &crawlState{spans: make(map[string]*schemas.TopicSpan), rejected: make(map[string]uint64)}, true
	}
	var err error
	if c.decisions, err = newPendingQueue(p.store, recoverKind, name); err != nil {
		return nil, err
	}
	if c.records, err = newPendingQueue(p.store, parkedKind, name); err != nil {
		return nil, err
	}
	if c.peers, err = loadPeers(p.store, name); err != nil {
		return nil, err
	}
	if err := p.loadControl(c); err != nil {
		return nil, err
	}
	p.crawls[name] = c
	at, _ := slices.BinarySearch(p.order, name)
	p.order = slices.Insert(p.order, at, name)
	return c, nil
}

// crawl returns a shard of a crawl of the partition; it is added if it is new, and woken if it is asleep.
func (p *prioritizer) crawl(name string, shard uint32, now time.Time) (*crawl, error) {
	c := p.crawls[unit(name, shard)]
	if c == nil {
		var err error
		if c, err = p.add(name, shard, nil); err != nil {
			return nil, err
		}
		return c, p.prepare(c, now)
	}
	if c.asleep() && !c.deleted() {
		c.state.wake()
		c.unsaved = true
		return c, p.prepare(c, now)
	}
	return c, nil
}

// readBook applies what has changed in the cache.
func (p *prioritizer) readBook(now time.Time) error {
	p.read = p.book.version()
	for _, name := range p.book.controls.Crawls() {
		ctl, _ := p.book.look(name)
		for shard := range min(schemas.ShardsOf(ctl), frontier.MaxShards) {
			if p.crawls[unit(name, shard)] == nil && p.partitionOf(name, shard) == p.partition {
				if _, err := p.add(name, shard, nil); err != nil {
					return err
				}
			}
		}
	}
	for _, name := range p.order {
		c := p.crawls[name]
		c.repeat = c.repeat || p.book.takeOutdated(name)
		if err := p.prepare(c, now); err != nil {
			return err
		}
	}
	return nil
}

// Recover takes a request of the log that this partition's owners sent.
func (p *prioritizer) Recover(r stream.Record) error {
	shard, err := shardOf(r.Headers, schemas.HeaderShard)
	if err != nil {
		return stream.Broken(fmt.Errorf("%s/%d offset %d: %w", r.Topic, r.Partition, r.Offset, err))
	}
	c, err := p.crawl(r.Headers[schemas.HeaderCrawl], shard, time.Time{})
	if err != nil {
		return err
	}
	if c.deleted() {
		return nil
	}
	c.state.note(r.Topic, r.Partition, r.Offset)
	c.unsaved = true
	if err := p.save(c); err != nil { // the next commit may come before the next step
		return err
	}
	if c.shard == nil {
		return c.decisions.put(r)
	}
	return p.recoverIn(c, r)
}

// Step applies records, and then lets every crawl score again and dispatch.
func (p *prioritizer) Step(_ context.Context, w stateful.Work) (stateful.Result, error) {
	s := step{prioritizer: p, now: w.Now, replaying: w.Replaying, next: w.Next, space: p.disk.Check(w.Now)}
	if p.read != p.book.version() {
		if err := p.readBook(w.Now); err != nil {
			return stateful.Result{}, err
		}
	}
	for _, name := range p.order {
		if c := p.crawls[name]; !c.retryAt.IsZero() && !w.Now.Before(c.retryAt) {
			if err := p.prepare(c, w.Now); err != nil {
				return stateful.Result{}, err
			}
		}
	}
	if p.restored != p.read {
		if err := s.each(s.restore); err != nil {
			return stateful.Result{}, err
		}
		p.restored = p.read
	}
	if err := s.each(s.sendReport); err != nil {
		return stateful.Result{}, err
	}
	if err := s.each(s.drain); err != nil {
		return stateful.Result{}, err
	}
	records := decodeAll(w.Records)
	if err := s.prepare(records); err != nil {
		return stateful.Result{}, err
	}
	for i, r := range w.Records {
		if err := s.take(r, records[i]); err != nil {
			return stateful.Result{}, err
		}
	}
	for i := range p.order {
		c := p.crawls[p.order[(i+p.turn)%len(p.order)]]
		if err := stateful.Guard(c.name, func() error { return s.decide(c) }); err != nil {
			return stateful.Result{}, err
		}
	}
	p.turn++
	p.shareMemory()
	err := s.each(func(c *crawl) error {
		if err := s.coordinate(c); err != nil {
			return err
		}
		return s.close(c)
	})
	if err != nil {
		return stateful.Result{}, err
	}
	p.next = w.Next
	return stateful.Result{Outs: s.outs, Statuses: s.statuses, Wake: s.wake, Look: s.look}, nil
}

// Acked notes the offsets of the records of each crawl.
func (p *prioritizer) Acked(outs []stream.Out, at []stream.Position) error {
	for i, out := range outs {
		header := schemas.HeaderShard
		switch out.Topic {
		case schemas.TopicFetchRequested, schemas.TopicLeapSettled:
		case schemas.TopicLinkFound:
			header = schemas.HeaderFrom
		default:
			continue
		}
		shard, err := shardOf(out.Headers, header)
		if err != nil {
			return err
		}
		c := p.crawls[unit(out.Headers[schemas.HeaderCrawl], shard)]
		if out.Topic == schemas.TopicLinkFound {
			err = p.placed(c, out, at[i])
		} else {
			c.state.note(out.Topic, at[i].Partition, at[i].Offset)
			c.unsaved = true
		}
		if err != nil {
			return err
		}
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
	b, err := c.state.bytes()
	if err != nil {
		return fmt.Errorf("state of crawl %s: %w", c.name, err)
	}
	c.unsaved = false
	return p.store.Set(stateKey(unit(c.name, c.number)), b)
}
