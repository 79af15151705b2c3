package experiment

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
)

// Ways to choose the seeds of crawls, the same for all rankers.
const (
	// StartsGiven are the seeds of the task file.
	StartsGiven = "given"
	// StartsFresh are drawn from the pages with the most links that are in no draw of the task file, so that they share no seed with draws
	// on which rankers were tuned.
	StartsFresh = "fresh"
	// StartsHome is the home page: the seed of all draws of the task or, without one, the page with the most in-links.
	StartsHome = "home"
	// StartsJunk are the home page and pages with the most links of those that do not link to a target.
	StartsJunk = "junk"
	// StartsFar are drawn from the pages farthest from a target.
	StartsFar = "far"
	// StartsExamples are examples of the focus that the critic was trained on.
	StartsExamples = "examples"
)

// Starts lists all of them.
var Starts = []string{StartsGiven, StartsFresh, StartsHome, StartsJunk, StartsFar, StartsExamples}

// topPages is the number of pages with the most links that seeds are drawn from, as in the task files.
const topPages = 30

// Start returns the seeds of a draw that are chosen in one of the ways of Starts: as many as the draws of the task have, of StartsHome one.
// The error is one of a web that has too few such pages. Seeds are no targets and, but for examples, no pages that trained the critic.
func Start(g *Environment, way string, draw int) ([]string, error) {
	if way == StartsGiven {
		return g.task.Seeds[draw], nil
	}
	links, err := g.linked()
	if err != nil {
		return nil, err
	}
	n, front := len(g.task.Seeds[0]), home(g, links)
	var pool []string
	for _, u := range g.delivered() {
		if g.counted(u) && !g.targets[u] && u != front {
			pool = append(pool, u)
		}
	}
	top := func(pool []string) []string {
		slices.SortStableFunc(pool, func(a, b string) int {
			return cmp.Compare(len(links.children[g.number[b]]), len(links.children[g.number[a]]))
		})
		return pool[:min(topPages, len(pool))]
	}
	switch way {
	case StartsHome:
		return []string{front}, nil
	case StartsFresh:
		known := seedPages(g, slices.Concat(g.task.Seeds...))
		pool = top(slices.DeleteFunc(pool, func(u string) bool { return known[u] }))
	case StartsJunk:
		pool = top(slices.DeleteFunc(pool, func(u string) bool {
			return slices.ContainsFunc(links.children[g.number[u]], func(v uint32) bool { return g.targets[g.urls[v]] })
		}))
	case StartsFar:
		distances, err := g.Distances()
		if err != nil {
			return nil, err
		}
		pool = slices.DeleteFunc(pool, func(u string) bool { _, reaches := distances[u]; return !reaches })
		slices.SortStableFunc(pool, func(a, b string) int { return cmp.Compare(distances[b], distances[a]) })
		if len(pool) >= n {
			least := distances[pool[n-1]]
			pool = slices.DeleteFunc(pool, func(u string) bool { return distances[u] < least })
		}
	case StartsExamples:
		pool = slices.DeleteFunc(g.delivered(), func(u string) bool { return g.counted(u) || !g.task.IsTarget(g.web.labels[u]) })
	default:
		return nil, fmt.Errorf("starts %q are none of %v", way, Starts)
	}
	seeds := drawn(pool, draw)
	if way == StartsJunk {
		seeds = append([]string{front}, seeds...)
	}
	if len(seeds) < n {
		return nil, fmt.Errorf("task %s has %d pages for starts %s, not %d", g.task.Name, len(seeds), way, n)
	}
	return seeds[:n], nil
}

// drawn returns pages in an order of the draw.
func drawn(pages []string, draw int) []string {
	pages = slices.Clone(pages)
	r := rand.New(rand.NewPCG(1999, uint64(draw)))
	r.Shuffle(len(pages), func(i, j int) { pages[i], pages[j] = pages[j], pages[i] })
	return pages
}

// seedPages returns the pages in scope that seeds lead to.
func seedPages(g *Environment, seeds []string) map[string]bool {
	all := make(map[string]bool)
	if urls, err := canonical(seeds); err == nil {
		for _, u := range urls {
			all[g.resolve(u)] = true
		}
	}
	delete(all, "")
	return all
}

// home returns the home page.
func home(g *Environment, links *graph) string {
	common := seedPages(g, g.task.Seeds[0])
	for _, seeds := range g.task.Seeds {
		has := seedPages(g, seeds)
		maps.DeleteFunc(common, func(u string, _ bool) bool { return !has[u] })
	}
	if len(common) > 0 && len(g.task.Seeds) > 1 {
		return slices.Min(slices.Collect(maps.Keys(common)))
	}
	return slices.MaxFunc(g.delivered(), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(links.parents[g.number[a]]), len(links.parents[g.number[b]])), cmp.Compare(b, a))
	})
}
