package experiment

import (
	"context"

	"google.golang.org/protobuf/proto"

	"forager/internal/judging"
	"forager/schemas"
)

// Verdict returns the verdict of the stages on a page in scope, without a request: its judgement, its links and the table
// of their features; nil for any other URL. It must not be changed.
func (g *Environment) Verdict(ctx context.Context, url string) (*schemas.LinkFound, error) {
	v, err := g.judged(ctx, url, judging.Fields{})
	if v == nil || err != nil {
		return nil, err
	}
	x, err := g.extraction(v, g.settings)
	if err != nil {
		return nil, err
	}
	rec := proto.CloneOf(v.rec)
	rec.Links, rec.Table, rec.Cut = x.links, x.table, rec.Cut || x.cut
	return rec, nil
}

// Resolve follows redirects inside the web to a page in scope; "" if there is none.
func (g *Environment) Resolve(url string) string { return g.resolve(url) }

// Distances returns the hops from pages in scope to the nearest target, through pages in scope; pages from which none can
// be reached are missing. Computed webs have none.
func (g *Environment) Distances() (map[string]int, error) {
	links, err := g.linked()
	if err != nil {
		return nil, err
	}
	hops := make(map[string]int)
	for _, t := range g.targetList {
		hops[t] = 0
	}
	for level, next := g.targetList, []string(nil); len(level) > 0; level, next = next, nil {
		for _, u := range level {
			for _, parent := range links.parents[g.number[u]] {
				p := g.urls[parent]
				if _, known := hops[p]; !known {
					hops[p] = hops[u] + 1
					next = append(next, p)
				}
			}
		}
	}
	return hops, nil
}

// Samples returns the number of targets among the training pages of rankers, 0 if there are none.
func (g *Environment) Samples() int {
	l, err := learn(g)
	if err != nil {
		return 0
	}
	return len(l.Targets)
}
