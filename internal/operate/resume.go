package operate

import (
	"context"
	"fmt"
	"strings"

	"forager/internal/frontier"
	"forager/internal/platform/pipeline"
	"forager/internal/stream"
	"forager/schemas"
)

// Resumption is what a crawl that is paused, was stopped or has finished is given, so that it continues.
type Resumption struct {
	Crawl string `json:"-"`
	// Pages and Requests are new budgets, in all; 0 = as before.
	Pages    uint64 `json:"pages,omitempty" doc:"New budget of pages, in all; 0 = as before."`
	Requests uint64 `json:"requests,omitempty" doc:"New budget of requests, in all; 0 = as before."`
	// RetryFailed tries URLs again whose tries were used up.
	RetryFailed bool `json:"retry_failed,omitempty" doc:"Try URLs again whose tries were used up."`
	// Seeds are canonical URLs.
	Seeds []string `json:"seeds,omitempty" maxItems:"1000" doc:"Further seeds."`
}

// Resume lets a crawl continue with what it is given, and returns its new control record and the positions of what was sent to it. seen is
// the revision from which the change was derived; 0 = that in force.
func (b *Topics) Resume(ctx context.Context, cfg *pipeline.Config, seen uint64, r Resumption) (*schemas.CrawlControl, []stream.Position, error) {
	from, err := b.begin(r.Crawl, seen)
	if err != nil {
		return nil, nil, err
	}
	if err := r.refuse(from.ctl, b.Status(r.Crawl)); err != nil {
		return nil, nil, err
	}
	if err := InScope(ctx, cfg, from.ctl, r.Seeds); err != nil {
		return nil, nil, err
	}
	next, err := b.updateFrom(ctx, from, func(next *schemas.CrawlControl) {
		next.State = schemas.CrawlState_CRAWL_STATE_RUNNING
		if r.Pages > 0 {
			next.Budget.Pages = r.Pages
		}
		if r.Requests > 0 {
			next.Budget.Requests = r.Requests
		}
	})
	if err != nil {
		return nil, nil, err
	}
	sent, err := r.send(ctx, b, next)
	return next, sent, err
}

// refuse is the reason why the crawl cannot continue with what was given.
func (c *Resumption) refuse(ctl *schemas.CrawlControl, st *schemas.CrawlStatus) error {
	old, reason := ctl.GetBudget(), st.GetEndReason()
	switch {
	case ctl.GetState() == schemas.CrawlState_CRAWL_STATE_STOPPED && !Ended(st):
		return refuseStopping(c.Crawl)
	case c.Pages > 0 && c.Pages < old.GetPages():
		return refusef("--pages %d is below the crawl's budget, %d: a budget is only raised", c.Pages, old.GetPages())
	case c.Requests > 0 && c.Requests < old.GetRequests():
		return refusef("--requests %d is below the crawl's budget, %d: a budget is only raised", c.Requests, old.GetRequests())
	case !Ended(st):
		return nil
	case strings.HasPrefix(reason, "refused: "):
		return refusef("crawl %q never ran (%s): start another crawl (forager crawl start)", c.Crawl, reason)
	}
	pages, requests := max(c.Pages, old.GetPages()), max(c.Requests, old.GetRequests())
	switch {
	case pages > 0 && st.GetPages() >= pages:
		return refusef("crawl %q has delivered %d pages, all of its budget: give it more with --pages", c.Crawl, st.GetPages())
	case requests > 0 && st.GetRequests() >= requests:
		return refusef("crawl %q was charged %d requests, all of its budget: give it more with --requests", c.Crawl, st.GetRequests())
	case (reason == frontier.EndEmpty || reason == frontier.EndStagnated || reason == frontier.EndUnreachable) && len(c.Seeds) == 0 && !c.RetryFailed:
		return refusef("crawl %q has finished (%s): give it further seeds, or --retry-failed", c.Crawl, reason)
	}
	return nil
}

// send sends the seeds and the requests to try again, and returns their positions.
func (c *Resumption) send(ctx context.Context, b *Topics, ctl *schemas.CrawlControl) (sent []stream.Position, err error) {
	if len(c.Seeds) > 0 {
		at, err := SendSeeds(ctx, b, c.Crawl, c.Seeds)
		if err != nil {
			return nil, err
		}
		sent = append(sent, at)
	}
	for shard := range schemas.ShardsOf(ctl) {
		if !c.RetryFailed {
			break
		}
		rec := schemas.RetryFailed(c.Crawl, shard, ctl.GetRevision())
		headers := map[string]string{schemas.HeaderCrawl: c.Crawl, schemas.HeaderShard: fmt.Sprint(shard)}
		at, err := b.Send(ctx, schemas.TopicLinkFound, schemas.ShardKey(c.Crawl, shard), headers, rec)
		if err != nil {
			return nil, fmt.Errorf("ask shard %d to try again: %w", shard, err)
		}
		sent = append(sent, at)
	}
	return sent, nil
}
