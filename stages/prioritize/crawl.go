package main

import (
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"forager/internal/frontier"
	"forager/internal/stream"
	"forager/internal/stream/stateful"
	"forager/internal/web/scope"
	"forager/schemas"
)

// crawl is one shard of a crawl of the partition, and the records that wait until it is
// ready.
type crawl struct {
	name   string
	number uint32 // of the shard
	// shard is nil until it is configured, and again after the crawl has finished.
	shard *frontier.Shard
	// ready: the shard takes records. It needs its control record, its URL list, and the model
	// that its state ranks by.
	ready bool
	// seen is the revision of the newest control record, revision that of the one in force, and model the version given to the shard;
	// "" = none since it was opened. list is the content of the object listKey.
	seen, revision uint64
	model          string
	// scoring is when the pass under the model began, slices the number of its slices so far; zero =
	// no pass is under way. No newer model is taken before rest.
	scoring time.Time
	slices  int
	rest    time.Time
	// raised is the number of pages of the last ranking of hubs that the shard took since it was opened.
	raised uint64
	// asked is the model that was last requested from the library.
	asked   string
	list    *scope.List
	listKey string
	// refused is why the newest control record cannot be run, awaits what is missing.
	refused, awaits string
	// refusedRevision is the control record that was refused.
	refusedRevision uint64
	retryAt         time.Time
	// fixed is the digest of what never changes in the control record under which the state was made; empty = unknown.
	// restored is the revision of the last control record that was written to restore the one in force.
	fixed    []byte
	restored uint64

	state *crawlState
	// unsaved: the state changed in this step.
	unsaved   bool
	decisions *pendingQueue // of the log, to be recovered
	records   *pendingQueue // of link.found

	// sent is the last status that was sent; dirty: it is out of date.
	sent  *schemas.CrawlStatus
	dirty bool
	// former: sent repeats the end that a former owner reported.
	former bool
	// repeat: a former owner's status was written after the last one, which is sent again.
	repeat bool
	// wrote: this step sends records of the crawl; their offsets are known after it only.
	wrote bool
	peers peers
	// dueSince is when dispatch was first found waiting for a model, or the boundary was last sent.
	dueSince time.Time
}

// asleep reports whether the crawl has finished under the newest control record and is not in memory.
func (c *crawl) asleep() bool { return c.shard == nil && c.state.finished > 0 }

// prepare applies the newest records of the cache: control record, list, model. What is not
// available yet is awaited; the crawl goes on with what it has if it can.
func (p *prioritizer) prepare(c *crawl, now time.Time) error {
	if _, ok := p.parked[c.name]; ok {
		return nil
	}
	return stateful.Guard(c.name, func() error { return p.bringUp(c, now) })
}

func (p *prioritizer) bringUp(c *crawl, now time.Time) error {
	ctl, published := p.book.look(c.name)
	c.seen = ctl.GetRevision()
	if ctl.GetState() == schemas.CrawlState_CRAWL_STATE_DELETED {
		return p.drop(c, ctl)
	}
	if c.asleep() {
		if ctl.GetRevision() <= c.state.finished {
			return nil
		}
		c.state.wake()
		c.unsaved = true
	}
	c.awaits, c.retryAt = "", time.Time{}
	if ctl == nil {
		c.awaits = "the crawl's control record"
		return nil
	}
	if c.awaits = c.otherCrawl(ctl); c.awaits != "" {
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

// configure opens the shard and sets its control record if that is new.
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
	if err := p.saveControl(c, ctl); err != nil {
		return err
	}
	// Decisions of the log are recovered before the records that led to them are applied.
	return p.recoverParked(c)
}

// tryOut configures an empty shard, so that a control record that cannot be run is found before
// it changes state.
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

// modelFor sets the newest model of the shard. Until it is available the shard goes on with the one that it
// has; a shard that was just opened needs the one that its state ranks by.
func (p *prioritizer) modelFor(c *crawl, ctl *schemas.CrawlControl, published *schemas.ModelPublished, now time.Time) error {
	using, pages := c.shard.Model()
	version := using
	switch {
	case ctl.GetLearning().GetPinned() != "":
		// With the pages of the newest, so that the newest replaces it when it is no longer pinned.
		version, pages = ctl.GetLearning().GetPinned(), max(pages, published.GetPages())
	case published != nil && published.GetPages() >= pages:
		version, pages = published.GetVersion(), published.GetPages()
	case using == "":
		version = ctl.GetLearning().GetPrior() // until its own first model
	}
	if version == "" || version == c.model {
		return nil
	}
	if l := ctl.GetLearning(); c.model != "" && !l.GetSync() && l.GetPinned() == "" && (c.slices >= longPass || now.Before(c.rest)) {
		c.retryAt = c.rest // if a pass is under way, its end sets the time
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
		// The newest one is not available; the one that the state ranks by is used.
		_, pages := c.shard.Model()
		return p.setModel(c, using, pages, false, now)
	}
	if mustHave {
		return err
	}
	c.awaits, c.retryAt = waiting.what, waiting.at
	return nil
}

// setModel sets a model of the shard; empty: it was trained with no leaps.
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

// boost passes the newest hubs to the shard, once it has delivered the pages among which they were found.
func (p *prioritizer) boost(c *crawl) error {
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
	// longPass is the number of slices from which on a pass is followed by a rest.
	longPass = 64
	// restPerPass is the length of the rest, in multiples of the time that the pass took.
	restPerPass = 2
)

// scored notes that a slice of a pass was done, and whether more entries are left.
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

// recoverParked recovers the decisions that were read before the shard was configured.
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
