package place

import (
	"forager/internal/frontier/state"
	"forager/internal/rank/apprentice"
	"forager/internal/rank/linkfeature"
	"forager/schemas"
)

// Model predicts Pr(high | u,v) of a link from its features; *apprentice.Model is one.
type Model interface {
	Score(features []*schemas.Feature) float64
}

// VersionedModel is an apprentice's model as the frontier ranks by it.
type VersionedModel struct {
	// Number of its version's name; 0 = no model.
	Number uint32
	// Model is nil for no model, and after Open until SetModel gives it.
	Model Model
	Pages uint64
}

// MadeFeatures are features made in advance of a verdict (rescore.Prefetcher), of families at DMax.
type MadeFeatures struct {
	DMax     int
	Families linkfeature.Families
	// Links of the verdict, by their index; nil = not made. Leaps are those that the verdict settles.
	Links [][]*schemas.Feature
	Leaps map[LeafRange][]*schemas.Feature
}

// LeafRange names a link by its page and its leaves.
type LeafRange struct {
	Page        uint64
	First, Last uint32
}

// Features returns the features of a link as the learner takes them.
func (pr *Placer) Features(p *state.Page, l *state.Link) ([]*schemas.Feature, error) {
	if m := pr.Made; m != nil && m.DMax == pr.DMax && m.Families == pr.Families {
		if p == pr.pages.Applying && m.Links[l.Index] != nil {
			return m.Links[l.Index], nil
		}
		if f, ok := m.Leaps[LeafRange{l.Page, l.First, l.Last}]; ok {
			return f, nil
		}
	}
	t, err := pr.pages.Table(p)
	if err != nil {
		return nil, err
	}
	return t.FeaturesOf(pr.leaves(l), pr.DMax, pr.Families), nil
}

// High is Pr(high | u,v) under the model in use. An apprentice.Model scores a link without
// making its features, to the same bits.
func (pr *Placer) High(p *state.Page, l *state.Link) (float64, error) {
	cited, err := pr.Cocited(p, l, pr.state.Counters.Clock)
	if err != nil {
		return 0, err
	}
	m, ok := pr.Using.Model.(*apprentice.Model)
	if !ok {
		features, err := pr.Features(p, l)
		if err != nil {
			return 0, err
		}
		return pr.Using.Model.Score(linkfeature.Merge(features, cited)), nil
	}
	t, err := pr.pages.Table(p)
	if err != nil {
		return 0, err
	}
	if pr.scored.table != t || pr.scored.model != m || pr.scored.dMax != pr.DMax {
		pr.scored.Turn(m, t, pr.DMax)
		pr.scored.table, pr.scored.model, pr.scored.dMax = t, m, pr.DMax
	}
	return pr.scored.ScoreWith(pr.leaves(l), cited), nil
}

// scored is the page whose links were scored last: links of a page mostly come one after another.
type scored struct {
	apprentice.Page
	table *linkfeature.Table
	model *apprentice.Model
	dMax  int
}

// leaves returns the link as linkfeature takes it; valid until the next call.
func (pr *Placer) leaves(l *state.Link) *schemas.Link {
	pr.leafRange.FirstLeaf, pr.leafRange.LastLeaf = l.First, l.Last
	return &pr.leafRange
}
