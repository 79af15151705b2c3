package sharksearch

import (
	"context"
	"fmt"

	"forager/internal/lab/comparators/linktext"
	"forager/internal/rank/guide"
	"forager/schemas"
)

// Fish is Fish-Search. It is safe for concurrent use.
type Fish struct {
	Query *Query
	// Depth is the number of successive pages that need not be relevant, 1 to 255.
	Depth int
	// Least is the number of the query's words that a relevant page has, at least 1; of a query with fewer, all.
	Least int
}

var _ guide.Guide = (*Fish)(nil)

// NewFish returns a Fish with the default settings: a page is relevant if it has a quarter of the query's words.
func NewFish(q *Query) *Fish { return &Fish{Query: q, Depth: 3, Least: queryWords / 4} }

// Guide implements guide.Guide.
func (f *Fish) Guide(_ context.Context, v *guide.View) (*schemas.Guidance, error) {
	depth, err := f.depth(v.State)
	if err != nil {
		return nil, err
	}
	page, err := linktext.Open(v.Page, f.Query.cut)
	if err != nil {
		return nil, err
	}
	if depth == 0 {
		return &schemas.Guidance{Scores: []float64{-1}, States: [][]byte{{0}}}, nil
	}
	words := make(map[string]uint32)
	page.Page(words)
	score := .5
	if depth--; f.Query.Has(words) >= min(f.Least, len(f.Query.words)) {
		score, depth = 1, f.Depth
	}
	return &schemas.Guidance{Scores: []float64{score}, States: [][]byte{{byte(depth)}}}, nil
}

// depth returns that of a path.
func (f *Fish) depth(state []byte) (int, error) {
	switch {
	case state == nil:
		return f.Depth, nil
	case len(state) != 1 || int(state[0]) > f.Depth:
		return 0, fmt.Errorf("the state of the path is %.8x, want one byte, its depth, at most %d", state, f.Depth)
	}
	return int(state[0]), nil
}

// ReadsURLs returns false.
func (*Fish) ReadsURLs() bool { return false }
