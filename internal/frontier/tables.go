package frontier

import (
	"fmt"

	"forager/internal/rank/apprentice"
	"forager/internal/rank/linkfeature"
	"forager/schemas"
)

// holdTable keeps the leaf table of a page in memory for now.
func (s *Shard) holdTable(p *page, t *linkfeature.Table) {
	s.tables.put(p.number, t, tableCost+t.Memory())
}

// table returns the leaf table of a page.
func (s *Shard) table(p *page) (*linkfeature.Table, error) {
	if t, ok := s.tables.get(p.number); ok {
		return t, nil
	}
	t, err := readTable(s.store.Get, &s.keys, p)
	if err == nil {
		s.holdTable(p, t)
	}
	return t, err
}

// readTable reads the leaf table of a page from the store.
func readTable(get func(key []byte) ([]byte, bool, error), keys *keys, p *page) (*linkfeature.Table, error) {
	b, ok, err := get(keys.u64(kindTable, p.number))
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("frontier: page %d (%s) has lost its leaf table", p.number, p.url)
	}
	return openTable(linkfeature.ReadTable, b, p.number)
}

// openTable opens a stored leaf table by linkfeature.ReadTable, or by linkfeature.TableIn if the table is not used longer than
// the bytes are valid.
func openTable(by func(b []byte) (*linkfeature.Table, error), b []byte, page uint64) (*linkfeature.Table, error) {
	t, err := by(b)
	if err != nil {
		return nil, fmt.Errorf("frontier: leaf table of page %d: %w", page, err)
	}
	return t, nil
}

// features returns the features of a link as the learner takes them.
func (s *Shard) features(p *page, l *link) ([]*schemas.Feature, error) {
	if m := s.settling; m != nil && m.dMax == s.limits.dMax && m.families == s.limits.families {
		if p == s.applying && m.found[l.index].features != nil {
			return m.found[l.index].features, nil
		}
		if f, ok := m.features[leafRange{l.page, l.first, l.last}]; ok {
			return f, nil
		}
	}
	t, err := s.table(p)
	if err != nil {
		return nil, err
	}
	return t.FeaturesOf(s.leaves(l), s.limits.dMax, s.limits.families), nil
}

// high is Pr(high | u,v) under the model in use. An apprentice.Model scores a link without
// making its features, to the same bits.
func (s *Shard) high(p *page, l *link) (float64, error) {
	cited, err := s.cocited(p, l, s.c.clock)
	if err != nil {
		return 0, err
	}
	m, ok := s.using.model.(*apprentice.Model)
	if !ok {
		features, err := s.features(p, l)
		if err != nil {
			return 0, err
		}
		return s.using.model.Score(linkfeature.Merge(features, cited)), nil
	}
	t, err := s.table(p)
	if err != nil {
		return 0, err
	}
	if s.scored.table != t || s.scored.model != m || s.scored.dMax != s.limits.dMax {
		s.scored.Turn(m, t, s.limits.dMax)
		s.scored.table, s.scored.model, s.scored.dMax = t, m, s.limits.dMax
	}
	return s.scored.ScoreWith(s.leaves(l), cited), nil
}

// scored is the page whose links were scored last: links of a page mostly come one after another.
type scored struct {
	apprentice.Page
	table *linkfeature.Table
	model *apprentice.Model
	dMax  int
}

// leaves returns the link as linkfeature takes it; valid until the next call.
func (s *Shard) leaves(l *link) *schemas.Link {
	s.leafRange.FirstLeaf, s.leafRange.LastLeaf = l.first, l.last
	return &s.leafRange
}
