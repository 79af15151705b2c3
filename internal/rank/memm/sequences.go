package memm

import (
	"fmt"
	"math/rand/v2"

	"forager/internal/rank/localgraph"
)

// Walks are the settings for sampling training sequences.
type Walks struct {
	// Number of sequences, and the largest number of tries for each.
	Number, Tries int
	// Shortest and Longest bound the length in pages, which is drawn uniformly.
	Shortest, Longest int
	// Seed of the sampling.
	Seed uint64
}

// DefaultWalks are those of 2008 §3.2 (it had 4,368 to 12,928 sequences).
var DefaultWalks = Walks{Number: 10_000, Tries: 20, Shortest: 2, Longest: 10}

// Step is a page of a walk and its state, its lowest layer.
type Step struct {
	Page  uint32
	State int
}

// Sample draws walks towards the targets of a graph. Each begins at a random page of the outermost layer that has one, and
// steps to a random child, not yet visited, in the same layer or a lower one, until its length is reached or there is none.
// Walks of fewer than Shortest pages are drawn again; too few pages for any are an error. children returns the pages that a
// page links to.
func Sample(g *localgraph.Graph, children func(page uint32) []uint32, w Walks) ([][]Step, error) {
	if w.Number < 1 || w.Tries < 1 || w.Shortest < 1 || w.Longest < w.Shortest {
		return nil, fmt.Errorf("walks of %d to %d pages, %d of them in %d tries each: want lengths from 1 up, and at least 1", w.Shortest, w.Longest, w.Number, w.Tries)
	}
	state := g.Lowest()
	var begins []uint32
	for i := len(g.Layers) - 1; i >= 0 && len(begins) == 0; i-- {
		for _, m := range g.Layers[i] {
			if state[m.Page] == i {
				begins = append(begins, m.Page)
			}
		}
	}
	r := rand.New(rand.NewPCG(w.Seed, 0))
	var walks [][]Step
	for tries := 0; len(walks) < w.Number; tries++ {
		if tries == w.Number*w.Tries {
			return nil, fmt.Errorf("%d walks were found in %d tries, not %d: from layer %d of the graph hardly any path leads on", len(walks), tries, w.Number, state[begins[0]])
		}
		length := w.Shortest + r.IntN(w.Longest-w.Shortest+1)
		if walk := walkFrom(begins[r.IntN(len(begins))], length, state, children, r); len(walk) >= w.Shortest {
			walks = append(walks, walk)
		}
	}
	return walks, nil
}

func walkFrom(page uint32, length int, state map[uint32]int, children func(uint32) []uint32, r *rand.Rand) []Step {
	walk := []Step{{page, state[page]}}
	visited := map[uint32]bool{page: true}
	for len(walk) < length {
		var choices []uint32
		for _, c := range children(page) {
			if s, ok := state[c]; ok && !visited[c] && s <= state[page] {
				choices = append(choices, c)
			}
		}
		if len(choices) == 0 {
			break
		}
		page = choices[r.IntN(len(choices))]
		visited[page] = true
		walk = append(walk, Step{page, state[page]})
	}
	return walk
}
