package experiment

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/proto"

	"forager/internal/rank/backlink"
	"forager/internal/rank/guide"
	"forager/schemas"
)

// guide adds the guidance of the guides of the crawl's policies to the verdict on a page, as critic-score does. A guide
// that fails ends the crawl: its result would not be one of the guide.
func (c *crawling) guide(request *schemas.FetchRequest, rec *schemas.LinkFound) error {
	versions := schemas.Guides(c.ctl)
	if len(versions) == 0 || rec.GetOutcome() != schemas.Outcome_OUTCOME_DELIVERED || len(rec.GetLinks()) == 0 && c.ctl.GetBacklinks() == nil {
		return nil
	}
	page, err := c.run.Ground.parsed(rec.GetUrl())
	if err != nil {
		return err
	}
	path, states, err := guide.Path(request.GetPathState())
	if err != nil {
		return err
	}
	judgement := proto.CloneOf(rec.GetJudgement()) // shared by all crawls of the ground
	for _, version := range versions {
		by, ok := c.guides[version]
		if !ok {
			return fmt.Errorf("no guide %s was given", version)
		}
		g, err := guide.Say(context.Background(), by, version, &guide.View{Page: page, Judgement: rec.GetJudgement(), State: states[version]})
		if err != nil {
			return fmt.Errorf("guide %s on %s: %w", version, rec.GetUrl(), err)
		}
		judgement.Guidance = append(judgement.Guidance, g)
	}
	if rec.Judgement = judgement; !backlink.Wanted(path, judgement) {
		return nil
	}
	if judgement.Backlinks, err = backlink.Ask(context.Background(), c.run.Backlinks, path.GetBacklinks(), rec.GetUrl()); err != nil {
		return fmt.Errorf("backlinks of %s: %w", rec.GetUrl(), err)
	}
	backlink.Join(rec)
	return nil
}
