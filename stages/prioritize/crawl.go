package main

import (
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"forager/internal/frontier"
	"forager/internal/stream"
	"forager/internal/web/scope"
	"forager/schemas"
)

// crawl is one shard of a crawl of the partition, once everything it needs is there, and what
// waits until then.
type crawl struct {
	name   string
	number uint32 // of the shard
	// shard is nil until it is configured, and again once the crawl has finished.
	shard *frontier.Shard
	// ready: the shard takes records. It needs its control record, its URL list, and the model
	// that its state ranks by.
	ready bool
	// revision of the control record in force, and model the version given to the shard; "" =
	// none since it was opened. list is the content of the object listKey.
	revision uint64
	model    string
	// scoring is since when entries are scored again under it, in how many slices so far; zero =
	// they are. No newer one is taken before rest.
	scoring time.Time
	slices  int
	rest    time.Time
	// raised is the number of pages of the hubs that were given to the shard since it was opened.
	raised uint64
	// asked is the model that the library was asked for last.
	asked   string
	list    *scope.List
	listKey string
	// refused says why the newest control record cannot be run, awaits what is missing.
	refused, awaits string
	// refusedRevision is the control record that was refused.
	refusedRevision uint64
	retryAt         time.Time

	memo *memo
	// unsaved: the memo changed in this step.
	unsaved   bool
	decisions *waitingRoom // of the log, to be recovered
	records   *waitingRoom // of link.found

	// sent is the last status that was sent, dirty that it is out of date.
	sent  *schemas.CrawlStatus
	dirty bool
	// repeat: an older owner's status was written after the last one, which is sent again.
	repeat bool
	// wrote: this step sends records of the crawl; where they stand is known behind it only.
	wrote bool
	peers peers
	// dueSince is when dispatch was first seen to wait for a model, or the boundary was last sent.
	dueSince time.Time
}

// asleep: the crawl has finished under the newest control record and is not held in memory.
func (c *crawl) asleep() bool { return c.shard == nil && c.memo.finished > 0 }

// prepare brings the crawl up to what the book says: control record, list, model. What is not
// there yet is awaited; the crawl goes on with what it has where it can.
func (p *prioritizer) prepare(c *crawl, now time.Time) error {
	if _, ok := p.parked[c.name]; ok {
		return nil
	}
	return stream.Guard(c.name, func() error { return p.bringUp(c, now) })
}

func (p *prioritizer) bringUp(c *crawl, now time.Time) error {
	ctl, published := p.book.look(c.name)
	if ctl.GetState() == schemas.CrawlState_CRAWL_STATE_DELETED {
		return p.drop(c, ctl)
	}
	if c.asleep() {
		if ctl.GetRevision() <= c.memo.finished {
			return nil
		}
		c.memo.wake()
		c.unsaved = true
	}
	c.awaits, c.retryAt = "", time.Time{}
	if ctl == nil {
		c.awaits = "the crawl's control record"
		return nil
	}
	err := p.configure(c, ctl, now)
	if err == nil && c.shard != nil && schemas.Learns(ctl) {
		err = p.modelFor(c, ctl, published, now)
	}
	var waiting *waitingError
	if errors.As(err, &waiting) {
		c.awaits, c.retryAt = waiting.what, waiting.at
		return nil
	}
	if err == nil && c.shard != nil {
		c.ready = true
	}
	return err
}

// configure opens the shard and gives it its control record where that is new.
func (p *prioritizer) configure(c *crawl, ctl *schemas.CrawlControl, now time.Time) error {
	if c.shard != nil && ctl.GetRevision() <= c.revision || ctl.GetRevision() == c.refusedRevision {
		return nil
	}
	if key := ctl.GetScope().GetUrlList(); key != c.listKey {
		var list *scope.List
		if key != "" {
			var err error
			if list, err = p.library.list(key, now); err != nil {
				return err
			}
		}
		c.list, c.listKey = list, key
	}
	sc, err := scope.New(ctl.GetScope(), c.list)
	if err != nil {
		return p.refuse(c, ctl, err)
	}
	options := frontier.Options{Epoch: p.epoch, Owner: uint32(p.partition), RetryDelay: p.retryDelay, Memory: p.each}
	if err := tryOut(ctl, sc, options); err != nil {
		return p.refuse(c, ctl, err)
	}
	if err := c.checkShards(ctl); err != nil {
		return p.refuse(c, ctl, err)
	}
	if c.shard == nil {
		shard, err := frontier.Open(p.store, c.name, c.number)
		if err != nil {
			return err
		}
		c.shard = shard
	}
	if err := c.shard.Configure(ctl, sc, options); err != nil {
		return err
	}
	c.revision, c.refused, c.dirty = ctl.GetRevision(), "", true
	// Decisions of the log come before the records that they were made on.
	return p.recoverParked(c)
}

// tryOut configures an empty shard, so that a control record that cannot be run is found before
// it touches state.
func tryOut(ctl *schemas.CrawlControl, sc *scope.Scope, o frontier.Options) error {
	shard, err := frontier.Open(frontier.NewMemory(), ctl.GetCrawl(), 0)
	if err != nil {
		return err
	}
	return shard.Configure(ctl, sc, o)
}

func (p *prioritizer) refuse(c *crawl, ctl *schemas.CrawlControl, cause error) error {
	c.refused, c.refusedRevision, c.dirty = cause.Error(), ctl.GetRevision(), true
	p.log.Error("control record refused", "crawl", c.name, "revision", ctl.GetRevision(), "error", cause)
	return nil
}

// modelFor gives the shard the newest model. Until it is there the shard goes on with the one it
// has; a shard just opened cannot do without the one that its state ranks by.
func (p *prioritizer) modelFor(c *crawl, ctl *schemas.CrawlControl, published *schemas.ModelPublished, now time.Time) error {
	using, pages := c.shard.Model()
	version := using
	switch {
	case ctl.GetLearning().GetPinned() != "":
		// As if it were the newest, so that the newest takes its place when it is pinned no more.
		version, pages = ctl.GetLearning().GetPinned(), max(pages, published.GetPages())
	case published != nil && published.GetPages() >= pages:
		version, pages = published.GetVersion(), published.GetPages()
	case using == "":
		version = ctl.GetLearning().GetPrior() // before its own first model
	}
	if version == "" || version == c.model {
		return nil
	}
	if l := ctl.GetLearning(); c.model != "" && !l.GetSync() && l.GetPinned() == "" && (c.slices >= longPass || now.Before(c.rest)) {
		c.retryAt = c.rest // of a pass under way the end says when
		return nil
	}
	err := p.setModel(c, version, pages, published.GetVersion() == version && published.GetLeaps() == 0, now)
	if err == nil {
		return nil
	}
	var waiting *waitingError
	if !errors.As(err, &waiting) {
		return err
	}
	mustHave := c.model == "" && (using != "" || version == ctl.GetLearning().GetPrior())
	if mustHave && using != version && using != "" && !waiting.at.IsZero() {
		// The newest one cannot be had; the state's own will do.
		_, pages := c.shard.Model()
		return p.setModel(c, using, pages, false, now)
	}
	if mustHave {
		return err
	}
	c.awaits, c.retryAt = waiting.what, waiting.at
	return nil
}

// setModel gives the shard a model; empty is one that has learnt nothing.
func (p *prioritizer) setModel(c *crawl, version string, pages uint64, empty bool, now time.Time) error {
	var m frontier.Model
	if !empty {
		if c.asked != version {
			p.library.forget(c.asked)
			c.asked = version
		}
		var err error
		if m, err = p.library.model(version, now); err != nil {
			return err
		}
	}
	if err := c.shard.SetModel(version, m, pages); err != nil {
		return err
	}
	c.model, c.dirty = version, true
	if c.scoring.IsZero() {
		c.scoring = now
	}
	return nil
}

// raise gives the shard the newest hubs, once it has delivered the pages that they were found among.
func (p *prioritizer) raise(c *crawl) error {
	h := p.book.ranked(unit(c.name, c.number))
	if h == nil || h.pages <= c.raised {
		return nil
	}
	taken, err := c.shard.Raise(h.pages, h.raised)
	if err != nil || !taken {
		return err
	}
	c.raised, c.dirty = h.pages, true
	return nil
}

const (
	// longPass is the number of slices from which on scoring again is work that counts.
	longPass = 64
	// restPerPass is how long entries are left alone after it, in multiples of the time that it took.
	restPerPass = 2
)

// scored notes whether more entries are left to be scored again.
func (c *crawl) scored(more bool, now time.Time) {
	if more {
		c.slices++
		return
	}
	if c.slices >= longPass {
		c.rest = now.Add(restPerPass * now.Sub(c.scoring))
		c.retryAt = c.rest // a newer model may have come meanwhile
	}
	c.scoring, c.slices = time.Time{}, 0
}

// recoverParked gives the shard the decisions that came before it was configured.
func (p *prioritizer) recoverParked(c *crawl) error {
	for c.decisions.count > 0 {
		records, err := c.decisions.take(slice)
		if err != nil {
			return err
		}
		for _, r := range records {
			if err := p.recoverIn(c, r); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *prioritizer) recoverIn(c *crawl, r stream.Record) error {
	request := new(schemas.FetchRequest)
	if err := proto.Unmarshal(r.Value, request); err != nil {
		return stream.Broken(fmt.Errorf("%s/%d offset %d: %w", r.Topic, r.Partition, r.Offset, err))
	}
	if err := c.shard.Recover(request); err != nil {
		return err
	}
	c.dirty = true
	return nil
}
