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

	"forager/internal/platform/objects"
	"forager/internal/platform/pipeline"
	"forager/internal/platform/segment"
	"forager/internal/stream"
	"forager/internal/web/webclient"
	"forager/schemas"
)

// name of the stage, of its consumer group and of its folder.
const name = "fetch"

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
	outages  *outages
	robots   *robotsBook
	segments *segment.Writer
	schedule *scheduler
	metrics  *metrics
	storing  context.Context // ends when pages are no longer stored

	mu         sync.Mutex
	stopped    map[string]uint64 // revision of the newest control record of crawls that were stopped or deleted
	revisions  map[string]uint64 // of all crawls
	partitions map[int]*partition
}

// newStage returns a stage; the end of ctx discards its open segment.
func newStage(ctx context.Context, set settings, store *objects.Store, client getter, log *slog.Logger, reg prometheus.Registerer) (*stage, error) {
	s := &stage{
		set: set, log: log, storing: ctx,
		stopped: map[string]uint64{}, revisions: map[string]uint64{}, partitions: map[int]*partition{},
	}
	s.schedule = newScheduler(set.Concurrency, maxInFlight, set.Hold, func() { s.segments.Flush() })
	var err error
	if s.metrics, err = newMetrics(reg, s.schedule.counts); err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	watched := watch(client)
	watched.outages.report(log, s.metrics.unreachable)
	s.client = watched
	s.robots = newRobotsBook(watched, set.RobotsTTL, func(result string) { s.metrics.robots.WithLabelValues(result).Inc() })
	s.segments = segment.NewWriter(ctx, store, segment.Settings{
		Bytes: set.SegmentBytes, Age: set.SegmentAge, Linger: set.Linger, Instance: set.Instance, Software: "forager fetch",
		Stored: s.metrics.stored, Waiting: s.metrics.waiting,
	}, log)
	return s, nil
}

// run runs the stage until ctx ends or something is broken.
func run(ctx context.Context, cfg *pipeline.Config, replica int, log *slog.Logger, reg prometheus.Registerer) error {
	set := cfg.Stages.Fetch
	var own []webclient.Service
	for _, s := range cfg.Services() {
		own = append(own, webclient.Service(s))
	}
	outages := newOutages()
	client, err := webclient.New(webclient.Settings{
		HeaderTimeout: set.HeaderTimeout, BodyTimeout: set.BodyTimeout,
		Proxy: set.Proxy, AllowPrivate: set.AllowPrivate, Own: own, Connections: set.Concurrency, Dials: outages,
	})
	if err != nil {
		return err
	}
	defer client.Close()
	return runWith(ctx, &watched{client, outages}, cfg, replica, log, reg)
}

func runWith(ctx context.Context, client getter, cfg *pipeline.Config, replica int, log *slog.Logger, reg prometheus.Registerer) error {
	set := settings{Fetch: cfg.Stages.Fetch, SessionTimeout: cfg.Kafka.SessionTimeout, Instance: fmt.Sprintf("%s-%d", name, replica)}
	store, err := objects.Open(cfg.S3)
	if err != nil {
		return err
	}
	kafka, err := stream.Dial(cfg.Kafka, cfg.Topics, log, reg)
	if err != nil {
		return err
	}
	defer kafka.Close()
	// Uploads in progress when ctx ends may still finish: RunUnordered drains first.
	storing, abandon := context.WithCancel(context.WithoutCancel(ctx))
	defer abandon()
	s, err := newStage(storing, set, store, client, log, reg)
	if err != nil {
		return err
	}
	defer s.schedule.close()
	control, err := kafka.Follow(ctx, schemas.TopicCrawlControl, s.control)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	defer control.Close()
	t := &takeover{log: kafka, stage: s}
	return kafka.RunUnordered(ctx, stream.Unordered{
		Stage: name, Input: schemas.TopicFetchRequested, MaxInFlight: maxInFlight, Linger: set.Linger,
		Handle: s.handle, Poison: poison, OnAssign: t.assigned, OnRevoke: s.revoked,
	})
}

// control applies a record of crawl.control: requests of a stopped or deleted crawl are not begun
// any more.
func (s *stage) control(r stream.Record) error {
	if r.Value == nil {
		return nil // the tombstone of a crawl
	}
	ctl := &schemas.CrawlControl{}
	if err := proto.Unmarshal(r.Value, ctl); err != nil {
		return stream.Broken(fmt.Errorf("%s offset %d: %w", r.Topic, r.Offset, err))
	}
	s.mu.Lock()
	newer := ctl.Revision > s.revisions[ctl.Crawl]
	if newer {
		s.revisions[ctl.Crawl] = ctl.Revision
	}
	stop := newer && (ctl.State == schemas.CrawlState_CRAWL_STATE_STOPPED || ctl.State == schemas.CrawlState_CRAWL_STATE_DELETED)
	if stop {
		s.stopped[ctl.Crawl] = ctl.Revision
	} else if newer {
		delete(s.stopped, ctl.Crawl)
	}
	s.mu.Unlock()
	if stop {
		s.schedule.cancel(ctl.Crawl)
	}
	return nil
}

func (s *stage) isStopped(crawl string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stopped[crawl] != 0
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
	t := &task{job: r, ctx: ctx, crawl: r.req.Crawl, host: r.req.Host, delay: r.delay(), since: p.since, quiet: p.quietUntil(r.req.Host)}
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
