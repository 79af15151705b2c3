package experiment

import (
	"context"
	"slices"

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
	var targets []uint32
	for _, t := range g.targetList {
		targets = append(targets, g.number[t])
	}
	hops := make(map[string]int)
	for n, d := range Hops(links.parents, targets) {
		if d >= 0 {
			hops[g.urls[n]] = d
		}
	}
	return hops, nil
}

// Hops returns the length of the shortest path to each node of a graph, given by the nodes that each leads to, from any of some nodes; −1 =
// there is none.
func Hops(next [][]uint32, from []uint32) []int {
	hops := make([]int, len(next))
	for n := range hops {
		hops[n] = -1
	}
	for _, n := range from {
		hops[n] = 0
	}
	for queue := slices.Clone(from); len(queue) > 0; queue = queue[1:] {
		for _, to := range next[queue[0]] {
			if hops[to] < 0 {
				hops[to] = hops[queue[0]] + 1
				queue = append(queue, to)
			}
		}
	}
	return hops
}

// Samples returns the number of targets among the training pages of rankers, 0 if there are none.
func (g *Environment) Samples() int {
	l, err := learn(g)
	if err != nil {
		return 0
	}
	return len(l.Targets)
}
