package frontier

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"forager/internal/rank/rank"
	"forager/internal/web/scope"
	"forager/schemas"
)

// Configure sets the crawl's control record, after Open and at every change. A revision lower
// than the last one is ignored, and so is any other state after CRAWL_STATE_STOPPED. A new
// scope holds for links found from then on; new limits hold at once; under other policies the best
// entries and some thousand others are placed before Configure returns, and the rest by Rescore. Other
// shadows change nothing but the shadow places in requests and leaps.
func (s *Shard) Configure(ctl *schemas.CrawlControl, sc *scope.Scope, o Options) error {
	if s.ctl != nil && ctl.GetRevision() < s.ctl.GetRevision() {
		return nil
	}
	if err := s.configure(proto.CloneOf(ctl), sc, o); err != nil {
		return fmt.Errorf("configure crawl %s: %w", ctl.GetCrawl(), err)
	}
	return s.save()
}

func (s *Shard) configure(ctl *schemas.CrawlControl, sc *scope.Scope, o Options) error {
	if ctl.GetCrawl() != s.name.Crawl {
		return fmt.Errorf("the shard belongs to crawl %s", s.name.Crawl)
	}
	limits, err := newLimits(ctl)
	if err != nil {
		return err
	}
	policies, learns, err := newPolicies(ctl, o.Rankers)
	if err != nil {
		return err
	}
	shadows, err := newShadows(ctl, policies)
	if err != nil {
		return err
	}
	mixture, err := rank.NewMixture(ctl.GetMixture(), ctl.GetRandomSeed())
	if err != nil {
		return err
	}
	if sc == nil {
		return fmt.Errorf("there is no scope")
	}
	shape, err := shapeOf(ctl, o.Rankers)
	if err != nil {
		return err
	}
	if s.ctl == nil || !slices.EqualFunc(schemas.Orders(s.ctl), schemas.Orders(ctl), func(a, b *schemas.Policy) bool { return proto.Equal(a, b) }) || shape != s.c.shape {
		if err := s.teach(ctl); err != nil {
			return err
		}
	}
	s.ctl, s.scope, s.options = ctl, sc, o
	s.follow(policies, ctl.GetPolicies())
	s.follow(shadows, ctl.GetRankerShadows())
	s.limits, s.policies, s.learns, s.mixture = limits, policies, learns, mixture
	s.shadows, s.asksModel = shadows, learns || slices.ContainsFunc(shadows, (*rank.Policy).Learns)
	s.models = modelSchedule(s.asksModel, &s.limits)
	s.expands = slices.ContainsFunc(policies, (*rank.Policy).ExpandsPages)
	s.SetMemory(o.Memory)
	s.c.stopped = s.c.stopped || ctl.GetState() == schemas.CrawlState_CRAWL_STATE_STOPPED
	s.policyNames = s.policyNames[:0]
	for _, p := range policies {
		n, err := s.nameNumber(p.Name())
		if err != nil {
			return err
		}
		s.policyNames = append(s.policyNames, n)
	}
	if err := s.loadArms(); err != nil {
		return err
	}
	if err := s.noteWhole(); err != nil {
		return err
	}
	if err := s.countHosts(); err != nil {
		return err
	}
	if shape != s.c.shape {
		if err := s.rerank(shape); err != nil {
			return err
		}
	}
	s.rebuildHeaps()
	return nil
}

func newPolicies(ctl *schemas.CrawlControl, override map[string]rank.Ranker) (policies []*rank.Policy, learns bool, err error) {
	if n := len(ctl.GetPolicies()); n == 0 || n > 255 {
		return nil, false, fmt.Errorf("%d policies, 1–255 can be", n)
	}
	names := make(map[string]bool)
	for _, p := range ctl.GetPolicies() {
		policy, err := rank.New(p, ctl.GetRandomSeed())
		if err != nil {
			return nil, false, err
		}
		if r, ok := override[p.GetName()]; ok {
			policy = policy.With(r)
		}
		if names[policy.Name()] {
			return nil, false, fmt.Errorf("two policies are called %q", policy.Name())
		}
		names[policy.Name()] = true
		policies = append(policies, policy)
		learns = learns || policy.Learns()
	}
	for name := range override {
		if !names[name] {
			return nil, false, fmt.Errorf("a ranker was given for %q, which is no policy", name)
		}
	}
	return policies, learns, nil
}

// shapeOf is a hash of everything in a control record that places depend on.
func shapeOf(ctl *schemas.CrawlControl, override map[string]rank.Ranker) (schemas.ID, error) {
	shape := &schemas.CrawlControl{
		Policies: ctl.GetPolicies(), RandomSeed: ctl.GetRandomSeed(),
		Learning: &schemas.Learning{DMax: ctl.GetLearning().GetDMax()},
	}
	if ctl.GetMixture() != nil { // places do not depend on how it chooses
		shape.Mixture = &schemas.Mixture{}
	}
	for _, p := range ctl.GetPolicies() {
		if p.GetRanker() == schemas.Ranker_RANKER_TAG_BANDIT {
			shape.Window = ctl.GetWindow() // the number of pages that it draws at once
		}
		if _, ok := override[p.GetName()]; ok {
			shape.Focus = append(shape.Focus, p.GetName()) // any list of names does
		}
	}
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(shape)
	return schemas.URLID(string(b)), err
}

// rebuildHeaps rebuilds everything in memory that follows from the queues' heads and the limits.
func (s *Shard) rebuildHeaps() {
	s.ready, s.old = nil, nil
	for p := range s.policies {
		ready, old := newHeaps(p)
		s.ready, s.old = append(s.ready, ready), append(s.old, old)
	}
	for _, x := range s.hosts.at {
		for p := range x.item.queues {
			x.item.queues[p].ready, x.item.queues[p].old = -1, -1
		}
		s.refresh(x.item)
	}
}
