package state

import (
	"fmt"

	"forager/internal/rank/linkfeature"
	"forager/schemas"
)

// LoadTerms reads the dictionary of leaf tables.
func (s *Records) LoadTerms() error {
	return s.loadNumbered(kindTerm, func(term string) (int, bool) { return s.Terms.Len(), s.Terms.Add(term) })
}

// saveTable stores the leaf table of a page, and the terms that it adds to the dictionary.
func (s *Records) saveTable(p *Page, t *schemas.LeafTable) (err error) {
	n := s.Terms.Len()
	if s.Buffer, err = linkfeature.AppendStored(s.Buffer[:0], t, &s.Terms); err != nil {
		return fmt.Errorf("frontier: page %d (%s): %w", p.Number, p.URL, err)
	}
	for ; n < s.Terms.Len(); n++ {
		if err := s.Store.Set(s.Keys.U32(kindTerm, uint32(n)), []byte(s.Terms.Term(n))); err != nil {
			return err
		}
	}
	return s.Store.Set(s.Keys.U64(KindTable, p.Number), s.Buffer)
}

// ReadTable reads the leaf table of a page from the store.
func (s *Records) ReadTable(get func(key []byte) ([]byte, bool, error), keys *Keys, p *Page) (*linkfeature.Table, error) {
	b, ok, err := get(keys.U64(KindTable, p.Number))
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("frontier: page %d (%s) has lost its leaf table", p.Number, p.URL)
	}
	return s.OpenTable(b, p.Number)
}

// OpenTable opens a stored leaf table.
func (s *Records) OpenTable(b []byte, page uint64) (*linkfeature.Table, error) {
	t, err := linkfeature.ReadStored(b, &s.Terms)
	if err != nil {
		return nil, fmt.Errorf("frontier: leaf table of page %d: %w", page, err)
	}
	return t, nil
}
