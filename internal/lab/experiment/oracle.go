package experiment

import (
	"slices"

	"forager/internal/frontier"
	"forager/internal/rank/policy"
)

// Oracles fetch the seeds first, as all rankers do, and take all pages without a score of their own in the order in which they were found: none
// reads R. Any distance is less than far.
const (
	far       = 1 << 20
	seedScore = far + 1
)

// labelOracle uses the labels of the frontier: targets first.
type labelOracle struct{ ground *Ground }

func (o labelOracle) Score(v string, s *policy.Source) float64 {
	switch {
	case s.Seed:
		return seedScore
	case o.ground.targets[o.ground.resolve(v)]:
		return far
	}
	return 0
}

func (labelOracle) observe(*frontier.Shard, string) error { return nil }

// pathOracle uses the whole web. The score of an entry falls with its distance, in hops through unvisited pages, to the
// nearest unvisited target.
type pathOracle struct {
	ground *Ground
	links  *graph
	// distance by the number of a page: unreachable for visited pages, and if no target can be reached.
	distance []uint32
	target   []bool // unvisited targets
	visited  []bool
}

const unreachable = 1<<32 - 1

func newPathOracle(g *Ground) (*pathOracle, error) {
	links, err := g.linked()
	if err != nil {
		return nil, err
	}
	o := &pathOracle{ground: g, links: links, distance: make([]uint32, len(g.urls)), target: make([]bool, len(g.urls)), visited: make([]bool, len(g.urls))}
	for i := range o.distance {
		o.distance[i] = unreachable
	}
	var near levels
	for _, t := range g.targetList {
		o.target[g.number[t]] = true
		near.add(0, g.number[t])
	}
	o.settle(&near)
	return o, nil
}

func (o *pathOracle) Score(v string, s *policy.Source) float64 {
	if s.Seed {
		return seedScore
	}
	if n, ok := o.ground.number[o.ground.resolve(v)]; ok && o.distance[n] != unreachable {
		return float64(far - int(o.distance[n]))
	}
	return 0
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
func (o *pathOracle) settle(near *levels) {
	for d := uint32(0); d < uint32(len(*near)); d++ {
		for k := 0; k < len((*near)[d]); k++ {
			v := (*near)[d][k]
			if o.distance[v] <= d {
				continue
			}
			o.distance[v] = d
			for _, u := range o.links.parents[v] {
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
func (o *pathOracle) visit(v uint32) map[uint32]uint32 {
	old := make(map[uint32]uint32) // of pages without a distance for now
	lost := levels{}
	drop := func(w uint32) {
		d := o.distance[w]
		old[w], o.distance[w] = d, unreachable
		for _, u := range o.links.parents[w] {
			if o.distance[u] == d+1 {
				lost.add(d+1, u)
			}
		}
	}
	o.visited[v], o.target[v] = true, false
	if o.distance[v] == unreachable {
		return nil
	}
	drop(v)
	for d := uint32(1); d < uint32(len(lost)); d++ {
		for _, w := range lost[d] {
			if o.distance[w] == d && !slices.ContainsFunc(o.links.children[w], func(x uint32) bool { return o.distance[x] == d-1 }) {
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
		for _, x := range o.links.children[w] {
			least = min(least, o.distance[x])
		}
		if least != unreachable {
			near.add(least+1, w)
		}
	}
	o.settle(&near)
	return old
}

// observe records a fetched page and has the entries scored again whose distance changed. A redirect is no visit: its
// target is still to be fetched. URLs that redirect keep their scores: distances only grow, so these are requested too
// early at most, which costs nothing.
func (o *pathOracle) observe(s *frontier.Shard, u string) error {
	n, ok := o.ground.number[u]
	if !ok || o.ground.resolve(u) != u || o.visited[n] {
		return nil
	}
	var changed []string
	for v := range o.visit(n) {
		changed = append(changed, o.ground.urls[v])
	}
	slices.Sort(changed)
	return s.Reconsider(changed...)
}

// hubOracle uses the number of targets among the links of each fetched page that are not fetched, and not which they are. It follows the links of
// the page with the highest share of them, the page fetched first among equals.
type hubOracle struct {
	ground  *Ground
	links   *graph
	aliases [][]string // URLs that lead to a page, by its number
	visited []bool
	fetched []uint32 // in order
	best    int      // the number of the page followed; -1 = none
}

func newHubOracle(g *Ground) (*hubOracle, error) {
	links, err := g.linked()
	if err != nil {
		return nil, err
	}
	o := &hubOracle{ground: g, links: links, aliases: make([][]string, len(g.urls)), visited: make([]bool, len(g.urls)), best: -1}
	for _, u := range g.urls {
		n := g.number[g.resolve(u)]
		o.aliases[n] = append(o.aliases[n], u)
	}
	return o, nil
}

func (o *hubOracle) Score(v string, s *policy.Source) float64 {
	if s.Seed {
		return seedScore
	}
	if n, ok := o.ground.number[o.ground.resolve(v)]; ok && o.best >= 0 {
		if _, linked := slices.BinarySearch(o.links.children[o.best], n); linked {
			return far
		}
	}
	return 0
}

// value returns the share of targets among the links of a page to pages that are not fetched.
func (o *hubOracle) value(u uint32) float64 {
	var targets, left float64
	for _, v := range o.links.children[u] {
		if !o.visited[v] {
			left++
			if o.ground.targets[o.ground.urls[v]] {
				targets++
			}
		}
	}
	return targets / max(1, left)
}

func (o *hubOracle) observe(s *frontier.Shard, u string) error {
	n, ok := o.ground.number[u]
	if !ok || o.ground.resolve(u) != u || o.visited[n] {
		return nil
	}
	o.visited[n], o.fetched = true, append(o.fetched, n)
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
	var changed []string
	for _, at := range []int{before, o.best} {
		if at < 0 {
			continue
		}
		for _, v := range o.links.children[at] {
			if !o.visited[v] {
				changed = append(changed, o.aliases[v]...)
			}
		}
	}
	slices.Sort(changed)
	return s.Reconsider(slices.Compact(changed)...)
}
