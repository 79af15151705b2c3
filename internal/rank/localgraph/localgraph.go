package localgraph

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
)

// Settings of a graph.
type Settings struct {
	// Depth is N, the number of layers above layer 0; at least 1.
	Depth int
	// Cap is the largest number of pages of a layer of one target's graph; at least 1.
	Cap int
	// Seed of the samples.
	Seed uint64
}

// Default settings (2000 §4).
var Default = Settings{Depth: 4, Cap: 300}

// Member is a page of a layer.
type Member struct {
	Page uint32
	// Copies is the number of its links into the layer below, over the graphs of all targets; 1 for a target.
	Copies int
}

// Graph is the merged graph of all targets.
type Graph struct {
	// Layers[i] are the pages i clicks from a target, 0 ≤ i ≤ Depth, ascending by page; outer
	// layers may be empty.
	Layers [][]Member
	// Sampled is the number of layers of single graphs that were cut to Settings.Cap.
	Sampled int
}

// Parents finds the pages that link to each of some pages, each once; the result of is valid for these pages. Build calls
// it once for each layer, so that a file of links can be read once a layer and need not fit in memory.
type Parents func(pages []uint32) (of func(page uint32) []uint32, err error)

// Known returns Parents for links that are all known.
func Known(of func(page uint32) []uint32) Parents {
	return func([]uint32) (func(uint32) []uint32, error) { return of, nil }
}

// Build makes the graph of targets, which must be distinct. It returns an error of parents.
func Build(targets []uint32, parents Parents, s Settings) (*Graph, error) {
	if s.Depth < 1 || s.Cap < 1 {
		return nil, fmt.Errorf("a local graph has depth %d and cap %d; want at least 1 of each", s.Depth, s.Cap)
	}
	if len(targets) == 0 {
		return nil, errors.New("a local graph needs targets; there are none")
	}
	single := make([]*targetGraph, len(targets))
	for i, t := range targets {
		single[i] = &targetGraph{target: t, seen: map[uint32]bool{t: true}, layer: []Member{{t, 1}}}
	}
	g := &Graph{}
	for i := range s.Depth + 1 {
		merged := make(map[uint32]int)
		for _, a := range single {
			for _, m := range a.layer {
				merged[m.Page] += m.Copies
			}
		}
		g.Layers = append(g.Layers, members(merged))
		if i == s.Depth || len(merged) == 0 {
			continue
		}
		of, err := parents(slices.Sorted(maps.Keys(merged)))
		if err != nil {
			return nil, fmt.Errorf("links to layer %d: %w", i, err)
		}
		for _, a := range single {
			if a.outward(of, i, s) {
				g.Sampled++
			}
		}
	}
	return g, nil
}

// targetGraph is the graph of one target during Build.
type targetGraph struct {
	target uint32
	seen   map[uint32]bool // pages whose distance is known
	layer  []Member        // the outermost layer
}

// outward builds the layer after layer i; cut reports whether only a sample of it was kept.
func (a *targetGraph) outward(of func(uint32) []uint32, i int, s Settings) (cut bool) {
	copies := make(map[uint32]int)
	for _, m := range a.layer {
		for _, p := range of(m.Page) {
			if !a.seen[p] {
				copies[p]++
			}
		}
	}
	a.layer = members(copies)
	for _, m := range a.layer {
		a.seen[m.Page] = true // also for pages that the sample omits
	}
	if len(a.layer) <= s.Cap {
		return false
	}
	a.layer = sample(a.layer, s.Cap, rand.New(rand.NewPCG(s.Seed, uint64(a.target)<<8|uint64(i))))
	return true
}

// members sorts a layer by page.
func members(copies map[uint32]int) []Member {
	layer := make([]Member, 0, len(copies))
	for _, p := range slices.Sorted(maps.Keys(copies)) {
		layer = append(layer, Member{p, copies[p]})
	}
	return layer
}

// sample keeps n members, sorted as they were.
func sample(layer []Member, n int, r *rand.Rand) []Member {
	r.Shuffle(len(layer), func(i, j int) { layer[i], layer[j] = layer[j], layer[i] })
	layer = layer[:n]
	slices.SortFunc(layer, func(a, b Member) int { return cmp.Compare(a.Page, b.Page) })
	return layer
}

// Lowest returns the lowest layer of every page of the graph: its state in 2008.
func (g *Graph) Lowest() map[uint32]int {
	lowest := make(map[uint32]int)
	for i, layer := range g.Layers {
		for _, m := range layer {
			if _, ok := lowest[m.Page]; !ok {
				lowest[m.Page] = i
			}
		}
	}
	return lowest
}
