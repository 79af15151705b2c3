package memm

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
)

// Observation is what is observed at one step of a path: the value of each feature that is not 0. Indices are distinct.
type Observation struct {
	Index []uint32
	Value []float64 // same length as Index, finite
}

// Settings of a model.
type Settings struct {
	// States is k, the number of distances; at least 2.
	States int
	// Features is the number of observation features.
	Features int
	// Edges multiplies observations by L1, too: one weight for each pair of states in addition to one for each state.
	Edges bool
	// Variance is σ² of the Gaussian prior of the weights; +Inf is no prior (the paper).
	Variance float64
}

// Default returns the default settings for a number of features.
func Default(features int) Settings { return Settings{States: 5, Features: features, Variance: 10} }

func (s Settings) check() error {
	if s.States < 2 || s.Features < 0 || !(s.Variance > 0) {
		return fmt.Errorf("a MEMM has %d states, %d features and the variance %v; want at least 2, at least 0, and above 0", s.States, s.Features, s.Variance)
	}
	return nil
}

// Model is a trained MEMM. It is safe for concurrent use.
//
// Weights are in blocks of k: for each row of a feature, the weights of the k next states. The rows of a feature are L2
// and, if Edges, one for each previous state, START the last. The block of the features without an observation comes first
// and always has all rows.
type Model struct {
	settings Settings
	weights  []float64
}

// rows returns the number of rows of a feature that is multiplied by an observation.
func (s Settings) rows() int {
	if s.Edges {
		return s.alone()
	}
	return 1
}

func (s Settings) alone() int { return 1 + s.States + 1 } // L2, one a previous state, START

// parameters returns the number of weights.
func (s Settings) parameters() int { return s.States * (s.alone() + s.Features*s.rows()) }

// start is the index of the state before the first page.
func (s Settings) start() int { return s.States }

// at returns the index of the first of the k weights of a feature's row; feature −1 is that without an observation. Row 0
// is L2, row 1+s is L1 of the previous state s.
func (s Settings) at(feature, row int) int {
	if feature < 0 {
		return s.States * row
	}
	return s.States * (s.alone() + feature*s.rows() + row)
}

// row returns the k weights of a feature's row.
func (s Settings) row(weights []float64, feature, row int) []float64 {
	at := s.at(feature, row)
	return weights[at : at+s.States : at+s.States]
}

// transition writes log p(s'|s,o) for every s' to dst, of length k. The previous state s is 0 … k−1, or k for START.
func (s Settings) transition(dst, weights []float64, previous int, o *Observation) {
	s.state(dst, weights, o)
	s.edge(dst, weights, previous, o)
	normalise(dst)
}

// state writes the sum of the weights of L2 for every s' to dst.
func (s Settings) state(dst, weights []float64, o *Observation) {
	copy(dst, s.row(weights, -1, 0))
	for i, f := range o.Index {
		floats.AddScaled(dst, o.Value[i], s.row(weights, int(f), 0))
	}
}

// edge adds those of L1.
func (s Settings) edge(dst, weights []float64, previous int, o *Observation) {
	floats.Add(dst, s.row(weights, -1, 1+previous))
	if !s.Edges {
		return
	}
	for i, f := range o.Index {
		floats.AddScaled(dst, o.Value[i], s.row(weights, int(f), 1+previous))
	}
}

// normalise turns dst into logarithms of probabilities.
func normalise(dst []float64) {
	floats.AddConst(-floats.LogSumExp(dst), dst)
}

func (s Settings) checkObservation(o *Observation) error {
	if len(o.Index) != len(o.Value) {
		return fmt.Errorf("an observation has %d indices and %d values", len(o.Index), len(o.Value))
	}
	for i, f := range o.Index {
		if int(f) >= s.Features {
			return fmt.Errorf("an observation has feature %d of %d", f, s.Features)
		}
		if v := o.Value[i]; math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("feature %d of an observation is %v", f, v)
		}
	}
	return nil
}
