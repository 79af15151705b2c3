package experiment

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/proto"

	"forager/internal/judging"
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
