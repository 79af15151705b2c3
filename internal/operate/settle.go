package operate

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/proto"

	"forager/internal/crawl/crawlfile"
	"forager/internal/frontier"
	"forager/internal/platform/registry"
	"forager/internal/rank/apprentice"
	"forager/schemas"
)

// Settle makes the checks of a control record that a crawl file alone does not allow, for a crawl that begins and for every change of one:
// that prioritize will accept it, and that the critics, guides and sources that it names are published and fit. It replaces their names by
// versions. inForce is the record before; nil = the crawl begins. What is published is not read if nothing depends on it that differs, so
// that the budget of a crawl can change while the object store does not respond.
func Settle(ctx context.Context, b *Topics, store registry.Store, inForce, next *schemas.CrawlControl) error {
	if err := frontier.Check(next); err != nil {
		return refusal(fmt.Errorf("crawl %q: %w", next.GetCrawl(), err))
	}
	if inForce != nil && proto.Equal(readWith(inForce), readWith(next)) {
		return nil
	}
	if err := crawlfile.CheckRanking(next); err != nil {
		return refusal(err)
	}
	if next.GetCritic() != "" { // a crawl that only fetches has none
		if err := settleJudges(ctx, b, store, next); err != nil {
			return err
		}
	}
	if err := settleGuides(ctx, b, store, next); err != nil {
		return err
	}
	if err := readNoURLs(ctx, b, store, next); err != nil {
		return err
	}
	if v := next.GetLearning().GetPrior(); v != "" && inForce == nil {
		settings, err := apprentice.SettingsOf(next.GetLearning())
		if err != nil {
			return err
		}
		if _, err := Prior(ctx, b, store, next, v, settings); err != nil {
			return fmt.Errorf("learning.prior: %w", err)
		}
	}
	return nil
}

// readWith returns a control record without what no published model has to fit.
func readWith(ctl *schemas.CrawlControl) *schemas.CrawlControl {
	c := proto.CloneOf(ctl)
	c.Revision, c.State, c.CreatedAt, c.Restored = 0, 0, 0, nil
	c.Budget, c.Politeness, c.Excludes, c.Distiller = nil, nil, nil, nil
	c.Window, c.HostWindow, c.HostPatienceS = 0, 0, 0
	return c
}

// follow writes a control record that was derived from another one, if it differs from it and passes the checks. It returns the record
// that is in force then.
func (b *Topics) follow(ctx context.Context, store registry.Store, from origin, next *schemas.CrawlControl) (*schemas.CrawlControl, error) {
	if err := Settle(ctx, b, store, from.ctl, next); err != nil {
		return nil, err
	}
	if proto.Equal(next, from.ctl) {
		return from.ctl, nil
	}
	return b.UpdateTo(ctx, next, from.offset)
}
