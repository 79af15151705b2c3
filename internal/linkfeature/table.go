package linkfeature

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"sort"
	"strings"

	"forager/schemas"
)

// Table is a LeafTable that was checked and can be read link by link. It is safe for
// concurrent use.
type Table struct {
	t     *schemas.LeafTable
	start []uint32 // where the tokens of each listed leaf begin, and one more
}

// Open checks a table; nil is an empty one. The table must not be changed afterwards.
func Open(t *schemas.LeafTable) (*Table, error) {
	leaves, lengths, tokens := t.GetLeaves(), t.GetLeafLengths(), t.GetTokens()
	if len(leaves) != len(lengths) {
		return nil, fmt.Errorf("leaf table: %d leaves with %d lengths", len(leaves), len(lengths))
	}
	start, at := make([]uint32, len(leaves)+1), uint64(0)
	for i, n := range lengths {
		if i > 0 && leaves[i] <= leaves[i-1] {
			return nil, fmt.Errorf("leaf table: leaf %d behind leaf %d", leaves[i], leaves[i-1])
		}
		if at += uint64(n); at > uint64(len(tokens)) {
			break
		}
		start[i+1] = uint32(at)
	}
	if at != uint64(len(tokens)) {
		return nil, fmt.Errorf("leaf table: its leaves do not have its %d tokens", len(tokens))
	}
	for _, term := range tokens {
		if int(term) >= len(t.GetTerms()) {
			return nil, fmt.Errorf("leaf table: token of term %d, it has %d terms", term, len(t.GetTerms()))
		}
	}
	return &Table{t, start}, nil
}

// Terms returns the number of terms; they are numbered from 0, terms of the page last.
func (t *Table) Terms() int { return len(t.t.GetTerms()) + len(t.t.GetPageTerms()) }

// Term returns the term of a number.
func (t *Table) Term(number uint32) string {
	if terms := t.t.GetTerms(); int(number) >= len(terms) {
		return t.t.GetPageTerms()[int(number)-len(terms)]
	} else {
		return terms[number]
	}
}

// Tokens goes through the tokens at most dMax leaves away from a link of the page, in document
// order, then through the terms of the page: the number of each one's term and its DOM offset,
// schemas.NoOffset for terms of the page. A feature ⟨t, d⟩ with count n comes n times.
func (t *Table) Tokens(l *schemas.Link, dMax int) iter.Seq2[uint32, int] {
	return func(yield func(term uint32, offset int) bool) {
		leaves, tokens := t.t.GetLeaves(), t.t.GetTokens()
		first, last := int64(l.GetFirstLeaf()), int64(l.GetLastLeaf())
		at := sort.Search(len(leaves), func(i int) bool { return int64(leaves[i]) >= first-int64(dMax) })
		for ; at < len(leaves) && int64(leaves[at]) <= last+int64(dMax); at++ {
			d := max(0, int64(leaves[at])-last) + min(0, int64(leaves[at])-first)
			for _, term := range tokens[t.start[at]:t.start[at+1]] {
				if !yield(term, int(d)) {
					return
				}
			}
		}
		for i := range t.t.GetPageTerms() {
			if !yield(uint32(len(t.t.GetTerms())+i), schemas.NoOffset) {
				return
			}
		}
	}
}

// Features returns the features of a link of the page, sorted by term, then offset.
func (t *Table) Features(l *schemas.Link, dMax int) []*schemas.Feature {
	var keys []uint64
	for term, offset := range t.Tokens(l, dMax) {
		keys = append(keys, uint64(term)<<8|uint64(offset+128))
	}
	slices.Sort(keys)
	var features []*schemas.Feature
	for i, key := range keys {
		if i > 0 && key == keys[i-1] {
			features[len(features)-1].Count++
			continue
		}
		features = append(features, &schemas.Feature{Term: t.Term(uint32(key >> 8)), Offset: int32(key&0xff) - 128, Count: 1})
	}
	slices.SortFunc(features, func(a, b *schemas.Feature) int {
		return cmp.Or(strings.Compare(a.Term, b.Term), cmp.Compare(a.Offset, b.Offset))
	})
	return features
}

// Features returns the features of one link of a page, sorted by term, then offset; nil for a
// table that Open refuses. Who reads several links of a page opens its table once.
func Features(t *schemas.LeafTable, l *schemas.Link, dMax int) []*schemas.Feature {
	table, err := Open(t)
	if err != nil {
		return nil
	}
	return table.Features(l, dMax)
}
