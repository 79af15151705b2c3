package pageguide

import (
	"context"
	"maps"

	"forager/internal/page/text"
	"forager/internal/platform/modelfile"
	"forager/internal/rank/guide"
	"forager/internal/rank/localgraph"
	"forager/schemas"
)

// Kind of a guide, and of its file.
type Kind string

// The kinds.
const (
	ContextGraph Kind = "context-graph"
	Focused2000  Kind = "focused-2000"
	BestFirst    Kind = "best-first-cosine"
	MEMM         Kind = "memm"
)

// Kinds lists all kinds.
var Kinds = []Kind{ContextGraph, Focused2000, BestFirst, MEMM}

// Guide scores links by what it learned from a local graph. It is safe for concurrent use.
type Guide struct {
	kind       Kind
	words      text.Settings
	graph      localgraph.Settings
	provenance map[string]string
	judge      judge
}

// judge is implemented by each kind.
type judge interface {
	see(r *reading) PageView
	readsURLs() bool
	encode(e *modelfile.Encoder)
}

// PageView is a page as a guide has read it, independent of the path to it. It is safe for concurrent use.
type PageView interface {
	// Guide scores the page's links for the path of a state; see guide.View.State. The error is a state that the guide has
	// not written.
	Guide(state []byte) (*schemas.Guidance, error)
}

var _ guide.Guide = (*Guide)(nil)

// Guide implements guide.Guide.
func (g *Guide) Guide(_ context.Context, v *guide.View) (*schemas.Guidance, error) {
	if _, layered := g.judge.(layers); len(v.Page.GetLinks()) == 0 && !layered {
		return new(schemas.Guidance), nil
	}
	s, err := g.View(v.Page)
	if err != nil {
		return nil, err
	}
	return s.Guide(v.State)
}

// View reads a page. The error is an inconsistent page.
func (g *Guide) View(p *schemas.Page) (PageView, error) {
	r, err := read(p, g.words)
	if err != nil {
		return nil, err
	}
	return g.judge.see(r), nil
}

// ReadsURLs reports whether scores depend on URLs.
func (g *Guide) ReadsURLs() bool { return g.judge.readsURLs() }

// Kind returns the kind of the guide.
func (g *Guide) Kind() Kind { return g.kind }

// Ranker returns the name of the guide's ranker: its kind, for a MEMM with the inference or the order.
func (g *Guide) Ranker() string {
	j, ok := g.judge.(*path)
	switch {
	case !ok:
		return string(g.kind)
	case j.settings.Order == ByStates:
		return "memm-states"
	}
	return "memm-" + string(j.settings.Inference)
}

// Provenance returns the description of the training data that Settings had.
func (g *Guide) Provenance() map[string]string { return maps.Clone(g.provenance) }

// similarity is a page whose links all have one score; its layer is as in schemas.Guidance.
type similarity struct {
	score float64
	layer uint32
}

func (s similarity) Guide([]byte) (*schemas.Guidance, error) {
	return &schemas.Guidance{Scores: []float64{s.score}, Layer: s.layer}, nil
}
