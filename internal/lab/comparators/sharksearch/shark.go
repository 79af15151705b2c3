package sharksearch

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"forager/internal/lab/comparators/linktext"
	"forager/internal/rank/guide"
	"forager/schemas"
)

// Shark is Shark-Search. It is safe for concurrent use.
type Shark struct {
	Query *Query
	// Decay is δ, Inherited γ and Anchor β, each in [0,1].
	Decay, Inherited, Anchor float64
	// Reach is the extent of the text around a link, leaves on each side, ≥ 0.
	Reach int
}

var _ guide.Guide = (*Shark)(nil)

// NewShark returns a Shark with the settings of the paper, and a context as wide as the apprentice's.
func NewShark(q *Query) *Shark {
	return &Shark{Query: q, Decay: .5, Inherited: .5, Anchor: .8, Reach: 5}
}

// Guide implements guide.Guide.
func (s *Shark) Guide(_ context.Context, v *guide.View) (*schemas.Guidance, error) {
	before, err := inherited(v.State)
	if err != nil {
		return nil, err
	}
	page, err := linktext.Open(v.Page, s.Query.cut)
	if err != nil {
		return nil, err
	}
	words := make(map[string]uint32)
	page.Page(words)
	if sim := s.Query.Similarity(words); sim > 0 {
		before = sim
	}
	next := s.Decay * before
	state := binary.LittleEndian.AppendUint64(nil, math.Float64bits(next))
	g := &schemas.Guidance{States: [][]byte{state}, Scores: make([]float64, len(v.Page.GetLinks()))}
	for i, l := range v.Page.GetLinks() {
		clear(words)
		page.Anchor(l, words)
		anchor := s.Query.Similarity(words)
		near := 1.0
		if anchor == 0 {
			clear(words)
			page.Around(l, s.Reach, words)
			near = s.Query.Similarity(words)
		}
		g.Scores[i] = mix(s.Inherited, next, mix(s.Anchor, anchor, near))
	}
	return g, nil
}

// mix is share·a + (1−share)·b.
func mix(share, a, b float64) float64 { return float64(share*a) + float64((1-share)*b) }

// The state of a path is what its next page inherits: a float64 in [0,1], little endian.
const stateSize = 8

func inherited(state []byte) (float64, error) {
	if state == nil {
		return 0, nil
	}
	if len(state) != stateSize {
		return 0, fmt.Errorf("the state of the path has %d bytes, want %d", len(state), stateSize)
	}
	v := math.Float64frombits(binary.LittleEndian.Uint64(state))
	if !(v >= 0 && v <= 1) { // also NaN
		return 0, fmt.Errorf("the state of the path has %v as inherited, want [0,1]", v)
	}
	return v, nil
}

// ReadsURLs returns false.
func (*Shark) ReadsURLs() bool { return false }
