package experiment

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"time"

	"google.golang.org/protobuf/proto"

	"forager/internal/frontier"
	"forager/internal/judging"
	"forager/internal/rank/apprentice"
	"forager/internal/rank/backlink"
	"forager/internal/rank/contextretrain"
	"forager/internal/rank/guide"
	"forager/internal/rank/policy"
	"forager/internal/web/scope"
	"forager/internal/web/weburl"
	"forager/schemas"
)

// Step is one page delivered, in the order of the crawl.
type Step struct {
	URL string
	// Raw, Tempered and Calibrated are R of the page.
	Raw, Tempered, Calibrated float64
	// Target: the page is a target of the task. Counted: it is part of the measures.
	Target, Counted bool
	// Score with which it was chosen, and the model used (empty = none).
	Score float64
	Model string
	// Requests made so far, this one included, and bytes of the bodies delivered so far.
	Requests, Bytes uint64
}

// Crawl is a finished crawl of an environment.
type Crawl struct {
	Steps []Step
	// Requests that were charged; the end reason as in crawl.status.
	Requests  uint64
	EndReason string
	// Queries of backlinks, which are among the requests.
	Queries uint64
	// Took is the time of a crawl over a Network.
	Took time.Duration
	// Trained is the number of leaps that trained, and Learnt the result.
	Trained uint64
	Learnt  apprentice.Learner
	// Renewed are the numbers of pages delivered at which a guide was retrained.
	Renewed []int
	// settled are all leaps and boundaries in their order, if Run.Keep is set; encoded, as their features take several times as much.
	settled [][]byte
}

// Settled decodes all leaps and boundaries in their order; there are none unless Run.Keep was set.
func (c *Crawl) Settled() []*schemas.LeapSettled {
	all := make([]*schemas.LeapSettled, len(c.settled))
	for i, b := range c.settled {
		all[i] = new(schemas.LeapSettled)
		if err := proto.Unmarshal(b, all[i]); err != nil {
			panic(err) // settle has encoded it
		}
	}
	return all
}

// Run is one crawl to be run.
type Run struct {
	Environment *Environment
	Seeds       []string
	// Within restricts the crawl to these pages and redirects in scope (the recall crawler of 2002 §3.6); nil = all.
	Within []string
	// Policies, Mixture, Shadows, Distiller and Learning are those of a crawl's control record; the rest of it follows from
	// the environment. Learning nil is all defaults; sync is always set.
	Policies []*schemas.Policy
	Mixture  *schemas.Mixture
	Shadows  []*schemas.Policy
	Learning *schemas.Learning
	// Distiller of policies that raise; nil is all defaults.
	Distiller *schemas.Distiller
	// Rankers override policies by name (oracles).
	Rankers map[string]policy.Ranker
	// Learners make rankers that learn from verdicts, by policy; Read is called with each page delivered and its verdict,
	// before that is applied.
	Learners map[string]func() frontier.Learner
	Read     []func(rec *schemas.LinkFound, page *schemas.Page) error
	// Guides of the policies, by version.
	Guides map[string]guide.Guide
	// Renewal is that of the control record.
	Renewal *schemas.Renewal
	// Backlinks is the source of backlinks, queried at most Ration times; nil = none.
	Backlinks backlink.Source
	Ration    uint64
	// Observe is called after each verdict, for oracles; nil = no call.
	Observe func(s *frontier.Shard, u string) error
	// Prior is the file of the initial model; empty = none.
	Prior []byte
	// Training is the number of requests for pages that trained the rankers before the crawl; those that train the critic train it under
	// every ranker and are not among them, unless a ranker reads their labels and links.
	Training uint64
	// RandomSeed of the crawl (ranker random, mixtures).
	RandomSeed uint64
	Keep       bool
	// Untaught: the learner is not needed, so a crawl that no apprentice ranks does not train one. Its order is the same.
	Untaught bool
	// Network lets requests overlap; nil = one after the other.
	Network *Network
}

// control returns the record of the same crawl in a pipeline.
func (r *Run) control() *schemas.CrawlControl {
	learning := &schemas.Learning{}
	if r.Learning != nil {
		learning = proto.Clone(r.Learning).(*schemas.Learning)
	}
	learning.Sync = true
	var backlinks *schemas.BacklinkSource
	if r.Backlinks != nil {
		backlinks = &schemas.BacklinkSource{Source: "backlinks", Ration: r.Ration}
	}
	network := cmp.Or(r.Network, &Network{Window: 1, HostWindow: 1})
	return &schemas.CrawlControl{
		Crawl: "experiment", Revision: 1, State: schemas.CrawlState_CRAWL_STATE_RUNNING,
		Focus: []string{r.Environment.task.FocusClass}, Critic: r.Environment.task.Critic,
		Budget:   &schemas.Budget{Pages: r.Environment.task.Budget},
		Policies: r.Policies, Mixture: r.Mixture, RankerShadows: r.Shadows, Distiller: r.Distiller,
		Scope:  &schemas.Scope{UrlList: "web"},
		Window: network.Window, HostWindow: network.HostWindow, Learning: learning,
		Politeness: &schemas.Politeness{DelayMs: uint32(network.Pause.Milliseconds())},
		RandomSeed: r.RandomSeed, LabelsFromUrls: r.Environment.task.LabelsFromURL, Backlinks: backlinks, Renewal: r.Renewal,
	}
}

// rescoreStep is the number of entries scored at a time after a new model.
const rescoreStep = 4096

// Crawl runs the crawl, until ctx ends.
func (r *Run) Crawl(ctx context.Context) (*Crawl, error) {
	c, err := r.begin()
	if err != nil {
		return nil, err
	}
	seeds, err := canonical(r.Seeds)
	if err != nil {
		return nil, err
	}
	if err := c.apply(ctx, schemas.SeedPage(c.ctl.Crawl, seeds)); err != nil {
		return nil, err
	}
	if r.Network != nil {
		return c.overlap(ctx, r.Network)
	}
	for {
		c.now = c.now.Add(time.Second)
		requests, err := c.shard.Dispatch(c.now, 1)
		if err != nil {
			return nil, err
		}
		if len(requests) == 0 {
			return c.finish()
		}
		if err := c.fetch(ctx, requests[0]); err != nil {
			return nil, err
		}
	}
}

// crawling is a crawl in progress.
type crawling struct {
	run     *Run
	ctl     *schemas.CrawlControl
	scope   *scope.Scope
	shard   *frontier.Shard
	learner apprentice.Learner
	hubs    *hubs                  // nil if no policy raises what they link to
	guides  map[string]guide.Guide // by version
	judge   judging.Judge
	// fetched are the training data of the crawl's guide, knownTargets the number of targets of the last one.
	fetched      *contextretrain.Pages
	knownTargets uint64
	now          time.Time
	crawl        Crawl
	// Requests made and bytes delivered so far.
	requests, bytes uint64
}

func (r *Run) begin() (*crawling, error) {
	c := &crawling{run: r, now: time.Unix(0, 0).UTC(), guides: make(map[string]guide.Guide)} // order never depends on time
	c.ctl = r.control()
	if have := r.Environment.settings.DMax; int(c.ctl.Learning.GetDMax()) > have {
		return nil, fmt.Errorf("learning.d_max is %d, the environment was prepared for %d", c.ctl.Learning.GetDMax(), have)
	}
	list := r.Environment.list
	if r.Within != nil {
		list = scope.NewList(r.Within)
	}
	var err error
	if c.scope, err = scope.New(c.ctl.Scope, list); err != nil {
		return nil, err
	}
	maps.Copy(c.guides, r.Guides)
	c.judge = newJudge(c)
	if c.fetched, err = contextretrain.Open(frontier.NewMemory(), []byte("pages")); err != nil {
		return nil, err
	}
	if c.shard, err = frontier.Open(frontier.NewMemory(), c.ctl.Crawl, 0); err != nil {
		return nil, err
	}
	if err := c.configure(c.ctl); err != nil {
		return nil, err
	}
	if c.learner, err = newLearner(c.ctl.Learning, r.Prior); err != nil {
		return nil, err
	}
	if c.hubs, err = newHubs(c.ctl); err != nil {
		return nil, err
	}
	if len(r.Prior) == 0 {
		return c, nil
	}
	return c, c.publish("prior", 0)
}

// configure gives the frontier a control record of the crawl.
func (c *crawling) configure(ctl *schemas.CrawlControl) error {
	c.ctl = ctl
	return c.shard.Configure(ctl, c.scope, frontier.Options{Epoch: 1, Rankers: c.run.Rankers, Learners: c.run.Learners, Features: c.features()})
}

// features returns which leaps need features.
func (c *crawling) features() frontier.Features {
	switch {
	case c.run.Untaught && !c.run.Keep && !schemas.Learns(c.ctl):
		return frontier.FeaturesWhereLearned
	case c.run.Keep:
		return frontier.FeaturesOfAll
	}
	return frontier.FeaturesOfSamples
}

// publish gives the frontier a model of what was learned so far.
func (c *crawling) publish(version string, pages uint64) error {
	if c.learner.Leaps() == 0 {
		return c.shard.SetModel(version, nil, pages)
	}
	return c.shard.SetModel(version, c.learner.Model(), pages)
}

// fetch computes the verdict on a request as the stages after the frontier would.
func (c *crawling) fetch(ctx context.Context, request *schemas.FetchRequest) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	g := c.run.Environment
	rec, size, err := g.verdict(ctx, request, c.ctl)
	if err != nil {
		return err
	}
	if err := c.guide(ctx, rec); err != nil {
		return err
	}
	if err := c.read(rec); err != nil {
		return err
	}
	c.requests++
	if u := rec.GetUrl(); rec.GetOutcome() == schemas.Outcome_OUTCOME_DELIVERED {
		c.bytes += uint64(size)
		c.crawl.Steps = append(c.crawl.Steps, Step{
			URL: u, Raw: rec.GetJudgement().GetRaw(), Tempered: rec.GetJudgement().GetTempered(), Calibrated: rec.GetJudgement().GetCalibrated(),
			Target: g.targets[u], Counted: g.counted(u), Score: request.GetScore(), Model: request.GetModel(),
			Requests: c.requests, Bytes: c.bytes,
		})
		queries := uint64(rec.GetJudgement().GetBacklinks().GetQueries())
		c.requests, c.crawl.Queries = c.requests+queries, c.crawl.Queries+queries
	}
	return c.apply(ctx, rec)
}

// read passes a delivered page to the functions that read pages.
func (c *crawling) read(rec *schemas.LinkFound) error {
	if rec.GetOutcome() != schemas.Outcome_OUTCOME_DELIVERED || len(c.run.Read) == 0 {
		return nil
	}
	g := c.run.Environment
	page, _, err := g.read(g.web.pages[rec.GetUrl()])
	if err != nil {
		return err
	}
	for _, read := range c.run.Read {
		if err := read(rec, page); err != nil {
			return err
		}
	}
	return nil
}

// apply gives the frontier a verdict, and the learner the settled leaps.
func (c *crawling) apply(ctx context.Context, rec *schemas.LinkFound) error {
	effects, err := c.shard.Apply(rec, c.now)
	if err != nil {
		return err
	}
	if effects.Duplicate {
		return fmt.Errorf("the verdict on %s was taken for a duplicate", rec.GetUrl())
	}
	for _, leap := range effects.Settled {
		if err := c.settle(leap); err != nil {
			return err
		}
	}
	if err := c.hubs.observe(ctx, c.shard, rec); err != nil {
		return err
	}
	if err := c.renewOwn(ctx, rec); err != nil {
		return err
	}
	for more := true; more; {
		if more, err = c.shard.Rescore(rescoreStep); err != nil {
			return err
		}
	}
	if c.run.Observe == nil {
		return nil
	}
	return c.run.Observe(c.shard, rec.GetUrl())
}

// settle handles a settled leap, or a boundary, as apprentice-train does.
func (c *crawling) settle(leap *schemas.LeapSettled) error {
	if c.run.Keep {
		b, err := proto.Marshal(leap)
		if err != nil {
			return err
		}
		c.crawl.settled = append(c.crawl.settled, b)
	}
	switch {
	case leap.GetBoundary():
		return c.publish(fmt.Sprintf("experiment/%d", leap.GetPages()), leap.GetPages())
	case leap.GetTrains():
		c.crawl.Trained++
		if leap.GetNoApprentice() {
			return nil
		}
		if err := c.learner.Add(leap.GetFeatures(), leap.GetTargetRaw()); err != nil {
			return fmt.Errorf("learn from the link from %s to %s: %w", leap.GetU(), leap.GetV(), err)
		}
	}
	return nil
}

func (c *crawling) finish() (*Crawl, error) {
	reason, ok := c.shard.Finished()
	if !ok {
		return nil, fmt.Errorf("the crawl makes no progress after %d pages: %v", len(c.crawl.Steps), c.shard.Status(c.now))
	}
	c.crawl.EndReason, c.crawl.Learnt = reason, c.learner
	c.crawl.Requests = c.shard.Status(c.now).GetRequests()
	done := c.crawl // a pointer into c would keep the frontier
	return &done, nil
}

// canonical returns seeds in the frontier's form of URLs.
func canonical(seeds []string) ([]string, error) {
	urls := make([]string, len(seeds))
	for i, raw := range seeds {
		u, err := weburl.Parse(raw)
		if err != nil {
			return nil, fmt.Errorf("seed: %w", err)
		}
		urls[i] = u.String()
	}
	return urls, nil
}
