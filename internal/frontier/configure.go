package frontier

import (
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"forager/internal/frontier/queue"
	"forager/internal/rank/policy"
	"forager/internal/web/scope"
	"forager/schemas"
)

// Configure sets the crawl's control record, after Open and at every change. A revision lower
// than the last one is ignored. A new scope holds for links found from then on; new limits hold at once, and so do excludes;
// under other policies the best entries and some thousand others are placed before Configure returns, and the rest by Rescore.
// Other shadows change nothing but the shadow places in requests and leaps.
func (s *Shard) Configure(ctl *schemas.CrawlControl, sc *scope.Scope, o Options) error {
	if s.cfg.ctl != nil && ctl.GetRevision() < s.cfg.ctl.GetRevision() {
		return nil
	}
	if err := s.configure(proto.CloneOf(ctl), sc, o); err != nil {
		return fmt.Errorf("configure crawl %s: %w", ctl.GetCrawl(), err)
	}
	return s.save()
}

func (s *Shard) configure(ctl *schemas.CrawlControl, sc *scope.Scope, o Options) error {
	if ctl.GetCrawl() != s.state.Name.Crawl {
		return fmt.Errorf("the shard belongs to crawl %s", s.state.Name.Crawl)
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
	mixture, err := policy.NewMixture(ctl.GetMixture(), ctl.GetRandomSeed())
	if err != nil {
		return err
	}
	if sc == nil {
		return errors.New("there is no scope")
	}
	excludes, err := scope.NewExcludes(ctl.GetExcludes())
	if err != nil {
		return err
	}
	groups, err := scope.NewPriority(ctl.GetPriority())
	if err != nil {
		return err
	}
	shape, err := shapeOf(ctl, o)
	if err != nil {
		return err
	}
	if shape != s.state.Counters.Shape {
		if err := s.rescorer.ScoreFirst(); err != nil {
			return err
		}
	}
	if s.cfg.ctl == nil || !slices.EqualFunc(schemas.Orders(s.cfg.ctl), schemas.Orders(ctl), func(a, b *schemas.Policy) bool { return proto.Equal(a, b) }) || shape != s.state.Counters.Shape {
		if err := s.learners.train(ctl, o); err != nil {
			return err
		}
	}
	s.cfg.ctl, s.cfg.scope, s.cfg.options = ctl, sc, o
	s.learners.follow(policies, ctl.GetPolicies())
	s.learners.follow(shadows, ctl.GetRankerShadows())
	s.cfg.limits, s.places.Policies, s.places.Learns, s.arms.mixture = limits, policies, learns, mixture
	s.places.Groups = groups
	s.places.Shadows, s.places.AsksModel = shadows, learns || slices.ContainsFunc(shadows, (*policy.Policy).Learns)
	s.cfg.models = modelSchedule(s.places.AsksModel, &s.cfg.limits)
	s.places.Expands = slices.ContainsFunc(policies, (*policy.Policy).ExpandsPages)
	s.pages.Lists, s.pages.Cocites, s.queues.AllLead = s.places.Expands, limits.families.Cocitation(), mixture != nil
	s.hosts.Limits, s.waits.RetryDelay = queue.Limits{Window: limits.hostWindow, Cap: limits.hostCap, Patience: limits.hostPatience}, o.RetryDelay
	s.prefetch.Forward, s.rescorer.Sync = limits.forward, limits.sync
	s.prefetch.Features = o.Features != FeaturesWhereLearned || s.places.AsksModel
	s.places.DMax, s.places.Families, s.places.Foreign = limits.dMax, limits.families, len(o.Rankers)+len(s.learners.byPolicy) > 0
	s.SetMemory(o.Memory)
	s.state.Counters.Stopped = ctl.GetState() == schemas.CrawlState_CRAWL_STATE_STOPPED
	s.arms.policyNames = s.arms.policyNames[:0]
	for _, p := range policies {
		n, err := s.state.NameNumber(p.Name())
		if err != nil {
			return err
		}
		s.arms.policyNames = append(s.arms.policyNames, n)
	}
	if err := s.arms.loadArms(); err != nil {
		return err
	}
	if err := s.hubs.noteWhole(); err != nil {
		return err
	}
	if err := s.hosts.CountHosts(); err != nil {
		return err
	}
	if shape != s.state.Counters.Shape {
		if err := s.rescorer.Rerank(shape); err != nil {
			return err
		}
	}
	s.hosts.RebuildHeaps()
	if err := s.rescorer.ScoreWaiting(); err != nil {
		return err
	}
	digest, err := digestOf(ctl.GetExcludes())
	if err != nil {
		return err
	}
	return s.excluder.SetRules(excludes, digest)
}

// digestOf is a hash of rules, zero if there are none.
func digestOf(x *schemas.Excludes) (digest schemas.ID, err error) {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(x)
	if err == nil && len(b) > 0 {
		digest = schemas.URLID(string(b))
	}
	return digest, err
}

func newPolicies(ctl *schemas.CrawlControl, override map[string]policy.Ranker) (policies []*policy.Policy, learns bool, err error) {
	if n := len(ctl.GetPolicies()); n == 0 || n > 255 {
		return nil, false, fmt.Errorf("%d policies, 1–255 can be", n)
	}
	names := make(map[string]bool)
	for _, p := range ctl.GetPolicies() {
		policy, err := policy.New(p, ctl.GetRandomSeed())
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
func shapeOf(ctl *schemas.CrawlControl, o Options) (schemas.ID, error) {
	shape := &schemas.CrawlControl{
		Policies: ctl.GetPolicies(), RandomSeed: ctl.GetRandomSeed(), Priority: ctl.GetPriority(),
		Learning: &schemas.Learning{DMax: ctl.GetLearning().GetDMax()},
	}
	if ctl.GetMixture() != nil { // places do not depend on how it chooses
		shape.Mixture = &schemas.Mixture{}
	}
	for _, p := range ctl.GetPolicies() {
		_, ranks := o.Rankers[p.GetName()]
		_, learns := o.Learners[p.GetName()]
		if ranks || learns {
			shape.Focus = append(shape.Focus, p.GetName()) // any list of names does
		}
	}
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(shape)
	return schemas.URLID(string(b)), err
}
