package memm

import (
	"math"

	"forager/internal/platform/modelfile"
)

const (
	// MaxStates and MaxFeatures bound what a file may hold.
	MaxStates, MaxFeatures = 16, 1 << 16
	// weightLimit bounds the weights of a file, so that no sum of them overflows.
	weightLimit = 1e9
)

// Settings returns the settings of the training.
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

// Decode reads what Encode wrote; errors are those of the Decoder.
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
		if !(math.Abs(w) <= weightLimit) { // also NaN
			d.Fail("a weight is %v", w)
		}
	}
	return m
}
