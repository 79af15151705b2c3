package experiment

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"forager/internal/lab/experiment/worldtest"
	"forager/internal/lab/taskfile"
	"forager/internal/rank/backlink"
)

// TestAnIndexHasItsShare: an engine shows parents that are in its index, the same ones in every index that has more.
func TestAnIndexHasItsShare(t *testing.T) {
	const pages = 4000
	p := &part{number: map[string]uint32{"http://web.test/t": pages}}
	links := &graph{parents: make([][]uint32, pages+1)}
	for i := range uint32(pages) {
		p.urls = append(p.urls, fmt.Sprintf("http://web.test/%d", i))
		links.parents[pages] = append(links.parents[pages], i)
	}
	p.linked = func() (*graph, error) { return links, nil }
	g := &Environment{part: p}
	before := make(map[string]bool)
	for _, coverage := range []float64{.2, .5, 1} {
		shown, err := (engine{g, coverage}).Parents(t.Context(), "http://web.test/t")
		if err != nil || math.Abs(float64(len(shown))/pages-coverage) > .03 {
			t.Errorf("an index of %v shows %d of %d, %v", coverage, len(shown), pages, err)
		}
		now := make(map[string]bool)
		for _, u := range shown {
			now[u] = true
		}
		for u := range before {
			if !now[u] {
				t.Fatalf("%s is not in an index of %v, but in a smaller one", u, coverage)
			}
		}
		before = now
		if slices.IsSorted(shown) {
			t.Error("the order of the answer is that of URLs")
		}
		result, err := backlink.Ask(t.Context(), engine{g, coverage}, "e", "http://web.test/t")
		if err != nil || len(result.GetParents()) != backlink.Most || !slices.Equal(result.GetParents(), shown[:backlink.Most]) {
			t.Errorf("asked for: %v, %v", result, err)
		}
	}
}

// TestARationIsThatOfTheVariant: a mite of it is one query, all of the budget is more; others are not charged.
func TestARationIsThatOfTheVariant(t *testing.T) {
	g := env(t, worldtest.Random(7, 60))
	b := &Bench{Tasks: []*taskfile.Task{g.task}, Draws: []int{0}, Environments: map[*taskfile.Task]*Environment{g.task: g}, Variants: []Variant{
		{Name: "mite", Ranker: "context-graph-backlinks", Ration: 1e-9}, {Name: "all", Ranker: "context-graph-backlinks", Ration: 1},
		{Name: "none", Ranker: "context-graph", Ration: 1},
	}}
	results, err := b.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	queries := func(r Result) int { return int(r.Requests) - r.Pages }
	if queries(results[0]) != 1 || queries(results[1]) < 3 || queries(results[2]) != 0 {
		t.Errorf("%d, %d, %d queries", queries(results[0]), queries(results[1]), queries(results[2]))
	}
}
