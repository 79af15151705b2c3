package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/proto"

	"forager/internal/crawl/controls"
	"forager/internal/platform/objects"
	"forager/internal/platform/pipeline"
	"forager/internal/platform/segment"
	"forager/internal/stream"
	"forager/schemas"
)

// maxInFlight bounds the requests of one partition that are waiting or in progress; it is large, so
// that later requests can pass those of slow hosts.
const maxInFlight = 8192

// settings of the stage, without those of its parts.
type settings struct {
	pipeline.Fetch
	// SessionTimeout of the consumer group: the longest time that an owner that lost a partition
	// may continue without knowing it.
	SessionTimeout time.Duration
	// Instance names this process in the names of segments.
	Instance string
}

// stage is the state of a process.
type stage struct {
	set      settings
	log      *slog.Logger
	client   getter
	robots   *robotsCache
	segments *segment.Writer
	schedule *scheduler
	// addresses and turns are for crawls with limits of addresses.
	addresses *addressCache
	turns     *turnLog
	metrics   *metrics
	storing   context.Context // ends when pages are no longer stored

	crawls *controls.Cache

	mu         sync.Mutex
	partitions map[int]*partition
}

// newStage returns a stage; the end of ctx discards its open segment.
func newStage(ctx context.Context, set settings, store *objects.Store, client getter, produce produceFunc, log *slog.Logger, reg prometheus.Registerer) *stage {
	s := &stage{
		set: set, log: log, storing: ctx,
		crawls: controls.New(), partitions: map[int]*partition{}, addresses: newAddressCache(), turns: newTurnLog(produce, log),
	}
	places := newPlaces(max(set.HeaderTimeout, set.BodyTimeout), s.turns.send)
	s.schedule = newScheduler(set.Concurrency, maxInFlight, set.Hold, func() { s.segments.Flush() }, places)
	s.metrics = newMetrics(reg, s.schedule)
	watched := watch(client)
	watched.outages.report(log, s.metrics.unreachable)
	s.client = watched
	s.robots = newRobotsCache(watched, set.RobotsTTL, func(result string) { s.metrics.robots.WithLabelValues(result).Inc() })
	s.segments = segment.NewWriter(ctx, store, segment.Settings{
		Bytes: set.SegmentBytes, Age: set.SegmentAge, Linger: set.Linger, Instance: set.Instance, Software: "forager fetch",
		Stored: s.metrics.stored, Waiting: s.metrics.waiting,
	}, log)
	return s
}

// control applies a record of crawl.control: requests of a stopped or deleted crawl are not begun
// any more.
func (s *stage) control(r stream.Record) error {
	if err := s.crawls.Take(r.Key, r.Value); err != nil {
		return err
	}
	if crawl := string(r.Key); s.isStopped(crawl) {
		s.schedule.cancel(crawl)
	}
	return nil
}

func (s *stage) isStopped(crawl string) bool {
	state := s.crawls.Get(crawl).GetState()
	return state == schemas.CrawlState_CRAWL_STATE_STOPPED || state == schemas.CrawlState_CRAWL_STATE_DELETED
}

// handle starts a request. done is called once its page.fetched can be sent.
func (s *stage) handle(ctx context.Context, rec stream.Record, done func([]stream.Out, error)) {
	r, err := newRequest(rec)
	if err != nil {
		done(nil, err)
		return
	}
	p := s.partition(rec.Partition)
	p.watch.Do(func() { context.AfterFunc(ctx, s.segments.Flush) }) // draining does not wait for a segment's age
	id := schemas.ID(r.req.Id)
	switch p.begin(id) {
	case answeredBefore:
		s.metrics.skipped.WithLabelValues("answered").Inc()
		done(nil, nil)
		return
	case begunBefore:
		s.metrics.skipped.WithLabelValues("duplicate").Inc()
		done(nil, nil)
		return
	}
	r.stage, r.ctx = s, ctx
	r.finish = func(outs []stream.Out, err error) {
		p.end(id, err == nil)
		done(outs, err)
	}
	t := &task{job: r, ctx: ctx, crawl: r.req.Crawl, host: r.req.Host, delay: r.delay(), limits: r.limits, since: p.since, quiet: p.quietUntil(r.req.Host)}
	if r.req.NotBefore > 0 {
		t.notBefore = time.UnixMilli(r.req.NotBefore)
	}
	if s.isStopped(r.req.Crawl) {
		r.cancelled()
		return
	}
	s.schedule.add(t)
	if s.isStopped(r.req.Crawl) { // since then
		s.schedule.cancel(r.req.Crawl)
	}
}

// poison returns the page.fetched of a record that cannot be handled.
func poison(rec stream.Record, cause error) ([]stream.Out, error) {
	req, err := schemas.RequestFromHeaders(rec.Headers)
	if err != nil {
		return nil, fmt.Errorf("no request to answer for: %w", err)
	}
	raw := rec.Value
	if proto.Unmarshal(raw, &schemas.FetchRequest{}) != nil {
		if raw, err = proto.Marshal(req); err != nil {
			return nil, errors.Join(cause, err)
		}
	}
	out, err := fetched(raw, req, &schemas.PageFetched{Outcome: schemas.Outcome_OUTCOME_FAILED_FETCH, Detail: cause.Error()})
	if err != nil {
		return nil, err
	}
	return []stream.Out{out}, nil
}
