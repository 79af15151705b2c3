package experiment

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/cespare/xxhash/v2"
	"google.golang.org/protobuf/proto"

	"forager/internal/classify/critic"
	"forager/internal/classify/pulearning"
	"forager/internal/classify/taxonomy"
	"forager/internal/judging"
	"forager/internal/lab/labelcritic"
	"forager/internal/rank/backlink"
	"forager/internal/rank/guide"
	"forager/schemas"
)

// newJudge judges by the models of a crawl. One that fails ends the crawl: its result would not be one of the model.
func newJudge(c *crawling) judging.Judge {
	return judging.Judge{
		Models: models{c},
		Failed: func(of judging.Part, version string, err error) error {
			return fmt.Errorf("%s %s: %w", of, version, err)
		},
		Wait: func(call func()) { call() },
	}
}

// models are those of a crawl.
type models struct{ *crawling }

// Critic returns the critic of the task.
func (m models) Critic(context.Context, *schemas.CrawlControl, string, bool) (*judging.Critic, error) {
	return &m.run.Ground.critic, nil
}

// Guide returns a guide of the run, or one that was trained during the crawl.
func (m models) Guide(_ context.Context, version string) (guide.Guide, error) {
	by, ok := m.guides[version]
	if !ok {
		return nil, fmt.Errorf("no guide %s was given", version)
	}
	return by, nil
}

// Backlinks returns the source of the run.
func (m models) Backlinks(context.Context, string) (backlink.Source, error) {
	return m.run.Backlinks, nil
}

// guide adds what guides and the source of backlinks return to the verdict on a page.
func (c *crawling) guide(ctx context.Context, rec *schemas.LinkFound) error {
	if rec.GetOutcome() != schemas.Outcome_OUTCOME_DELIVERED || !judging.Guided(c.ctl) {
		return nil
	}
	page, err := c.run.Ground.parsed(rec.GetUrl())
	if err != nil {
		return err
	}
	parsed := &schemas.PageParsed{Id: rec.GetId(), Crawl: rec.GetCrawl(), Outcome: rec.GetOutcome(), Request: rec.GetRequest(), Page: page}
	rec.Judgement = proto.CloneOf(rec.GetJudgement()) // shared by all crawls of the ground
	if err := c.judge.Guide(ctx, c.ctl, parsed, rec.Judgement); err != nil {
		return fmt.Errorf("judge %s: %w", rec.GetUrl(), err)
	}
	backlink.Join(rec)
	return nil
}

// PositivesOnly is the critic that learns from half of the examples of the focus, and takes up to 1,000 pages that do not count for
// pages of unknown topic.
const PositivesOnly, backgroundPages = "positives-only", 1000

// KnowCritic returns an error if a name is none of a critic: a method of package critic, PositivesOnly, or one of package labelcritic.
func KnowCritic(name string) error {
	if slices.Contains(critic.Methods, critic.Method(name)) || name == PositivesOnly {
		return nil
	}
	if _, err := labelcritic.Parse(name); err != nil {
		return fmt.Errorf("%w, nor one of %s, %s", err, strings.Join(critic.MethodNames(), ", "), PositivesOnly)
	}
	return nil
}

// learntCritic has what a critic of a web depends on.
type learntCritic struct {
	set    string
	method critic.Method
}

// Under returns the ground under another critic (KnowCritic), made once until the crawls of the task end; "" is that of the task file.
func (g *Ground) Under(ctx context.Context, name string) (*Ground, error) {
	if name == "" {
		return g, nil
	}
	made, _ := g.under.LoadOrStore(name, sync.OnceValues(func() (*Ground, error) {
		other, err := For(g, g.task)
		if err == nil {
			err = other.heed(ctx, name)
		}
		if err != nil {
			return nil, fmt.Errorf("critic %s: %w", name, err)
		}
		return other, nil
	}))
	return made.(func() (*Ground, error))()
}

// heed makes another critic that of a ground.
func (g *Ground) heed(ctx context.Context, name string) error {
	version, method := nameUnder(g.task.Critic, name), critic.Method(name)
	switch {
	case method == cmp.Or(g.set.Method, critic.Bayes):
		return nil
	case name == PositivesOnly:
		by, err := fromPositives(ctx, g)
		if err != nil {
			return err
		}
		return g.judgeBy(by, version)
	case slices.Contains(critic.Methods, method):
		set := *g.set
		set.Method = method
		made, _ := g.web.critics.LoadOrStore(learntCritic{g.task.Critic, method}, sync.OnceValues(func() (*critic.Model, error) {
			return g.web.trainCritic(ctx, &set, g.dir)
		}))
		var err error
		if g.model, err = made.(func() (*critic.Model, error))(); err != nil {
			return err
		}
		return g.judgeBy(g.model, version)
	}
	rates, err := labelcritic.Parse(name)
	if err != nil {
		return err
	}
	wanted, pages := func(url string) bool { return g.task.Wants(g.web.labels[url]) }, g.delivered()
	n := 0.
	for _, u := range pages {
		if wanted(u) {
			n++
		}
	}
	return g.judgeBy(labelcritic.New(g.task.FocusClass, wanted, n/float64(max(1, len(pages))), rates), version)
}

// judgeBy sets the classifier that judges pages.
func (g *Ground) judgeBy(by critic.Classifier, version string) error {
	weights, err := critic.Weigh(by, taxonomy.Marking{Good: []string{g.task.FocusClass}})
	if err != nil {
		return fmt.Errorf("task %s: %w", g.task.Name, err)
	}
	g.critic = judging.Critic{Classifier: by, Version: version, Weights: weights}
	return nil
}

// fromPositives trains PositivesOnly.
func fromPositives(ctx context.Context, g *Ground) (critic.Classifier, error) {
	byHash := func(a, b string) int {
		return cmp.Or(cmp.Compare(xxhash.Sum64String(a), xxhash.Sum64String(b)), cmp.Compare(a, b))
	}
	pages, likes := g.notCounted(), slices.SortedFunc(slices.Values(g.set.Examples[g.task.FocusClass]), byHash)
	slices.SortFunc(pages, func(a, b *page) int { return byHash(a.url, b.url) })
	e := new(pulearning.Examples)
	for _, raw := range likes[:(len(likes)+1)/2] {
		d, err := document(g.web.example(raw))
		if err != nil {
			return nil, err
		}
		e.Liked = append(e.Liked, d)
	}
	for _, p := range pages[:min(backgroundPages, len(pages))] {
		d, err := document(p)
		if err != nil {
			return nil, err
		}
		e.Background = append(e.Background, d)
	}
	by, _, err := pulearning.Train(ctx, g.task.FocusClass, e, nil)
	return by, err
}

// document returns a page as package pulearning counts it.
func document(p *page) (pulearning.Document, error) {
	parsed, err := p.parsed()
	if err != nil {
		return pulearning.Document{}, err
	}
	words := make([]string, 0, len(parsed.GetTokens()))
	for _, t := range parsed.GetTokens() {
		words = append(words, parsed.GetTerms()[t])
	}
	return pulearning.Read(p.url, strings.Join(words, " ")), nil
}
