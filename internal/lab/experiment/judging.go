package experiment

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"forager/internal/classify/critic"
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
	return &m.run.Environment.critic, nil
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
	page, err := c.run.Environment.parsed(rec.GetUrl())
	if err != nil {
		return err
	}
	parsed := &schemas.PageParsed{Id: rec.GetId(), Crawl: rec.GetCrawl(), Outcome: rec.GetOutcome(), Request: rec.GetRequest(), Page: page}
	rec.Judgement = proto.CloneOf(rec.GetJudgement()) // shared by all crawls of the environment
	if err := c.judge.Guide(ctx, c.ctl, parsed, rec.Judgement); err != nil {
		return fmt.Errorf("judge %s: %w", rec.GetUrl(), err)
	}
	backlink.Join(rec)
	return nil
}

// KnowCritic returns an error if a name is none of a critic: a method of package critic, or one of package labelcritic.
func KnowCritic(name string) error {
	if slices.Contains(critic.Methods, critic.Method(name)) || name == labelcritic.PositivesOnly {
		return nil
	}
	if _, err := labelcritic.Parse(name); err != nil {
		return fmt.Errorf("%w, nor one of %s, %s", err, strings.Join(critic.MethodNames(), ", "), labelcritic.PositivesOnly)
	}
	return nil
}

// learntCritic has what a critic of a web depends on.
type learntCritic struct {
	set    string
	method critic.Method
}

// Under returns the environment under another critic (KnowCritic), made once until the crawls of the task end; "" is that of the task file.
func (g *Environment) Under(ctx context.Context, name string) (*Environment, error) {
	if name == "" {
		return g, nil
	}
	return g.under.get(name, func() (*Environment, error) {
		other, err := For(g, g.task)
		if err == nil {
			err = other.judgeWith(ctx, name)
		}
		if err != nil {
			return nil, fmt.Errorf("critic %s: %w", name, err)
		}
		return other, nil
	})
}

// judgeWith makes another critic that of an environment.
func (g *Environment) judgeWith(ctx context.Context, name string) error {
	version, method := nameUnder(g.task.Critic, name), critic.Method(name)
	switch {
	case method == cmp.Or(g.set.Method, critic.Bayes):
		return nil
	case name == labelcritic.PositivesOnly:
		var others []string
		for _, p := range g.notCounted() {
			others = append(others, p.url)
		}
		by, err := labelcritic.FromPositives(ctx, g.task.FocusClass, g.set.Examples[g.task.FocusClass], others, func(url string) (*schemas.Page, error) {
			return g.web.example(url).parsed()
		})
		if err != nil {
			return err
		}
		return g.judgeBy(by, version)
	case slices.Contains(critic.Methods, method):
		set := *g.set
		set.Method = method
		model, err := g.web.critics.get(learntCritic{g.task.Critic, method}, func() (*critic.Model, error) {
			return g.web.trainCritic(ctx, &set, g.dir)
		})
		if err != nil {
			return err
		}
		g.model = model
		return g.judgeBy(g.model, version)
	}
	rates, err := labelcritic.Parse(name)
	if err != nil {
		return err
	}
	wanted, pages := func(url string) bool { return g.task.IsTarget(g.web.labels[url]) }, g.delivered()
	n := 0.
	for _, u := range pages {
		if wanted(u) {
			n++
		}
	}
	return g.judgeBy(labelcritic.New(g.task.FocusClass, wanted, n/float64(max(1, len(pages))), rates), version)
}

// judgeBy sets the classifier that judges pages.
func (g *Environment) judgeBy(by critic.Classifier, version string) error {
	weights, err := critic.Weigh(by, taxonomy.Marking{Good: []string{g.task.FocusClass}})
	if err != nil {
		return fmt.Errorf("task %s: %w", g.task.Name, err)
	}
	g.critic = judging.Critic{Classifier: by, Version: version, Weights: weights}
	return nil
}
