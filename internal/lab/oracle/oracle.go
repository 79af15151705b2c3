package oracle

import (
	"maps"
	"slices"

	"forager/internal/rank/policy"
)

// Web is what an oracle reads of a web. Pages are numbers; the slices have an element for each.
type Web struct {
	// Parents and Children of each page, ascending, without the page itself.
	Parents, Children [][]uint32
	Target            []bool
	// URLs that lead to each page, redirects included.
	URLs [][]string
	// Number returns the page that a URL leads to; false if there is none.
	Number func(url string) (uint32, bool)
}

// Oracle ranks the entries of one crawl.
type Oracle interface {
	policy.Ranker
	// Fetched records that a page was delivered, and returns the URLs whose scores may have changed, sorted.
	Fetched(page uint32) []string
}

// Any distance is less than far.
const (
	far       = 1 << 20
	seedScore = far + 1
)

// score returns the score of an entry whose page is wanted so much, in [0, far].
func (w *Web) score(v string, s *policy.Source, wanted func(page uint32) float64) float64 {
	if s.Seed {
		return seedScore
	}
	if n, ok := w.Number(v); ok {
		return wanted(n)
	}
	return 0
}

// urls returns the URLs of pages, sorted.
func (w *Web) urls(pages []uint32) (all []string) {
	for _, v := range pages {
		all = append(all, w.URLs[v]...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

type labels struct{ web *Web }

// Labels uses the labels of the frontier: targets first.
func Labels(w *Web) Oracle { return labels{w} }

func (o labels) Score(v string, s *policy.Source) float64 {
	return o.web.score(v, s, func(page uint32) float64 {
		if o.web.Target[page] {
			return far
		}
		return 0
	})
}

func (labels) Fetched(uint32) []string { return nil }

type paths struct {
	web *Web
	// distance by the number of a page, in hops through unvisited pages to the nearest unvisited target: unreachable for visited pages,
	// and if no target can be reached.
	distance []uint32
	visited  []bool
}

const unreachable = 1<<32 - 1

// Paths uses the whole web: the page with the shortest path to an unvisited target first.
func Paths(w *Web) Oracle {
	o := &paths{web: w, distance: make([]uint32, len(w.Target)), visited: make([]bool, len(w.Target))}
	var near levels
	for i := range o.distance {
		o.distance[i] = unreachable
		if w.Target[i] {
			near.add(0, uint32(i))
		}
	}
	o.settle(&near)
	return o
}

func (o *paths) Score(v string, s *policy.Source) float64 {
	return o.web.score(v, s, func(page uint32) float64 {
		if o.distance[page] == unreachable {
			return 0
		}
		return float64(far - int(o.distance[page]))
	})
}

// levels are pages by an upper bound of their new distance.
type levels [][]uint32

func (l *levels) add(distance, page uint32) {
	for uint32(len(*l)) <= distance {
		*l = append(*l, nil)
	}
	(*l)[distance] = append((*l)[distance], page)
}

// settle sets these distances, the smallest first, and then those of their parents.
func (o *paths) settle(near *levels) {
	for d := uint32(0); d < uint32(len(*near)); d++ {
		for k := 0; k < len((*near)[d]); k++ {
			v := (*near)[d][k]
			if o.distance[v] <= d {
				continue
			}
			o.distance[v] = d
			for _, u := range o.web.Parents[v] {
				if !o.visited[u] && o.distance[u] > d+1 {
					near.add(d+1, u)
				}
			}
		}
	}
}

// visit removes a page from the graph, and returns the pages whose distance changed. Distances only grow. A page keeps its
// distance while a child has one less; those that do not are found from the near to the far, and get new distances from the
// children that kept theirs (Ramalingam & Reps 1996).
func (o *paths) visit(v uint32) map[uint32]uint32 {
	old := make(map[uint32]uint32) // of pages without a distance for now
	lost := levels{}
	drop := func(w uint32) {
		d := o.distance[w]
		old[w], o.distance[w] = d, unreachable
		for _, u := range o.web.Parents[w] {
			if o.distance[u] == d+1 {
				lost.add(d+1, u)
			}
		}
	}
	o.visited[v] = true
	if o.distance[v] == unreachable {
		return nil
	}
	drop(v)
	for d := uint32(1); d < uint32(len(lost)); d++ {
		for _, w := range lost[d] {
			if o.distance[w] == d && !slices.ContainsFunc(o.web.Children[w], func(x uint32) bool { return o.distance[x] == d-1 }) {
				drop(w)
			}
		}
	}
	near := levels{}
	for w := range old {
		if o.visited[w] {
			continue
		}
		least := uint32(unreachable)
		for _, x := range o.web.Children[w] {
			least = min(least, o.distance[x])
		}
		if least != unreachable {
			near.add(least+1, w)
		}
	}
	o.settle(&near)
	return old
}

// Fetched implements Oracle. Distances only grow, so that a redirect with an old score is requested too early at most.
func (o *paths) Fetched(page uint32) []string {
	if o.visited[page] {
		return nil
	}
	return o.web.urls(slices.Collect(maps.Keys(o.visit(page))))
}

type hubs struct {
	web     *Web
	visited []bool
	fetched []uint32 // in order
	best    int      // the page whose links are followed; -1 = none
}

// Hubs uses the number of unvisited targets among the links of each fetched page, and not which they are. It follows the links of the
// page with the highest share of them, the page fetched first among equals.
func Hubs(w *Web) Oracle { return &hubs{web: w, visited: make([]bool, len(w.Target)), best: -1} }

func (o *hubs) Score(v string, s *policy.Source) float64 {
	return o.web.score(v, s, func(page uint32) float64 {
		if o.best >= 0 {
			if _, linked := slices.BinarySearch(o.web.Children[o.best], page); linked {
				return far
			}
		}
		return 0
	})
}

// value returns the share of targets among the links of a page to unvisited pages.
func (o *hubs) value(u uint32) float64 {
	var targets, left float64
	for _, v := range o.web.Children[u] {
		if !o.visited[v] {
			left++
			if o.web.Target[v] {
				targets++
			}
		}
	}
	return targets / max(1, left)
}

func (o *hubs) Fetched(page uint32) []string {
	if o.visited[page] {
		return nil
	}
	o.visited[page], o.fetched = true, append(o.fetched, page)
	before, most := o.best, 0.
	o.best = -1
	for _, f := range o.fetched {
		if value := o.value(f); value > most {
			o.best, most = int(f), value
		}
	}
	if o.best == before {
		return nil
	}
	var changed []uint32
	for _, at := range []int{before, o.best} {
		if at >= 0 {
			changed = append(changed, o.web.Children[at]...)
		}
	}
	return o.web.urls(changed)
}
