package sharksearch

import (
	"context"
	"fmt"

	"forager/internal/lab/comparators/linktext"
	"forager/internal/rank/guide"
	"forager/schemas"
)

// FishSettings of a Fish.
type FishSettings struct {
	// Depth is the number of successive pages that need not be relevant, 1–255.
	Depth int
	// Width is the number of links of a page that count, 1½ times as many for a relevant one; 0 = all.
	Width int
	// Least is the number of the query's words that a relevant page has, at least 1 and at most all.
	Least int
}

// DefaultFish are the default settings: a quarter of the query's words.
var DefaultFish = FishSettings{Depth: 3, Least: queryWords / 4}

const (
	maxDepth = 255
	maxCount = 1 << 31
)

// Fish is Fish-Search. It is safe for concurrent use.
type Fish struct {
	query    *Query
	settings FishSettings
}

var _ guide.Guide = (*Fish)(nil)

// NewFish returns a Fish. The error is a setting out of its range.
func NewFish(q *Query, s FishSettings) (*Fish, error) {
	switch {
	case s.Depth < 1 || s.Depth > maxDepth:
		return nil, fmt.Errorf("fish search of depth %d, want 1 to %d", s.Depth, maxDepth)
	case s.Width < 0 || s.Width > maxCount:
		return nil, fmt.Errorf("fish search of width %d, want 0 to %d", s.Width, maxCount)
	case s.Least < 1 || s.Least > maxCount:
		return nil, fmt.Errorf("fish search for %d words of the query, want 1 to %d", s.Least, maxCount)
	}
	return &Fish{q, s}, nil
}

// Guide implements guide.Guide.
func (f *Fish) Guide(_ context.Context, v *guide.View) (*schemas.Guidance, error) {
	depth, err := f.depth(v.State)
	if err != nil {
		return nil, err
	}
	page, err := linktext.Open(v.Page, f.query.cut)
	if err != nil {
		return nil, err
	}
	if depth == 0 {
		return &schemas.Guidance{Scores: []float64{-1}, States: [][]byte{{0}}}, nil
	}
	words := make(map[string]uint32)
	page.Page(words)
	links := len(v.Page.GetLinks())
	score, counting := .5, f.settings.Width
	if depth--; f.query.Has(words) >= min(f.settings.Least, len(f.query.words)) {
		score, counting, depth = 1, counting+counting/2, f.settings.Depth
	}
	g := &schemas.Guidance{States: [][]byte{{byte(depth)}}}
	if f.settings.Width == 0 || counting >= links {
		g.Scores = []float64{score}
		return g, nil
	}
	g.Scores = make([]float64, links)
	for i := range counting {
		g.Scores[i] = score
	}
	return g, nil
}

// depth returns that of a path.
func (f *Fish) depth(state []byte) (int, error) {
	switch {
	case state == nil:
		return f.settings.Depth, nil
	case len(state) != 1 || int(state[0]) > f.settings.Depth:
		return 0, fmt.Errorf("the state of the path is %.8x, want one byte, its depth, at most %d", state, f.settings.Depth)
	}
	return int(state[0]), nil
}

// ReadsURLs returns false.
func (*Fish) ReadsURLs() bool { return false }
