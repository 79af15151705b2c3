package operate

import (
	"context"
	"net/http"
	"net/url"
	"slices"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"forager/internal/crawl/crawlfile"
	"forager/internal/frontier/why"
	"forager/internal/platform/registry"
	"forager/schemas"
)

// Change is what changed, or would change, in the settings of a crawl.
type Change struct {
	Crawl string `json:"crawl"`
	// Revision of the control record in force afterwards.
	Revision    uint64                 `json:"revision"`
	DryRun      bool                   `json:"dry_run"`
	Differences []crawlfile.Difference `json:"differences"`
	// Excludes is what other exclude rules would do to the URLs that are not visited; nil unless Preview has counted that. Moved has, as
	// removed ones, the queued URLs of hosts that get another priority or lose it. Uncounted is why they could not be counted.
	Excludes  *why.Effect `json:"excludes,omitempty"`
	Moved     *why.Effect `json:"moved,omitempty"`
	Uncounted string      `json:"uncounted,omitempty"`

	before, after *schemas.CrawlControl
}

// Change changes settings of a crawl: those in which compare, a function of package crawlfile, finds a difference from the control record
// in force. If one of them cannot change, nothing is changed, and the error names it; with dryRun nothing is changed in any case, and the
// result has the reasons. seen is the revision from which the change was derived; 0 = that in force.
func (b *Topics) Change(
	ctx context.Context, store registry.Store, crawl string, seen uint64, dryRun bool, compare func(*schemas.CrawlControl) (*crawlfile.Changed, error),
) (*Change, error) {
	from, err := b.begin(crawl, seen)
	if err != nil {
		return nil, err
	}
	changed, err := compare(from.ctl)
	if err != nil {
		return nil, err
	}
	x := &Change{Crawl: crawl, Revision: from.ctl.GetRevision(), DryRun: dryRun, Differences: changed.Differences, before: from.ctl, after: changed.Control}
	switch err := changed.Refused(); {
	case err != nil && dryRun:
		return x, nil
	case err != nil:
		return nil, refusal(err)
	case proto.Equal(changed.Control, from.ctl):
		return x, nil
	case from.ctl.GetState() == schemas.CrawlState_CRAWL_STATE_STOPPED:
		return nil, refusef("crawl %q was stopped; resume it first (forager crawl resume)", crawl)
	}
	if from.ctl.GetCritic() == "" && changed.Has("critic", "focus", "weights", "bad", "forms", "shadows") {
		return nil, refuseFetching(crawl)
	}
	if dryRun {
		err = Settle(ctx, b, store, from.ctl, changed.Control)
	} else {
		from.ctl, err = b.follow(ctx, store, from, changed.Control)
	}
	if err != nil {
		return nil, err
	}
	x.Revision, x.Differences = from.ctl.GetRevision(), crawlfile.Between(x.before, changed.Control) // names have become versions
	return x, nil
}

// Preview adds to a change that was not made what its exclude rules would do, and how many URLs its priorities of hosts concern.
func (x Explainer) Preview(ctx context.Context, c *Change) {
	if !c.DryRun {
		return
	}
	var err error
	if !proto.Equal(c.before.GetExcludes(), c.after.GetExcludes()) {
		c.Excludes, err = x.effect(ctx, c, c.after.GetExcludes())
	}
	if moved := reordered(c.before.GetPriority(), c.after.GetPriority()); err == nil && len(moved) > 0 {
		rules := new(schemas.Excludes)
		proto.Merge(rules, c.before.GetExcludes())
		rules.Domains = append(rules.Domains, moved...)
		c.Moved, err = x.effect(ctx, c, rules)
	}
	if err != nil {
		c.Uncounted = err.Error()
	}
}

// reordered are the domains that are in one of the lists before or after a change, and not in the same one in both.
func reordered(before, after *schemas.HostPriority) (moved []string) {
	for _, lists := range [][2][]string{{before.GetFirst(), after.GetFirst()}, {before.GetLast(), after.GetLast()}} {
		for i, list := range lists {
			for _, domain := range list {
				if !slices.Contains(lists[1-i], domain) && !slices.Contains(moved, domain) {
					moved = append(moved, domain)
				}
			}
		}
	}
	return moved
}

// effect asks the replicas of prioritize what exclude rules would do to the URLs of a crawl.
func (x Explainer) effect(ctx context.Context, c *Change, rules *schemas.Excludes) (*why.Effect, error) {
	encoded, err := protojson.Marshal(rules)
	if err != nil {
		return nil, err
	}
	total := &why.Effect{Exact: true, Best: []why.Ranked{}}
	if err := askShards(ctx, x, c.before, http.MethodPost, why.ExcludesPath, url.Values{"excludes": {string(encoded)}}, total.Merge); err != nil {
		return nil, err
	}
	return total, nil
}
