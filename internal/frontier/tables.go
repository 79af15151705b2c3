package frontier

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"forager/internal/apprentice"
	"forager/internal/linkfeature"
	"forager/schemas"
)

// tableSize is about what a table and a scorer of its page take.
func tableSize(t *schemas.LeafTable) int {
	return 256 + 4*len(t.GetTokens()) + 12*len(t.GetLeaves()) + 48*(len(t.GetTerms())+len(t.GetPageTerms()))
}

// giveTable gives the page its table.
func (s *Shard) giveTable(p *page, t *schemas.LeafTable) error {
	var err error
	if p.table, err = linkfeature.Open(t); err != nil {
		return fmt.Errorf("frontier: page %d (%s): %w", p.number, p.url, err)
	}
	s.tables.put(p.number, p, tableSize(t))
	return nil
}

// table returns the leaf table of a page.
func (s *Shard) table(p *page) (*linkfeature.Table, error) {
	if _, ok := s.tables.get(p.number); ok {
		return p.table, nil
	}
	b, ok, err := s.store.Get(s.keys.u64(kindTable, p.number))
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("frontier: page %d (%s) has lost its leaf table", p.number, p.url)
	}
	t := new(schemas.LeafTable)
	if err := proto.Unmarshal(b, t); err != nil {
		return nil, fmt.Errorf("frontier: leaf table of page %d (%s): %w", p.number, p.url, err)
	}
	return p.table, s.giveTable(p, t)
}

// features of a link as the learner takes them.
func (s *Shard) features(p *page, l *link) ([]*schemas.Feature, error) {
	t, err := s.table(p)
	if err != nil {
		return nil, err
	}
	return t.Features(s.leaves(l), s.limits.dMax), nil
}

// high is Pr(high | u,v) under the model in use. An apprentice.Model scores a link without
// making its features, to the same bits.
func (s *Shard) high(p *page, l *link) (float64, error) {
	m, ok := s.using.model.(*apprentice.Model)
	if !ok {
		features, err := s.features(p, l)
		if err != nil {
			return 0, err
		}
		return s.using.model.Score(features), nil
	}
	t, err := s.table(p)
	if err != nil {
		return 0, err
	}
	if p.scorer == nil || p.model != s.using.number {
		p.scorer, p.model = m.Page(t), s.using.number
	}
	return p.scorer.Score(s.leaves(l), s.limits.dMax), nil
}

// leaves is the link as linkfeature wants it; valid until the next call.
func (s *Shard) leaves(l *link) *schemas.Link {
	s.leafRange.FirstLeaf, s.leafRange.LastLeaf = l.first, l.last
	return &s.leafRange
}
