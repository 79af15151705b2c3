package localgraph

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
)

// Settings of a graph.
type Settings struct {
	// Depth is N, the number of layers behind layer 0; at least 1.
	Depth int
	// Cap is the number of pages of a layer of one target's graph at most; at least 1.
	Cap int
	// Seed of the samples.
	Seed uint64
}

// Default settings (2000 §4).
var Default = Settings{Depth: 4, Cap: 300}

// Member is a page of a layer.
type Member struct {
	Page uint32
	// Copies is the number of its links into the layer below, over the graphs of all targets; of a
	// target 1.
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

// Build makes the graph of targets, which are distinct. parents returns the pages that link to a
// page, each once.
func Build(targets []uint32, parents func(page uint32) []uint32, s Settings) (*Graph, error) {
	if s.Depth < 1 || s.Cap < 1 {
		return nil, fmt.Errorf("a local graph has depth %d and cap %d; want at least 1 of each", s.Depth, s.Cap)
	}
	if len(targets) == 0 {
		return nil, fmt.Errorf("a local graph wants targets; there are none")
	}
	merged := make([]map[uint32]int, s.Depth+1)
	for i := range merged {
		merged[i] = make(map[uint32]int)
	}
	g := &Graph{}
	for _, t := range targets {
		layers, sampled := around(t, parents, s)
		g.Sampled += sampled
		for i, layer := range layers {
			for _, m := range layer {
				merged[i][m.Page] += m.Copies
			}
		}
	}
	for _, layer := range merged {
		g.Layers = append(g.Layers, members(layer))
	}
	return g, nil
}

// around is the graph of one target, and how many of its layers were cut.
func around(target uint32, parents func(uint32) []uint32, s Settings) (layers [][]Member, sampled int) {
	seen := map[uint32]bool{target: true}
	layers = append(layers, []Member{{target, 1}})
	for i := range s.Depth {
		copies := make(map[uint32]int)
		for _, m := range layers[i] {
			for _, p := range parents(m.Page) {
				if !seen[p] {
					copies[p]++
				}
			}
		}
		next := members(copies)
		for _, m := range next {
			seen[m.Page] = true // what is not kept has this distance, too
		}
		if len(next) > s.Cap {
			next = sample(next, s.Cap, rand.New(rand.NewPCG(s.Seed, uint64(target)<<8|uint64(i))))
			sampled++
		}
		if len(next) == 0 {
			break
		}
		layers = append(layers, next)
	}
	return layers, sampled
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
