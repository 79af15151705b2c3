package experiment

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/proto"

	"forager/internal/crawl/crawlfile"
	"forager/internal/frontier/schedule"
	"forager/internal/rank/contextretrain"
	"forager/schemas"
)

const (
	// rebuildShare: new graphs are built after each 1/rebuildShare of a budget.
	rebuildShare = 4
	// bootstrapTargets is the number of targets needed for the first graphs: those of 2000 §4 had around ten.
	bootstrapTargets = 10
)

// rebuilt is a context graph with new graphs around the targets that the crawl finds (2000 §3.3, rebuild_every).
func rebuilt(ctx context.Context, r *Run, p preparation) error {
	if err := layered(ctx, r, p); err != nil {
		return err
	}
	return p.renew(r, &schemas.Renewal{Every: max(1, r.Environment.task.Budget/rebuildShare)})
}

// bootstrapped is breadth first until it has found enough targets, and then follows graphs of its own links (2000 §5).
func bootstrapped(_ context.Context, r *Run, p preparation) error {
	blind, err := crawlfile.Rank("unfocused")
	if err != nil {
		return err
	}
	p.policy.Ranker, p.policy.Guide = schemas.Ranker_RANKER_GUIDE, ""
	if err := p.renew(r, &schemas.Renewal{Bootstrap: bootstrapTargets}); err != nil {
		return err
	}
	proto.Reset(p.policy)
	proto.Merge(p.policy, blind.Policies[0])
	p.policy.Name = p.name
	return nil
}

// renew has a run train the guide of its policy again.
func (p preparation) renew(r *Run, renewal *schemas.Renewal) error {
	if r.Renewal != nil {
		return fmt.Errorf("%s is the second ranker of a crawl that trains its guide again; a crawl has one", p.name)
	}
	r.Renewal, renewal.Then = renewal, proto.CloneOf(p.policy)
	renewal.Then.Guide = ""
	return nil
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
