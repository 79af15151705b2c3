package experiment

import (
	"cmp"
	"context"
	"slices"

	"github.com/cespare/xxhash/v2"

	"forager/internal/rank/pageguide"
	"forager/schemas"
)

// engine simulates the search engine of 2000 §3.3: the whole edge table of the pages in scope, of which its index has a
// share. It returns the parents of a page in a pseudo-random order.
type engine struct {
	env *Environment
	// coverage is the share of pages that are in the index, (0,1].
	coverage float64
}

// Parents returns the pages of the index that link to a page; the caller takes the first backlink.Most.
func (e engine) Parents(_ context.Context, url string) ([]string, error) {
	links, err := e.env.linked()
	if err != nil {
		return nil, err
	}
	var indexed []string
	if v, ok := e.env.number[url]; ok {
		for _, u := range links.parents[v] {
			u := e.env.urls[u]
			if float64(xxhash.Sum64String("index "+u)>>11)/(1<<53) < e.coverage { // the same pages for all crawls
				indexed = append(indexed, u)
			}
		}
	}
	slices.SortFunc(indexed, func(a, b string) int {
		return cmp.Or(cmp.Compare(xxhash.Sum64String(url+" "+a), xxhash.Sum64String(url+" "+b)), cmp.Compare(a, b))
	})
	return indexed, nil
}

// rationShare is the share of a budget that may be spent on queries, unless a Variant has another one.
const rationShare = .1

// ration returns the number of queries for a share of the budget.
func (g *Environment) ration(share float64) uint64 {
	return max(1, uint64(share*float64(g.task.Budget)))
}

// asking prepares a context graph that queries an index of some coverage for the parents of targets.
func asking(coverage float64) func(context.Context, *Run, preparation) error {
	return func(ctx context.Context, r *Run, p preparation) error {
		r.Backlinks, r.Ration = engine{r.Environment, coverage}, r.Environment.ration(rationShare)
		return layered(ctx, r, p)
	}
}

// layered makes a run rank by the guide of context-graph.
func layered(ctx context.Context, r *Run, p preparation) error {
	t, err := r.Environment.guide(ctx, "context-graph", fromGraph(pageguide.ContextGraph))
	if err != nil {
		return err
	}
	p.follow(r, t)
	return nil
}

// byPages makes a run order pages.
func byPages(prepare func(context.Context, *Run, preparation) error) func(context.Context, *Run, preparation) error {
	return func(ctx context.Context, r *Run, p preparation) error {
		p.policy.Expand = schemas.Expand_EXPAND_PAGE
		return prepare(ctx, r, p)
	}
}
