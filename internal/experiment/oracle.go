package experiment

import (
	"slices"

	"forager/internal/frontier"
	"forager/internal/rank"
)

// Oracles fetch the seeds first, as all rankers do, and rank by R what they know nothing better
// of. Any distance is less than far.
const (
	far       = 1 << 20
	seedScore = far + 1
)

// labelOracle knows the labels of the frontier: targets first, else soft focus.
type labelOracle struct{ ground *Ground }

func (o labelOracle) Score(v string, s *rank.Source) float64 {
	switch {
	case s.Seed:
		return seedScore
	case o.ground.targets[o.ground.resolve(v)]:
		return far
	}
	return s.Raw
}

func (labelOracle) observe(*frontier.Shard, string) error { return nil }

// pathOracle knows the whole web. An entry's score falls with its distance, in hops through
// unvisited pages, to the nearest unvisited target.
type pathOracle struct {
	ground   *Ground
	distance map[string]int // of unvisited pages from which a target can be reached
	visited  map[string]bool
}

func newPathOracle(g *Ground) *pathOracle {
	o := &pathOracle{ground: g, visited: make(map[string]bool)}
	o.distance = o.distances()
	return o
}

func (o *pathOracle) Score(v string, s *rank.Source) float64 {
	if s.Seed {
		return seedScore
	}
	if d, ok := o.distance[o.ground.resolve(v)]; ok {
		return float64(far - d)
	}
	return s.Raw
}

// distances is a breadth-first search backwards from all unvisited targets.
func (o *pathOracle) distances() map[string]int {
	d := make(map[string]int, len(o.distance))
	var queue []string
	for _, t := range o.ground.targetList {
		if !o.visited[t] {
			d[t] = 0
			queue = append(queue, t)
		}
	}
	for len(queue) > 0 {
		v := queue[0]
		queue = queue[1:]
		for _, u := range o.ground.parents()[v] {
			if _, known := d[u]; !known && !o.visited[u] {
				d[u] = d[v] + 1
				queue = append(queue, u)
			}
		}
	}
	return d
}

// observe takes note of a fetched page and has the entries scored again whose distance changed.
// A redirect is no visit: its target is still to be fetched. URLs that redirect keep their
// scores: distances only grow, so these are asked too early at most, and that costs nothing.
func (o *pathOracle) observe(s *frontier.Shard, u string) error {
	if o.ground.resolve(u) != u || o.visited[u] {
		return nil
	}
	o.visited[u] = true
	old := o.distance
	o.distance = o.distances()
	var changed []string
	for v, d := range old {
		if now, ok := o.distance[v]; !ok || now != d {
			changed = append(changed, v)
		}
	}
	slices.Sort(changed)
	return s.Reconsider(changed...)
}
