package linkfeature

import (
	"cmp"
	"slices"

	"forager/schemas"
)

// Cut returns the part of the table that some links of its page need, with a d_max of dMax and some families, as a record.
// For these links it has the same features as the whole.
func (t *Table) Cut(links []*schemas.Link, dMax int, f Families) *schemas.LeafTable {
	cut := new(schemas.LeafTable)
	for term := t.PageTerms(); term < t.Terms(); term++ {
		cut.PageTerms = append(cut.PageTerms, string(t.Term(uint32(term))))
		if t.counted {
			cut.PageCounts = append(cut.PageCounts, t.PageCount(uint32(term)))
		}
	}
	wanted := make([]bool, t.leaves)
	for _, l := range links {
		last := int64(l.GetLastLeaf()) + int64(dMax)
		for i := t.leaf(int64(l.GetFirstLeaf()) - int64(dMax)); i < t.leaves && int64(t.number(t.leafAt, i)) <= last; i++ {
			wanted[i] = true
		}
	}
	t.cutLinks(cut, links)
	numbers := make(map[uint32]uint32)
	for i := range t.leaves {
		if !wanted[i] && !f.Far() {
			continue
		}
		from, to := t.end(t.endAt, i), t.end(t.endAt, i+1)
		cut.Leaves = append(cut.Leaves, t.number(t.leafAt, i))
		cut.LeafLengths = append(cut.LeafLengths, uint32(to-from))
		for token := from; token < to; token++ {
			term := t.number(t.tokenAt, token)
			number, known := numbers[term]
			if !known {
				number = uint32(len(cut.Terms))
				numbers[term] = number
				cut.Terms = append(cut.Terms, string(t.Term(term)))
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
				cut.LinkNames = append(cut.LinkNames, string(t.Term(term)))
			}
			cut.LinkTerms = append(cut.LinkTerms, number)
		}
		if n < len(cut.LinkTerms) {
			cut.LinkLeaves = append(cut.LinkLeaves, l.GetFirstLeaf())
			cut.LinkLengths = append(cut.LinkLengths, uint32(len(cut.LinkTerms)-n))
		}
	}
}
