package linkfeature

import (
	"cmp"
	"slices"

	"forager/schemas"
)

// Cut returns the part of the table that some links of its page need, with a d_max of dMax and some families, as a record.
// For these links it has the same features as the whole.
func (t *Table) Cut(links []*schemas.Link, dMax int, f Families) *schemas.LeafTable {
	cut := &schemas.LeafTable{PageTerms: t.pageTerms, PageCounts: t.counts}
	wanted := make([]bool, len(t.leaves))
	for _, l := range links {
		last := int64(l.GetLastLeaf()) + int64(dMax)
		for i := t.leaf(int64(l.GetFirstLeaf()) - int64(dMax)); i < len(t.leaves) && int64(t.leaves[i]) <= last; i++ {
			wanted[i] = true
		}
	}
	t.cutLinks(cut, links)
	numbers := make(map[uint32]uint32)
	for i, leaf := range t.leaves {
		if !wanted[i] && !f.Far() {
			continue
		}
		tokens := t.tokens[begin(t.ends, i):t.ends[i]]
		cut.Leaves = append(cut.Leaves, leaf)
		cut.LeafLengths = append(cut.LeafLengths, uint32(len(tokens)))
		for _, term := range tokens {
			number, known := numbers[term]
			if !known {
				number = uint32(len(cut.Terms))
				numbers[term] = number
				cut.Terms = append(cut.Terms, t.Term(term))
			}
			cut.Tokens = append(cut.Tokens, number)
		}
	}
	return cut
}

// cutLinks copies the terms of some links.
func (t *Table) cutLinks(cut *schemas.LeafTable, links []*schemas.Link) {
	byLeaf := slices.SortedFunc(slices.Values(links), func(a, b *schemas.Link) int {
		return cmp.Compare(a.GetFirstLeaf(), b.GetFirstLeaf())
	})
	numbers := make(map[uint32]uint32)
	for i, l := range byLeaf {
		if i > 0 && l.GetFirstLeaf() == byLeaf[i-1].GetFirstLeaf() {
			continue
		}
		n := len(cut.LinkTerms)
		for term := range t.LinkTerms(l) {
			number, known := numbers[term]
			if !known {
				number = uint32(len(cut.LinkNames))
				numbers[term] = number
				cut.LinkNames = append(cut.LinkNames, t.Term(term))
			}
			cut.LinkTerms = append(cut.LinkTerms, number)
		}
		if n < len(cut.LinkTerms) {
			cut.LinkLeaves = append(cut.LinkLeaves, l.GetFirstLeaf())
			cut.LinkLengths = append(cut.LinkLengths, uint32(len(cut.LinkTerms)-n))
		}
	}
}
