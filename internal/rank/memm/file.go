package memm

import (
	"math"

	"forager/internal/platform/modelfile"
)

const (
	// MaxStates and MaxFeatures bound what a file may hold.
	MaxStates, MaxFeatures = 16, 1 << 16
	// weightLimit is what no weight of a file exceeds, so that no sum of them does.
	weightLimit = 1e9
)

// Settings returns what the model was trained with.
func (m *Model) Settings() Settings { return m.settings }

// Encode writes the model into the body of a file.
func (m *Model) Encode(e *modelfile.Encoder) {
	s := m.settings
	e.Uint(uint64(s.States))
	e.Uint(uint64(s.Features))
	edges := uint64(0)
	if s.Edges {
		edges = 1
	}
	e.Uint(edges)
	e.Float(s.Variance)
	modelfile.PutArray(e, m.weights)
}

// Decode reads what Encode wrote; what is wrong with it is the Decoder's error.
func Decode(d *modelfile.Decoder) *Model {
	s := Settings{States: int(d.Uint("states", MaxStates)), Features: int(d.Uint("features", MaxFeatures)), Edges: d.Uint("edges", 1) == 1}
	s.Variance = d.Float("variance")
	m := &Model{settings: s, weights: modelfile.Array[float64](d, "weights")}
	if d.Err() != nil {
		return m
	}
	if err := s.check(); err != nil {
		d.Fail("%v", err)
		return m
	}
	if want := s.parameters(); len(m.weights) != want {
		d.Fail("%d weights, want %d", len(m.weights), want)
	}
	for _, w := range m.weights {
		if !(math.Abs(w) <= weightLimit) { // NaN fails, too
			d.Fail("a weight is %v", w)
		}
	}
	return m
}
