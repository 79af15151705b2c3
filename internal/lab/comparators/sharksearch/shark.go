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

// Settings of a Shark; see the package comment.
type Settings struct {
	// Decay is δ, Inherited γ and Anchor β, each in [0,1].
	Decay, Inherited, Anchor float64
	// Reach is the extent of the text around a link, leaves on each side, ≥ 0.
	Reach int
}

// Default settings: those of the paper, and a context as wide as the apprentice's.
var Default = Settings{Decay: .5, Inherited: .5, Anchor: .8, Reach: 5}

// maxReach bounds Settings.Reach, leaves.
const maxReach = 100

// Shark is Shark-Search. It is safe for concurrent use.
type Shark struct {
	query    *Query
	settings Settings
}

var _ guide.Guide = (*Shark)(nil)

// NewShark returns a Shark. The error is a setting out of its range.
func NewShark(q *Query, s Settings) (*Shark, error) {
	for _, v := range []float64{s.Decay, s.Inherited, s.Anchor} {
		if !(v >= 0 && v <= 1) { // also NaN
			return nil, fmt.Errorf("shark search with decay %v and shares %v of what is inherited and %v of the anchor, want [0,1]", s.Decay, s.Inherited, s.Anchor)
		}
	}
	if s.Reach < 0 || s.Reach > maxReach {
		return nil, fmt.Errorf("shark search with a reach of %d leaves, want 0 to %d", s.Reach, maxReach)
	}
	return &Shark{q, s}, nil
}

// Guide implements guide.Guide.
func (s *Shark) Guide(_ context.Context, v *guide.View) (*schemas.Guidance, error) {
	before, err := inherited(v.State)
	if err != nil {
		return nil, err
	}
	page, err := linktext.Open(v.Page, s.query.cut)
	if err != nil {
		return nil, err
	}
	words := make(map[string]uint32)
	page.Page(words)
	if sim := s.query.Similarity(words); sim > 0 {
		before = sim
	}
	next := s.settings.Decay * before
	g := &schemas.Guidance{States: [][]byte{remember(next)}, Scores: make([]float64, len(v.Page.GetLinks()))}
	for i, l := range v.Page.GetLinks() {
		clear(words)
		page.Anchor(l, words)
		anchor := s.query.Similarity(words)
		near := 1.0
		if anchor == 0 {
			clear(words)
			page.Around(l, s.settings.Reach, words)
			near = s.query.Similarity(words)
		}
		g.Scores[i] = mix(s.settings.Inherited, next, mix(s.settings.Anchor, anchor, near))
	}
	return g, nil
}

// mix is share·a + (1−share)·b.
func mix(share, a, b float64) float64 { return float64(share*a) + float64((1-share)*b) }

// The state of a path is what its next page inherits: a float64 in [0,1], little endian.
const stateSize = 8

func remember(inherited float64) []byte {
	return binary.LittleEndian.AppendUint64(make([]byte, 0, stateSize), math.Float64bits(inherited))
}

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
