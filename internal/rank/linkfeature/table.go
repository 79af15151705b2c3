package linkfeature

import (
	"fmt"
	"iter"
	"slices"

	"github.com/cespare/xxhash/v2"

	"forager/schemas"
)

// Table is a checked LeafTable that can be read link by link. It is safe for concurrent use.
type Table struct {
	// Numbers of leaves, ends of their tokens in tokens, and the term of each token.
	leaves, ends, tokens []uint32
	// The same of the links that have terms of their own; linkTerms are indices into names.
	links, linkEnds, linkTerms []uint32
	// Terms are numbered in this order: shared, by their numbers in the dictionary, own, and those of the page. names are the
	// terms of links.
	shared                []uint32
	own, pageTerms, names []string
	// counts of pageTerms; nil = each counts 1.
	counts     []uint32
	dictionary []numbered
}

// Open checks a table and makes it readable; a nil record is an empty table. It refers to the record, which must not be
// changed while it is in use.
func Open(t *schemas.LeafTable) (*Table, error) {
	if err := fit(t.GetLeaves(), t.GetLeafLengths(), t.GetTokens(), len(t.GetTerms())); err != nil {
		return nil, fmt.Errorf("leaf table: %w", err)
	}
	if err := fit(t.GetLinkLeaves(), t.GetLinkLengths(), t.GetLinkTerms(), len(t.GetLinkNames())); err != nil {
		return nil, fmt.Errorf("leaf table, terms of links: %w", err)
	}
	if n := len(t.GetPageCounts()); n > 0 && (n != len(t.GetPageTerms()) || slices.Contains(t.GetPageCounts(), 0)) {
		return nil, fmt.Errorf("leaf table: %d counts of %d terms of the page, or one of 0", n, len(t.GetPageTerms()))
	}
	return &Table{
		leaves: t.GetLeaves(), ends: sums(t.GetLeafLengths()), tokens: t.GetTokens(),
		links: t.GetLinkLeaves(), linkEnds: sums(t.GetLinkLengths()), linkTerms: t.GetLinkTerms(),
		own: t.GetTerms(), pageTerms: t.GetPageTerms(), names: t.GetLinkNames(), counts: t.GetPageCounts(),
	}, nil
}

// sums returns the sums of the first 1, 2, … lengths.
func sums(lengths []uint32) []uint32 {
	ends, end := make([]uint32, len(lengths)), uint32(0)
	for i, n := range lengths {
		end += n
		ends[i] = end
	}
	return ends
}

// fit checks that leaves ascend, that their lengths add up to the tokens, and that tokens are numbers of terms.
func fit(leaves, lengths, tokens []uint32, terms int) error {
	if len(leaves) != len(lengths) {
		return fmt.Errorf("%d leaves with %d lengths", len(leaves), len(lengths))
	}
	at := uint64(0)
	for i, n := range lengths {
		if i > 0 && leaves[i] <= leaves[i-1] {
			return fmt.Errorf("leaf %d behind leaf %d", leaves[i], leaves[i-1])
		}
		if at += uint64(n); at > uint64(len(tokens)) {
			break
		}
	}
	if at != uint64(len(tokens)) {
		return fmt.Errorf("its leaves do not have its %d tokens", len(tokens))
	}
	for _, term := range tokens {
		if int(term) >= terms {
			return fmt.Errorf("token of term %d, it has %d terms", term, terms)
		}
	}
	return nil
}

// begin returns the begin of item i by the ends of items.
func begin(ends []uint32, i int) int {
	if i == 0 {
		return 0
	}
	return int(ends[i-1])
}

// Terms returns the number of terms; they are numbered from 0, terms of the page last. Terms of links are numbered after
// them.
func (t *Table) Terms() int { return t.PageTerms() + len(t.pageTerms) }

// PageTerms returns the number of the first term of the page; those from it on have no offset.
func (t *Table) PageTerms() int { return len(t.shared) + len(t.own) }

// Term returns the term of a number.
func (t *Table) Term(number uint32) string {
	i := int(number)
	if i < len(t.shared) {
		return t.dictionary[t.shared[i]].term
	}
	i -= len(t.shared)
	for _, terms := range [...][]string{t.own, t.pageTerms} {
		if i < len(terms) {
			return terms[i]
		}
		i -= len(terms)
	}
	return t.names[i]
}

// Hash is the xxHash of a term.
func (t *Table) Hash(number uint32) uint64 {
	if int(number) < len(t.shared) {
		return t.dictionary[t.shared[number]].hash
	}
	return xxhash.Sum64String(t.Term(number))
}

// Memory returns the memory of the table, bytes. It does not include the dictionary.
func (t *Table) Memory() int {
	n := 4 * (2*len(t.leaves) + len(t.tokens) + 2*len(t.links) + len(t.linkTerms) + len(t.shared) + len(t.counts))
	for _, terms := range [...][]string{t.own, t.pageTerms, t.names} {
		n += 16 * len(terms)
		for _, term := range terms {
			n += len(term)
		}
	}
	return n
}

// PageCount returns the count of a term of the page, in parts of Unit.
func (t *Table) PageCount(term uint32) uint32 {
	if len(t.counts) == 0 {
		return 1
	}
	return t.counts[int(term)-t.PageTerms()]
}

// Tokens iterates over the tokens at most dMax leaves away from a link of the page, in document order: the number of each
// one's term and its DOM offset. A feature ⟨t, d⟩ with count n comes n times. The terms of the page are features too, of
// every link, at schemas.NoOffset.
func (t *Table) Tokens(l *schemas.Link, dMax int) iter.Seq2[uint32, int] {
	return func(yield func(term uint32, offset int) bool) {
		first, last := int64(l.GetFirstLeaf()), int64(l.GetLastLeaf())
		leaf := t.leaf(first - int64(dMax))
		from := begin(t.ends, leaf)
		for ; leaf < len(t.leaves); leaf++ {
			number, to := int64(t.leaves[leaf]), int(t.ends[leaf])
			if number > last+int64(dMax) {
				break
			}
			d := int(max(0, number-last) + min(0, number-first))
			for _, term := range t.tokens[from:to] {
				if !yield(term, d) {
					return
				}
			}
			from = to
		}
	}
}

// Far iterates over the terms of the tokens that are more than dMax leaves away from a link of the page.
func (t *Table) Far(l *schemas.Link, dMax int) iter.Seq[uint32] {
	return func(yield func(term uint32) bool) {
		for i, number := range t.leaves {
			if _, near := LeafOffset(l, number, number, dMax); near {
				continue
			}
			for _, term := range t.tokens[begin(t.ends, i):t.ends[i]] {
				if !yield(term) {
					return
				}
			}
		}
	}
}

// farPrefix begins the terms of FEATURE_FAMILY_FAR.
const farPrefix = "far"

// AppendFar appends the name of a term's feature farther than d_max.
func AppendFar(b []byte, term string) []byte {
	return append(append(append(b, farPrefix...), ':'), term...)
}

// farFeatures returns the features of FEATURE_FAMILY_FAR, in no order.
func (t *Table) farFeatures(l *schemas.Link, dMax int) []*schemas.Feature {
	counts := make(map[uint32]uint32)
	for term := range t.Far(l, dMax) {
		counts[term]++
	}
	features := make([]*schemas.Feature, 0, len(counts))
	for term, n := range counts {
		features = append(features, &schemas.Feature{Term: string(AppendFar(nil, t.Term(term))), Offset: schemas.NoOffset, Count: n})
	}
	return features
}

// LinkTerms iterates over the numbers of the terms of a link itself, which have no offset.
func (t *Table) LinkTerms(l *schemas.Link) iter.Seq[uint32] {
	return func(yield func(term uint32) bool) {
		i, ok := slices.BinarySearch(t.links, l.GetFirstLeaf())
		if !ok {
			return
		}
		for _, name := range t.linkTerms[begin(t.linkEnds, i):t.linkEnds[i]] {
			if !yield(uint32(t.Terms()) + name) {
				return
			}
		}
	}
}

// leaf returns the first listed leaf whose number is not below from.
func (t *Table) leaf(from int64) int {
	i, _ := slices.BinarySearch(t.leaves, uint32(max(0, from)))
	return i
}

// Features returns the features of a link of the page, of the family Offsets and the terms of the
// page, sorted by term, then offset.
func (t *Table) Features(l *schemas.Link, dMax int) []*schemas.Feature {
	return t.FeaturesOf(l, dMax, Offsets)
}

// FeaturesOf is Features for given families.
func (t *Table) FeaturesOf(l *schemas.Link, dMax int, f Families) []*schemas.Feature {
	f = f.orOffsets()
	keys := make([]uint64, 0, 128) // more than most links have; does not escape
	whole := func(term uint32) { keys = append(keys, uint64(term)<<8|uint64(schemas.NoOffset+128)) }
	for term, offset := range t.Tokens(l, dMax) {
		if f&Offsets != 0 || f&anchor != 0 && offset == 0 {
			keys = append(keys, uint64(term)<<8|uint64(offset+128))
		}
		if f&nearText != 0 {
			whole(term)
		}
	}
	for term := t.PageTerms(); term < t.Terms(); term++ {
		whole(uint32(term))
	}
	if f&ofLink != 0 {
		for term := range t.LinkTerms(l) {
			whole(term)
		}
	}
	var beyond []*schemas.Feature
	if f.Far() {
		beyond = t.farFeatures(l, dMax)
	}
	if len(keys)+len(beyond) == 0 {
		return nil
	}
	slices.Sort(keys)
	block := make([]schemas.Feature, len(keys))
	features := make([]*schemas.Feature, 0, len(keys))
	for i, key := range keys {
		if i > 0 && key == keys[i-1] {
			features[len(features)-1].Count++
			continue
		}
		f := &block[len(features)]
		f.Offset, f.Count = int32(key&0xff)-128, 1
		if term := int(key >> 8); term >= t.PageTerms() && term < t.Terms() {
			f.Count = t.PageCount(uint32(term))
		}
		if i > 0 && key>>8 == keys[i-1]>>8 {
			f.Term = features[len(features)-1].Term
		} else {
			f.Term = t.Term(uint32(key >> 8))
		}
		features = append(features, f)
	}
	features = append(features, beyond...)
	slices.SortFunc(features, inOrder)
	return features
}

// Features returns the features of one link of a page, sorted by term, then offset; nil for a table that Open refuses. A
// caller that reads several links of a page should open its table once.
func Features(t *schemas.LeafTable, l *schemas.Link, dMax int) []*schemas.Feature {
	table, err := Open(t)
	if err != nil {
		return nil
	}
	return table.Features(l, dMax)
}
