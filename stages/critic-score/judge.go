package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"google.golang.org/protobuf/proto"

	"forager/internal/classify/httpmodel"
	"forager/internal/judging"
	"forager/internal/stream"
	"forager/schemas"
)

// judgement returns that of a delivered page.
func (s *scorer) judgement(ctx context.Context, parsed *schemas.PageParsed) (*schemas.Judgement, error) {
	if parsed.GetPage() == nil {
		return nil, errors.New("a delivered page without the page")
	}
	control := s.crawls.Get(parsed.GetCrawl())
	if control == nil {
		return nil, stream.Missing("control record of "+parsed.GetCrawl(), fmt.Errorf("crawl %q has no control record yet", parsed.GetCrawl()))
	}
	if err := upToDate(control, parsed); err != nil {
		return nil, err
	}
	if s.crawls.Deleted(parsed.GetCrawl()) {
		return new(schemas.Judgement), nil
	}
	j, err := s.judge.Page(ctx, control, parsed)
	s.metrics.dropped.Add(float64(j.GetBacklinks().GetDropped()))
	return j, err
}

// upToDate returns Unavailable until the control record is as new as the one of the page's request, if that
// may name a newer guide.
func upToDate(control *schemas.CrawlControl, parsed *schemas.PageParsed) error {
	if control.GetRenewal() == nil {
		return nil
	}
	request := new(schemas.FetchRequest)
	if err := proto.Unmarshal(parsed.GetRequest(), request); err != nil {
		return fmt.Errorf("decode the request: %w", err)
	}
	if request.GetRevision() > control.GetRevision() {
		return stream.Missing("control record of "+parsed.GetCrawl(), fmt.Errorf("revision %d is not in crawl.control yet", request.GetRevision()))
	}
	return nil
}

// metrics count failures that do not stop a page.
type metrics struct {
	degraded   *prometheus.CounterVec // by reason
	shadowless prometheus.Counter
	unguided   *prometheus.CounterVec // by reason
	unanswered *prometheus.CounterVec // by reason
	dropped    prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) *metrics {
	made := promauto.With(reg)
	options := func(name, help string) prometheus.CounterOpts {
		return prometheus.CounterOpts{Namespace: "forager", Subsystem: "critic_score", Name: name, Help: help}
	}
	byReason := func(name, help string) *prometheus.CounterVec {
		return made.NewCounterVec(options(name, help), []string{"reason"})
	}
	return &metrics{
		degraded:   byReason("degraded_pages_total", "Pages that an HTTP predicate did not judge: its fallback did, or they failed."),
		shadowless: made.NewCounter(options("shadow_failures_total", "Judgements that a shadow critic could not give.")),
		unguided:   byReason("guide_failures_total", "Pages whose links a guide did not score, or not with finite numbers: they are fetched last."),
		unanswered: byReason("backlink_failures_total", "Pages whose parents a source of backlinks did not name."),
		dropped: made.NewCounter(options("backlinks_dropped_total",
			"URLs from sources of backlinks that are no parents: no URL, the page itself, a page twice, one too many.")),
	}
}

// failed counts a failure that does not stop a page.
func (m *metrics) failed(of judging.Part, _ string, err error) error {
	reason := "error"
	if failure := (*httpmodel.Failure)(nil); errors.As(err, &failure) {
		reason = failure.Reason
	}
	switch of {
	case judging.OfCritic:
		m.degraded.WithLabelValues(reason).Inc()
	case judging.OfShadow:
		m.shadowless.Inc()
	case judging.OfGuide:
		m.unguided.WithLabelValues(reason).Inc()
	case judging.OfBacklinks:
		m.unanswered.WithLabelValues(reason).Inc()
	}
	return nil
}
