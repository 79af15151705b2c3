package experiment

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"forager/internal/crawl/crawlfile"
	"forager/internal/frontier"
	"forager/internal/lab/comparators/sharksearch"
	"forager/internal/lab/oracle"
	"forager/internal/lab/taskfile"
	"forager/internal/rank/guide"
	"forager/internal/rank/linkfeature"
	"forager/internal/rank/pageguide"
	"forager/internal/rank/policy"
	"forager/schemas"
)

// variant is a ranker that no crawl file has as one word.
type variant struct {
	name string
	// built is the ranker of the crawl file that it is based on; "" = Baseline.
	built string
	// kept: it reads pages, which computed webs do not keep.
	kept bool
	// samples: it is trained on the pages of the web that do not count, by their labels and links.
	samples bool
	// access of a ranker without samples; "" = AccessSeeds.
	access Access
	// whole is why it cannot be an arm of a mixture, as it changes a whole crawl; "" = it can.
	whole string
	// prepare sets it up in a run.
	prepare func(ctx context.Context, r *Run, p preparation) error
}

// Access is what a ranker reads in addition to the verdicts on the pages of its crawl. Rankers are compared with those of the same access.
type Access string

const (
	// AccessSeeds: nothing; the ranker learns during the crawl, if at all.
	AccessSeeds Access = "seeds"
	// AccessExamples: the texts of the critic's examples.
	AccessExamples Access = "examples"
	// AccessForeign: labels and links of other sites.
	AccessForeign Access = "foreign"
	// AccessSite: labels and links of the site that is crawled, or an earlier crawl of it.
	AccessSite Access = "site"
	// AccessBacklinks: who links to a page.
	AccessBacklinks Access = "backlinks"
)

// Accesses lists all of them, from the least.
var Accesses = []Access{AccessSeeds, AccessExamples, AccessForeign, AccessSite, AccessBacklinks}

// AccessOf returns that of a ranker on a task; of a mixture it is the greatest of its arms.
func AccessOf(ranker string, t *taskfile.Task) Access {
	most := 0
	for arm := range strings.SplitSeq(ranker, "+") {
		f := furtherBy(arm)
		if f == nil {
			continue
		}
		access := cmp.Or(f.access, AccessSeeds)
		if f.samples && f.access == "" {
			if access = AccessForeign; t.Pages.All { // the pages that do not count are of the same site
				access = AccessSite
			}
		}
		most = max(most, slices.Index(Accesses, access))
	}
	return Accesses[most]
}

// preparation is the input of a further ranker.
type preparation struct {
	name string
	// policy of the run that ranks by it.
	policy *schemas.Policy
	try    func(ranker string) (*Crawl, error)
}

// Why further rankers cannot be arms.
const (
	teachesAll = "it sets what all arms learn from"
	informed   = "it reads what no crawler can"
)

// variants lists those rankers in the order of tables.
var variants = []variant{
	{name: "apprentice-topics", built: "apprentice", kept: true, whole: teachesAll, prepare: withTopics},
	{name: "apprentice-cocited", built: "apprentice", kept: true, whole: teachesAll, prepare: withCocitation},
	{name: "apprentice-taught", built: "apprentice-gated", access: AccessSite, whole: teachesAll, prepare: taught},
	{name: "apprentice-recall", built: "apprentice-gated", access: AccessSite, whole: teachesAll, prepare: recalling},
	{name: "apprentice-transferred", built: "apprentice-gated", kept: true, access: AccessForeign, whole: teachesAll, prepare: transferred},
	{name: "interest", prepare: interest},
	{name: "tag-bandit", prepare: bandit},
	{name: "context-graph", kept: true, samples: true, prepare: guidedBy(fromGraph(pageguide.ContextGraph))},
	{name: "context-graph-pages", kept: true, samples: true, prepare: byPages(layered)},
	{name: "context-graph-backlinks", kept: true, samples: true, access: AccessBacklinks, prepare: asking(1)},
	{name: "context-graph-backlinks-half", kept: true, samples: true, access: AccessBacklinks, prepare: asking(.5)},
	{name: "context-graph-backlinks-fifth", kept: true, samples: true, access: AccessBacklinks, prepare: asking(.2)},
	{name: "context-graph-rebuilt", kept: true, samples: true, prepare: rebuilt},
	{name: "context-graph-bootstrapped", kept: true, prepare: bootstrapped},
	{name: "focused-2000", kept: true, samples: true, prepare: guidedBy(fromGraph(pageguide.Focused2000))},
	{name: "focused-2000-pages", kept: true, samples: true, prepare: byPages(guidedBy(fromGraph(pageguide.Focused2000)))},
	{name: "best-first-cosine", kept: true, samples: true, prepare: guidedBy(fromGraph(pageguide.BestFirst))},
	{name: "memm-marginal", kept: true, samples: true, prepare: guidedBy(fromGraph(pageguide.MEMM))},
	{name: "memm-viterbi", kept: true, samples: true, prepare: guidedBy(along(pageguide.Viterbi, pageguide.ByDiscount))},
	{name: "memm-states", kept: true, samples: true, prepare: guidedBy(along(pageguide.Marginal, pageguide.ByStates))},
	{name: "memm-marginal-words", kept: true, samples: true, prepare: guidedBy(observing(pageguide.MEMM, pageguide.ObserveWords))},
	{name: "memm-marginal-rest", kept: true, samples: true, prepare: guidedBy(observing(pageguide.MEMM, pageguide.ObserveAll&^pageguide.ObserveWords))},
	{name: "fish-search", kept: true, access: AccessExamples, prepare: guidedBy(queried(sharksearch.NewFish))},
	{name: "shark-search", kept: true, access: AccessExamples, prepare: guidedBy(queried(sharksearch.NewShark))},
	{name: "rennie-mccallum", kept: true, samples: true, prepare: guidedBy(worth)},
	{name: "oracle-labels", whole: informed, prepare: observed(oracle.Labels)},
	{name: "oracle-hubs", kept: true, whole: informed, prepare: observed(oracle.Hubs)},
	{name: "oracle", kept: true, whole: informed, prepare: observed(oracle.Paths)},
}

// furtherBy returns the ranker of a name, or nil.
func furtherBy(name string) *variant {
	for i := range variants {
		if variants[i].name == name {
			return &variants[i]
		}
	}
	return nil
}

// rankingOf returns what a ranker sets in a control record. Any arm of a mixture may be a further ranker, except those that
// change a whole crawl.
func rankingOf(name string) (*crawlfile.Ranking, error) {
	if !slices.Contains(Rankers, name) && !strings.Contains(name, "+") {
		return nil, fmt.Errorf("no ranker %q; known: %s", name, strings.Join(Rankers, ", "))
	}
	if f := furtherBy(name); f != nil {
		ranking, err := crawlfile.Rank(cmp.Or(f.built, Baseline))
		if err == nil {
			ranking.Policies[0].Name = name
		}
		return ranking, err
	}
	guides := make(map[string]string)
	for arm := range strings.SplitSeq(name, "+") {
		if f := furtherBy(arm); f != nil {
			if f.whole != "" {
				return nil, fmt.Errorf("%s is no arm of a mixture: %s", arm, f.whole)
			}
			guides[arm] = arm
		}
	}
	return crawlfile.RankBy(name, guides)
}

// observed makes an oracle the ranker of a run.
func observed(begin func(*oracle.Web) oracle.Oracle) func(context.Context, *Run, preparation) error {
	return func(_ context.Context, r *Run, p preparation) error {
		web, err := open(r.Environment)
		if err != nil {
			return err
		}
		o := begin(web)
		r.Rankers, r.Observe = map[string]policy.Ranker{p.name: o}, func(s *frontier.Shard, u string) error {
			if n, ok := web.Number(u); ok && r.Environment.urls[n] == u { // a redirect is no visit
				return s.Reconsider(o.Fetched(n)...)
			}
			return nil
		}
		return nil
	}
}

// open returns the web of the environment as oracles see it; that of a computed web has no links.
func open(g *Environment) (*oracle.Web, error) {
	w := &oracle.Web{Target: make([]bool, len(g.urls)), URLs: make([][]string, len(g.urls)), Number: func(url string) (uint32, bool) {
		n, ok := g.number[g.resolve(url)]
		return n, ok
	}}
	for i, u := range g.urls {
		n, ok := w.Number(u)
		if w.Target[i] = g.targets[u]; ok {
			w.URLs[n] = append(w.URLs[n], u)
		}
	}
	if g.web.compute != nil {
		return w, nil
	}
	links, err := g.linked()
	if err == nil {
		w.Parents, w.Children = links.parents, links.children
	}
	return w, err
}

// learn makes a run rank by a learner, under the ranker's name.
func (p preparation) learn(r *Run, learner func() frontier.Learner) {
	p.policy.Ranker, p.policy.Guide = schemas.Ranker_RANKER_UNFOCUSED, ""
	if r.Learners == nil {
		r.Learners = make(map[string]func() frontier.Learner)
	}
	r.Learners[p.name] = learner
}

// follow makes a run rank by a guide, under the ranker's name.
func (p preparation) follow(r *Run, g guide.Guide) {
	p.policy.Ranker, p.policy.Guide = schemas.Ranker_RANKER_GUIDE, p.name
	if r.Guides == nil {
		r.Guides = make(map[string]guide.Guide)
	}
	r.Guides[p.name] = g
}

// guidedBy makes a guide the ranker of a run; see Environment.guide.
func guidedBy(train training) func(context.Context, *Run, preparation) error {
	return func(ctx context.Context, r *Run, p preparation) error {
		t, err := r.Environment.guide(ctx, p.name, train)
		if err != nil {
			return err
		}
		p.follow(r, t)
		return nil
	}
}

// withTopics makes the top classes of a page features of its links (2002 §3.8).
func withTopics(_ context.Context, r *Run, _ preparation) error {
	learning := &schemas.Learning{}
	proto.Merge(learning, r.Learning)
	learning.Topics = schemas.TopicFeatures_TOPIC_FEATURES_TOP2
	r.Learning = learning
	return nil
}

// withCocitation adds co-citation features (2002 §3.8).
func withCocitation(_ context.Context, r *Run, _ preparation) error {
	families, err := linkfeature.FamiliesOf(r.Learning.GetFeatures())
	if err != nil {
		return err
	}
	cited, err := linkfeature.FamiliesNamed([]string{"co-citation"})
	learning := &schemas.Learning{}
	proto.Merge(learning, r.Learning)
	learning.Features = (families | cited).List()
	r.Learning = learning
	return err
}

// taught begins with the model of a finished crawl of the baseline (protocol P of 2002 §3.5).
func taught(_ context.Context, r *Run, p preparation) error {
	_, err := first(r, p)
	return err
}

// recalling restricts such a crawl to the pages of that first one (2002 §3.6).
func recalling(_ context.Context, r *Run, p preparation) error {
	c, err := first(r, p)
	if err == nil {
		r.Within = r.Environment.Reaching(c)
	}
	return err
}

// first runs the crawl of the baseline on which the model of a run is trained.
func first(r *Run, p preparation) (*Crawl, error) {
	c, err := p.try(Baseline)
	if err != nil {
		return nil, fmt.Errorf("the first crawl: %w", err)
	}
	r.Prior, r.Training = c.Learnt.Marshal(), c.Requests
	return c, nil
}

// transferred begins with a model trained on other sites (protocol T).
func transferred(ctx context.Context, r *Run, _ preparation) (err error) {
	r.Training = uint64(len(r.Environment.elsewhere()))
	r.Prior, err = r.Environment.transferred(ctx, r.control().GetLearning())
	return err
}
