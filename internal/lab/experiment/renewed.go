package experiment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"

	"forager/internal/crawl/crawlfile"
	"forager/internal/frontier/schedule"
	"forager/internal/rank/contextretrain"
	"forager/internal/rank/pageguide"
	"forager/schemas"
)

// Renewal is a guide of a run that is retrained on the pages that the crawl has fetched and judged and on earlier lessons.
// Run.Renewal is one of the crawl's own pages alone, as in the stages.
type Renewal struct {
	// Policy is the name of the run's policy that follows the guide.
	Policy string
	// Every is the number of pages delivered after which a new guide is made, if there are new targets since the last one.
	Every int
	// Begin are lessons that each new guide gets in addition to the crawl's own.
	Begin *lessons
	// Then is the policy with a guide, whose version is filled in.
	Then *schemas.Policy
}

const (
	// rebuildShare: new graphs are built after each 1/rebuildShare of a budget.
	rebuildShare = 4
	// bootstrapTargets is the number of targets needed for the first graphs: those of 2000 §4 had around ten.
	bootstrapTargets = 10
)

// rebuilt is a context graph with new graphs around the targets that the crawl finds (2000 §3.3, rebuild_every).
func rebuilt(ctx context.Context, r *Run, p preparation) error {
	t, err := r.Ground.guide(ctx, "context-graph", fromGraph(pageguide.ContextGraph))
	if err != nil {
		return err
	}
	begin, err := r.Ground.lessons()
	if err != nil {
		return err
	}
	p.follow(r, t)
	every := max(1, int(r.Ground.task.Budget)/rebuildShare)
	r.Renewals = append(r.Renewals, Renewal{Policy: p.name, Every: every, Begin: begin, Then: proto.CloneOf(p.policy)})
	return nil
}

// bootstrapped is breadth first until it has found enough targets, and then follows graphs of its own links (2000 §5).
func bootstrapped(_ context.Context, r *Run, p preparation) error {
	blind, err := crawlfile.Rank("unfocused")
	if err != nil {
		return err
	}
	then := proto.CloneOf(p.policy)
	then.Ranker, then.Guide = schemas.Ranker_RANKER_GUIDE, ""
	r.Renewal = &schemas.Renewal{Bootstrap: bootstrapTargets, Then: then}
	proto.Reset(p.policy)
	proto.Merge(p.policy, blind.Policies[0])
	p.policy.Name = p.name
	return nil
}

// renewing is the state of a Renewal.
type renewing struct {
	*Renewal
	made    int // guides so far
	pages   int // delivered when the last one was considered
	targets int // of the last one
}

// own is the pages that a crawl has fetched, for new graphs.
type own struct {
	met     map[string]bool // pages and redirects
	pages   []*page
	targets map[string]bool
}

func (o *own) note(g *Ground, rec *schemas.LinkFound) {
	switch rec.GetOutcome() {
	case schemas.Outcome_OUTCOME_REDIRECTED:
		o.met[rec.GetUrl()] = true
	case schemas.Outcome_OUTCOME_DELIVERED:
		o.met[rec.GetUrl()] = true
		o.pages = append(o.pages, g.web.pages[rec.GetUrl()])
		if rec.GetJudgement().GetRaw() >= schemas.TargetFrom {
			o.targets[rec.GetUrl()] = true
		}
	}
}

// lessons returns the crawl's own and those that it began with. A link through a redirect that the crawl has not met is
// dropped.
func (o *own) lessons(g *Ground, begin *lessons) (*lessons, error) {
	targets, pages := maps.Clone(o.targets), slices.Clone(o.pages)
	for _, t := range begin.targets {
		targets[begin.pages[t].url] = true
	}
	for _, p := range begin.pages {
		if !o.met[p.url] {
			pages = append(pages, p)
		}
	}
	known := func(url string) bool { return o.met[url] || !g.inScope[url] || !g.counted(url) }
	return g.lessonsOf(pages, func(url string) bool { return targets[url] }, known)
}

// renewOwn implements stage distill for a crawl that trains its guide on its own pages.
func (c *crawling) renewOwn(ctx context.Context, rec *schemas.LinkFound) error {
	if c.ctl.GetRenewal() == nil {
		return nil
	}
	if err := c.fetched.Note(rec, 0); err != nil {
		return err
	}
	pages, targets := c.fetched.Pages()
	if !schedule.RenewalDue(c.ctl, pages, targets) {
		return nil
	}
	version := ""
	if targets > c.knownTargets {
		by, _, err := c.fetched.Train(ctx, c.ctl.GetCrawl())
		if err != nil {
			return fmt.Errorf("train the guide again: %w", err)
		}
		version = fmt.Sprintf("%s/%d", contextretrain.Name(c.ctl), pages)
		c.guides[version] = &taughtGuide{guide: by}
		c.crawl.Renewed = append(c.crawl.Renewed, int(pages))
	}
	c.knownTargets = targets
	return c.configure(contextretrain.Next(c.ctl, pages, version))
}

// renew records a verdict, and retrains the guides that are due.
func (c *crawling) renew(ctx context.Context, rec *schemas.LinkFound) error {
	if len(c.renewals) == 0 {
		return nil
	}
	c.own.note(c.run.Ground, rec)
	if uint64(len(c.own.pages)) >= c.run.Ground.task.Budget {
		return nil // no URL is left to rank
	}
	for i := range c.renewals {
		r := &c.renewals[i]
		if !r.due(&c.own) {
			continue
		}
		if err := c.remake(ctx, r); err != nil {
			return fmt.Errorf("train the guide of %s again: %w", r.Policy, err)
		}
	}
	return nil
}

// due reports whether a new guide is due.
func (r *renewing) due(o *own) bool {
	if len(o.pages) < r.pages+r.Every {
		return false
	}
	r.pages = len(o.pages)
	return len(o.targets) > r.targets
}

// remake trains the guide and switches the crawl to it. Links of pages that were judged before keep the scores of the older
// version, as in the pipeline.
func (c *crawling) remake(ctx context.Context, r *renewing) error {
	known, err := c.own.lessons(c.run.Ground, r.Begin)
	if err != nil {
		return err
	}
	by, _, err := pageguide.Train(ctx, pageguide.ContextGraph, known.local(), pageguide.Default())
	if err != nil {
		return err
	}
	r.made, r.targets = r.made+1, len(c.own.targets)
	next := proto.CloneOf(c.ctl)
	i := slices.IndexFunc(next.Policies, func(p *schemas.Policy) bool { return p.GetName() == r.Policy })
	if i < 0 {
		return errors.New("the crawl has no such policy")
	}
	name := schemas.ModelName(cmp.Or(c.ctl.Policies[i].GetGuide(), r.Policy)) // links keep the scores of other versions of the same name
	version := fmt.Sprintf("%s/%d", name, r.made)
	next.Revision++
	next.Policies[i] = proto.CloneOf(r.Then)
	next.Policies[i].Guide = version
	c.guides[version] = &taughtGuide{guide: by}
	c.crawl.Renewed = append(c.crawl.Renewed, len(c.own.pages))
	return c.configure(next)
}
