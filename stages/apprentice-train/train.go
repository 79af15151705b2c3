package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"forager/internal/crawl/controls"
	"forager/internal/platform/registry"
	"forager/internal/rank/apprentice"
	"forager/internal/stream"
	"forager/internal/stream/stateful"
	"forager/schemas"
)

const (
	// slice is the number of a crawl's leaps that one step trains on, so that other crawls do not
	// wait long.
	slice = 2048
	// mostLearners is the number of learners of a partition that are kept in memory.
	mostLearners = 8
	// Pauses between two tries while the object store or crawl.control lacks something.
	firstRetry   = time.Second
	longestRetry = 30 * time.Second
)

// trainer is the Processor of one partition of leap.settled.
type trainer struct {
	state    state
	controls *controls.Cache
	objects  registry.Store
	log      *slog.Logger

	crawls map[string]*crawl
	// parked are the crawls that are parked for a fault: their leaps are noted and not trained on.
	parked map[string]stateful.ParkedCrawl
	clock  uint64 // counts uses of learners
}

// crawl is the state of one crawl in memory.
type crawl struct {
	*entry
	name string
	// learner is the last model, trained on the journal below next; nil = not loaded.
	learner apprentice.Learner
	next    uint64
	used    uint64
	// retryAt is when to try again after failures tries failed; zero = at once.
	retryAt  time.Time
	failures int
}

func newTrainer(kv keyValue, cache *controls.Cache, objects registry.Store, log *slog.Logger) (*trainer, error) {
	t := &trainer{state: state{kv}, controls: cache, objects: objects, log: log, crawls: make(map[string]*crawl)}
	entries, err := t.state.entries()
	for name, e := range entries {
		t.crawls[name] = &crawl{entry: e, name: name, next: e.first}
	}
	return t, err
}

// Recover is never called: the stage has no decision log.
func (t *trainer) Recover(stream.Record) error {
	return stream.Broken(errors.New("apprentice-train decides nothing"))
}

// Step notes settled leaps in the journals of their crawls, each leap once, and trains on the
// journals.
func (t *trainer) Step(ctx context.Context, w stateful.Work) (stateful.Result, error) {
	var res stateful.Result
	if err := t.dropDeleted(); err != nil {
		return res, err
	}
	for _, r := range w.Records {
		if r.Skipped() {
			continue
		}
		err := stateful.GuardRecord(r.Headers[schemas.HeaderCrawl], &r, func() error { return t.take(r, &res) })
		if err != nil {
			return res, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.crawls)) {
		c := t.crawls[name]
		if _, parked := t.parked[name]; parked {
			continue
		}
		// Leaps are trained on as they come while the learner is in memory; a boundary loads it.
		if due := c.boundary > c.published.GetPages(); c.next == c.end || c.learner == nil && !due {
			continue
		}
		if w.Now.Before(c.retryAt) {
			wakeAt(&res, c.retryAt)
			continue
		}
		var more bool
		err := stateful.Guard(name, func() (err error) {
			more, err = t.learn(ctx, c, w.Now, &res)
			return err
		})
		var await *awaitError
		switch {
		case errors.As(err, &await):
			c.retryAt = w.Now.Add(min(firstRetry<<min(c.failures, 10), longestRetry))
			c.failures++
			t.log.Warn("waiting", "crawl", name, "tries", c.failures, "cause", err)
			wakeAt(&res, c.retryAt)
		case err != nil:
			return res, err
		default:
			c.retryAt, c.failures = time.Time{}, 0
			if more {
				wakeAt(&res, w.Now)
			}
		}
	}
	t.forget()
	return res, nil
}

// dropDeleted drops the crawls that were deleted.
func (t *trainer) dropDeleted() error {
	for name := range t.crawls {
		if !t.controls.Deleted(name) {
			continue
		}
		if err := t.state.drop(name); err != nil {
			return fmt.Errorf("drop crawl %s: %w", name, err)
		}
		delete(t.crawls, name)
	}
	return nil
}

// wakeAt requests a step at a time or earlier; zero = none.
func wakeAt(res *stateful.Result, at time.Time) {
	if !at.IsZero() && (res.Wake.IsZero() || at.Before(res.Wake)) {
		res.Wake = at
	}
}

// take notes one record.
func (t *trainer) take(r stream.Record, res *stateful.Result) error {
	leap := new(schemas.LeapSettled)
	trains := false
	err := proto.Unmarshal(r.Value, leap)
	if err == nil {
		trains, err = apprentice.Trains(leap)
	}
	if err != nil {
		t.log.Error("poison", "topic", r.Topic, "partition", r.Partition, "offset", r.Offset, "error", err)
		letter, err := stream.DeadLetter(name, r, err, 1)
		res.Outs = append(res.Outs, letter)
		return stream.Broken(err)
	}
	if !trains || leap.GetNoApprentice() || t.controls.Deleted(leap.GetCrawl()) {
		return nil
	}
	c := t.crawls[leap.GetCrawl()]
	if c == nil {
		c = &crawl{entry: new(entry), name: leap.GetCrawl()}
		t.crawls[c.name] = c
	}
	if leap.GetBoundary() {
		if leap.GetPages() <= c.boundary {
			// A copy, by which prioritize may request the announcement of the model again.
			if c.published != nil && leap.GetPages() == c.published.GetPages() {
				return t.announce(c.published, res)
			}
			return nil
		}
		c.boundary = leap.GetPages()
	} else if fresh, err := t.state.see(c.name, leap.GetId()); err != nil || !fresh {
		return err
	}
	if err := t.state.note(c.name, c.end, r.Offset, leap); err != nil {
		return err
	}
	c.end++
	return t.state.save(c.name, c.entry)
}

// awaitError reports what is missing.
type awaitError struct{ err error }

func (e *awaitError) Error() string { return e.err.Error() }
func (e *awaitError) Unwrap() error { return e.err }

func await(format string, args ...any) error { return &awaitError{fmt.Errorf(format, args...)} }

// learn trains on a part of the crawl's journal and publishes a model at each boundary.
func (t *trainer) learn(ctx context.Context, c *crawl, now time.Time, res *stateful.Result) (more bool, err error) {
	if err := t.load(ctx, c); err != nil {
		return false, err
	}
	t.clock++
	c.used = t.clock
	for n := 0; n < slice && c.next < c.end; n++ {
		offset, leap, err := t.state.read(c.name, c.next)
		if err != nil {
			return false, err
		}
		if leap.GetBoundary() {
			published, err := t.publish(ctx, c, leap.GetPages(), offset, now)
			if err != nil {
				return false, err
			}
			if err := t.announce(published, res); err != nil {
				return false, err
			}
			c.published = published
			if err := t.state.forget(c.name, c.first, c.next+1); err != nil {
				return false, err
			}
			c.first = c.next + 1
			if err := t.state.save(c.name, c.entry); err != nil {
				return false, err
			}
		} else if err := c.learner.Add(leap.GetFeatures(), leap.GetTargetRaw()); err != nil {
			return false, fmt.Errorf("leap at offset %d: %w", offset, err)
		}
		c.next++
	}
	return c.next < c.end, nil
}

// load loads the crawl's learner: that of its last model, of its prior, or an untrained one. It is
// trained again on the journal from first on.
func (t *trainer) load(ctx context.Context, c *crawl) error {
	if c.learner != nil {
		return nil
	}
	ctl := t.controls.Get(c.name)
	if ctl == nil {
		return await("the crawl has no control record yet")
	}
	settings, err := apprentice.SettingsOf(ctl.GetLearning())
	if err != nil {
		return await("control record, revision %d: %w", ctl.GetRevision(), err)
	}
	learner := apprentice.New(settings)
	if version := cmp.Or(c.published.GetVersion(), ctl.GetLearning().GetPrior()); version != "" {
		b, err := t.objects.Get(ctx, schemas.ModelObject("apprentice", version))
		if err != nil {
			return await("model %s: %w", version, err)
		}
		if learner, err = apprentice.OpenFor(b, settings); err != nil {
			return await("model %s: %w", version, err)
		}
	}
	c.learner, c.next = learner, c.first
	return nil
}

// publish stores the learner's model. The name has the digest of the bytes: an object that exists is
// the same model.
func (t *trainer) publish(ctx context.Context, c *crawl, pages uint64, offset int64, now time.Time) (*schemas.ModelPublished, error) {
	m, data := registry.Apprentice(c.name, t.controls.Get(c.name).GetCritic(), c.learner, pages, offset, now)
	err := registry.Keep(ctx, t.objects, m, data)
	if errors.Is(err, registry.ErrOther) {
		return nil, stream.Broken(err)
	}
	if err != nil {
		return nil, await("%w", err)
	}
	t.log.Info("published", "crawl", c.name, "model", m.GetVersion(), "leaps", m.GetLeaps(), "cut", m.GetMeasures()["cut"])
	return m, nil
}

func (t *trainer) announce(m *schemas.ModelPublished, res *stateful.Result) error {
	out, err := registry.Announcement(m)
	res.Outs = append(res.Outs, out)
	return err
}

// forget drops the least recently used learners from memory.
func (t *trainer) forget() {
	var held []*crawl
	for _, c := range t.crawls {
		if c.learner != nil {
			held = append(held, c)
		}
	}
	if len(held) <= mostLearners {
		return
	}
	slices.SortFunc(held, func(a, b *crawl) int { return int(int64(a.used) - int64(b.used)) })
	for _, c := range held[:len(held)-mostLearners] {
		c.learner, c.next = nil, c.first
	}
}
