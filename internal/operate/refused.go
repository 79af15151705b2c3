package operate

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"forager/internal/frontier/why"
	"forager/internal/platform/analytics"
	"forager/internal/web/weburl"
	"forager/schemas"
)

// RefusedLink is the outcome of a Refusal.
const RefusedLink = "refused-link"

// Refusal is a URL that a page of a crawl leads to, and that a rule keeps from being requested.
type Refusal struct {
	URL     string `json:"url"`
	Outcome string `json:"outcome"`
	why.Refusal
	// Via is the page nearest to a seed that leads to it; empty for a list of seeds.
	Via string `json:"via,omitempty"`
}

// A question about several URLs has at most so many, with so many bytes.
const mostTargets, mostTargetBytes = 1000, 256 << 10

// Refused calls f with the refused URLs of a crawl that were never requested, sorted, as Why decides about each of them. The links come
// from ClickHouse.
func (x Explainer) Refused(ctx context.Context, crawl string, f func(*Refusal) error) error {
	ctl, err := x.Topics.Control(crawl)
	if err != nil {
		return err
	}
	var batch []analytics.Target
	size := 0
	decide := func() error {
		refusals, err := x.refusals(ctx, ctl, batch)
		for i, r := range refusals {
			if r != nil && err == nil {
				err = f(&Refusal{URL: batch[i].URL, Outcome: RefusedLink, Refusal: *r, Via: batch[i].Via})
			}
		}
		batch, size = batch[:0], 0
		return err
	}
	err = analytics.Trail{DB: x.DB, Crawl: crawl}.Targets(ctx, func(t *analytics.Target) error {
		batch, size = append(batch, *t), size+len(t.URL)
		if len(batch) == mostTargets || size >= mostTargetBytes {
			return decide()
		}
		return ctx.Err()
	})
	if err != nil {
		return err
	}
	return decide()
}

// refusals asks the replicas of prioritize about targets, and returns a refusal or nil for each.
func (x Explainer) refusals(ctx context.Context, ctl *schemas.CrawlControl, targets []analytics.Target) ([]*why.Refusal, error) {
	forms, at := make(map[uint32]url.Values), make(map[uint32][]int)
	for i, t := range targets {
		shard := schemas.ShardOf(weburl.Host(t.URL), schemas.ShardsOf(ctl))
		if forms[shard] == nil {
			forms[shard] = url.Values{"crawl": {ctl.GetCrawl()}}
		}
		forms[shard].Add("url", t.URL)
		forms[shard].Add("depth", strconv.FormatUint(uint64(t.Depth), 10))
		at[shard] = append(at[shard], i)
	}
	all := make([]*why.Refusal, len(targets))
	for shard, form := range forms {
		var of []*why.Refusal
		if err := x.askReplicas(ctx, ctl.GetCrawl(), http.MethodPost, why.RefusedPath, form, &of); err != nil {
			return nil, err
		}
		if len(of) != len(at[shard]) {
			return nil, fmt.Errorf("prioritize decided about %d of %d URLs of crawl %s", len(of), len(at[shard]), ctl.GetCrawl())
		}
		for i, r := range of {
			all[at[shard][i]] = r
		}
	}
	return all, nil
}
