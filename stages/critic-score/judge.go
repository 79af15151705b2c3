package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/proto"

	"forager/internal/classify/critic"
	"forager/internal/classify/predicate"
	"forager/internal/rank/interest"
	"forager/internal/rank/renewal"
	"forager/internal/stream"
	"forager/schemas"
)

// judge returns the judgement of a page by the crawl's critic or its fallback, and by its shadows.
func (s *scorer) judge(ctx context.Context, parsed *schemas.PageParsed) (*schemas.Judgement, error) {
	if parsed.GetPage() == nil {
		return nil, errors.New("a delivered page without the page")
	}
	control := s.crawls.Look(parsed.GetCrawl())
	if control == nil {
		return nil, stream.Missing("control record of "+parsed.GetCrawl(), fmt.Errorf("crawl %q has no control record yet", parsed.GetCrawl()))
	}
	if err := upToDate(control, parsed); err != nil {
		return nil, err
	}
	if control.GetCritic() == "" || s.crawls.Deleted(parsed.GetCrawl()) {
		return new(schemas.Judgement), nil
	}
	j, err := s.byCritic(ctx, control, parsed.GetPage())
	if err != nil {
		return nil, err
	}
	j.Marking = control.GetRevision()
	if schemas.ReadsWords(control) {
		if j.Words, err = interest.Words(parsed.GetPage()); err != nil {
			return nil, err
		}
	}
	if control.GetRenewal() != nil {
		if j.Document, err = renewal.Document(parsed.GetPage()); err != nil {
			return nil, err
		}
	}
	if err := s.guide(ctx, control, parsed, j); err != nil {
		return nil, err
	}
	for _, version := range control.GetShadows() {
		shadow, err := s.shadow(ctx, control, version, parsed.GetPage())
		if err != nil {
			return nil, err
		}
		j.Shadows = append(j.Shadows, shadow)
	}
	return j, nil
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

// byCritic returns the judgement that is used.
func (s *scorer) byCritic(ctx context.Context, control *schemas.CrawlControl, page *schemas.Page) (*schemas.Judgement, error) {
	version := control.GetCritic()
	by, weights, err := s.critics.judge(ctx, version, control, true)
	if err != nil {
		return nil, about(version, err)
	}
	say := critic.Say
	if schemas.ReadsPosteriors(control) {
		say = critic.SayWhole
	}
	j, err := s.say(ctx, say, by, page, weights)
	var failure *predicate.Failure
	if errors.As(err, &failure) {
		s.metrics.degraded.WithLabelValues(failure.Reason).Inc()
		if c, ok := by.(*predicate.Client); ok && c.Fallback() != "" {
			version = c.Fallback()
			if by, weights, err = s.critics.judge(ctx, version, control, true); err == nil {
				j, err = s.say(ctx, say, by, page, weights)
			}
		}
	}
	if err != nil {
		return nil, about(version, err)
	}
	if schemas.ReadsAnchors(control) {
		if j.Anchors, err = critic.SayAnchors(ctx, by, page, weights); err != nil {
			return nil, about(version, err)
		}
	}
	j.Critic = version
	if failure != nil {
		j.Degraded = failure.Reason
	}
	return j, nil
}

// shadow returns the judgement of a critic that is not used. A failure is recorded and not waited
// for; the error is that of ctx.
func (s *scorer) shadow(ctx context.Context, control *schemas.CrawlControl, version string, page *schemas.Page) (*schemas.Shadow, error) {
	var j *schemas.Judgement
	by, weights, err := s.critics.judge(ctx, version, control, false)
	if err == nil {
		j, err = s.say(ctx, critic.Say, hasty(by), page, weights)
	}
	switch {
	case err == nil:
		return &schemas.Shadow{
			Critic: version, Raw: j.GetRaw(), Tempered: j.GetTempered(), Calibrated: j.GetCalibrated(), BestIsFocus: j.GetBestIsFocus(), KnownTokens: j.GetKnownTokens(),
		}, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	s.metrics.shadowless.Inc()
	return &schemas.Shadow{Critic: version, Failure: schemas.DetailOf(err)}, nil
}

// sayer is critic.Say or critic.SayWhole.
type sayer func(context.Context, critic.Judge, *schemas.Page, []float64) (*schemas.Judgement, error)

// say calls critic.Say, or SayWhole; a judge that calls a service gives up its turn meanwhile.
func (s *scorer) say(ctx context.Context, say sayer, by critic.Judge, page *schemas.Page, weights []float64) (*schemas.Judgement, error) {
	if w, ok := by.(interface{ Asks() bool }); ok && w.Asks() {
		s.turns.give()
		defer s.turns.take()
	}
	return say(ctx, by, page, weights)
}

// hasty returns the judge without retries of a failing service.
func hasty(by critic.Judge) critic.Judge {
	if c, ok := by.(*predicate.Client); ok {
		return c.Hasty()
	}
	return by
}

// about adds the critic to an error of its judgement; Unavailable errors name it already.
func about(version string, err error) error {
	if stream.IsUnavailable(err) {
		return err
	}
	return fmt.Errorf("critic %s: %w", version, err)
}

// metrics count failures that do not stop a page.
type metrics struct {
	degraded   *prometheus.CounterVec // by reason
	shadowless prometheus.Counter
	unguided   *prometheus.CounterVec // by reason
	unanswered *prometheus.CounterVec // by reason
	dropped    prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	const namespace, subsystem = "forager", "critic_score"
	m := &metrics{
		degraded: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "degraded_pages_total",
			Help: "Pages that an HTTP predicate did not judge: its fallback did, or they failed.",
		}, []string{"reason"}),
		shadowless: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "shadow_failures_total",
			Help: "Judgements that a shadow critic could not give.",
		}),
		unguided: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "guide_failures_total",
			Help: "Pages whose links a guide did not score, or not with finite numbers: they are fetched last.",
		}, []string{"reason"}),
		unanswered: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "backlink_failures_total",
			Help: "Pages whose parents a source of backlinks did not say.",
		}, []string{"reason"}),
		dropped: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "backlinks_dropped_total",
			Help: "What sources of backlinks said that is no parent: no URL, the page itself, a page twice, one too many.",
		}),
	}
	for _, c := range []prometheus.Collector{m.degraded, m.shadowless, m.unguided, m.unanswered, m.dropped} {
		if err := reg.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}
