package linkfeature

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"sync/atomic"

	"github.com/cespare/xxhash/v2"

	"forager/schemas"
)

// Table is a checked LeafTable that can be read link by link. It is one block of bytes, a fraction of the memory of the
// record, and can be stored as it is. It is safe for concurrent use.
type Table struct {
	b    []byte
	wide bool // numbers have four bytes, not two
	// Number of terms, of which the last pageTerms are terms of the page; of leaves; of tokens.
	terms, pageTerms, leaves, tokens int
	// Number of links that have terms of their own; of these terms (names); of their occurrences.
	links, names, linkTerms int
	// counted: terms of the page have counts; otherwise each counts 1.
	counted bool
	// Offsets of the lists in b: numbers of leaves, ends of their tokens, tokens, then the same of links, counts of terms
	// of the page, ends of terms and names, text.
	leafAt, endAt, tokenAt, linkAt, linkEndAt, linkTermAt, countAt, termAt, textAt int
	hashes                                                                         atomic.Pointer[[]uint64] // nil = not kept
}

// A table's bytes: version, wide (0 or 1), numbers of four bytes (terms, terms of the page among them, leaves, tokens; from
// version 2 on also links, names and terms of links), then lists of numbers, of two bytes each if all fit: the leaves; the
// ends of their tokens; the tokens; from version 2 on the first leaves of links; the ends of their terms; these terms,
// numbered after those of the page; in version 3 the count of each term of the page; the ends of terms and names in the
// text, which comes last. Numbers are little-endian. Version 1 is written if links have no terms, version 3 if terms of the
// page have counts.
const (
	plainVersion, plainHead = 1, 2 + 4*4
	linkVersion, linkHead   = 2, 2 + 7*4
	countVersion            = 3
)

// head returns the size of the header, before the lists.
func (t *Table) head() int {
	if t.links > 0 || t.counted {
		return linkHead
	}
	return plainHead
}

// numbers returns the fields of the header.
func (t *Table) numbers() []*int {
	all := []*int{&t.terms, &t.pageTerms, &t.leaves, &t.tokens, &t.links, &t.names, &t.linkTerms}
	if t.links > 0 || t.counted {
		return all
	}
	return all[:4]
}

// errTable is the error of bytes that are not a table.
var errTable = errors.New("damaged leaf table")

// Open checks a table and makes it readable; a nil record is an empty table.
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
	return pack(t), nil
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

// pack lays out a checked table.
func pack(t *schemas.LeafTable) *Table {
	texts := [][]string{t.GetTerms(), t.GetPageTerms(), t.GetLinkNames()}
	var text int
	for _, terms := range texts {
		for _, term := range terms {
			text += len(term)
		}
	}
	p := &Table{
		terms: len(t.GetTerms()) + len(t.GetPageTerms()), pageTerms: len(t.GetPageTerms()),
		leaves: len(t.GetLeaves()), tokens: len(t.GetTokens()),
		links: len(t.GetLinkLeaves()), names: len(t.GetLinkNames()), linkTerms: len(t.GetLinkTerms()),
		counted: len(t.GetPageCounts()) > 0,
	}
	if p.links == 0 { // names of no link
		texts, p.names = texts[:2], 0
	}
	p.wide = max(text, p.tokens, p.linkTerms, p.terms+p.names) > math.MaxUint16 ||
		p.leaves > 0 && t.Leaves[p.leaves-1] > math.MaxUint16 || p.links > 0 && t.LinkLeaves[p.links-1] > math.MaxUint16 ||
		p.counted && slices.Max(t.PageCounts) > math.MaxUint16
	p.layOut()
	b := make([]byte, 0, p.textAt+text)
	b = append(b, plainVersion, 0)
	switch {
	case p.counted:
		b[0] = countVersion
	case p.links > 0:
		b[0] = linkVersion
	}
	if p.wide {
		b[1] = 1
	}
	for _, n := range p.numbers() {
		b = binary.LittleEndian.AppendUint32(b, uint32(*n))
	}
	put := func(n uint32) {
		if p.wide {
			b = binary.LittleEndian.AppendUint32(b, n)
		} else {
			b = binary.LittleEndian.AppendUint16(b, uint16(n))
		}
	}
	lists := func(leaves, lengths, tokens []uint32, first int) {
		for _, n := range leaves {
			put(n)
		}
		end := uint32(0)
		for _, n := range lengths {
			end += n
			put(end)
		}
		for _, n := range tokens {
			put(uint32(first) + n)
		}
	}
	lists(t.GetLeaves(), t.GetLeafLengths(), t.GetTokens(), 0)
	lists(t.GetLinkLeaves(), t.GetLinkLengths(), t.GetLinkTerms(), p.terms)
	for _, n := range t.GetPageCounts() {
		put(n)
	}
	end := uint32(0)
	for _, terms := range texts {
		for _, term := range terms {
			end += uint32(len(term))
			put(end)
		}
	}
	for _, terms := range texts {
		for _, term := range terms {
			b = append(b, term...)
		}
	}
	p.b = b
	return p
}

// layOut computes the offsets of the lists from their lengths.
func (t *Table) layOut() {
	size := 2
	if t.wide {
		size = 4
	}
	t.leafAt = t.head()
	t.endAt = t.leafAt + size*t.leaves
	t.tokenAt = t.endAt + size*t.leaves
	t.linkAt = t.tokenAt + size*t.tokens
	t.linkEndAt = t.linkAt + size*t.links
	t.linkTermAt = t.linkEndAt + size*t.links
	t.countAt = t.linkTermAt + size*t.linkTerms
	t.termAt = t.countAt
	if t.counted {
		t.termAt += size * t.pageTerms
	}
	t.textAt = t.termAt + size*(t.terms+t.names)
}

// Bytes returns the table in the form that ReadTable reads; it must not be changed.
func (t *Table) Bytes() []byte { return t.b }

// ReadTable reads the result of Bytes, of which it keeps a copy. Any other bytes are an error.
func ReadTable(b []byte) (*Table, error) { return TableIn(slices.Clone(b)) }

// TableIn is ReadTable without the copy: the table refers to b, which must not be changed while it is in use.
func TableIn(b []byte) (*Table, error) {
	if len(b) < plainHead || b[0] < plainVersion || b[0] > countVersion || b[1] > 1 || b[0] != plainVersion && len(b) < linkHead {
		return nil, fmt.Errorf("%w: of %d bytes, or of another version", errTable, len(b))
	}
	t := &Table{b: b, wide: b[1] == 1, counted: b[0] == countVersion}
	if b[0] == linkVersion {
		t.links = 1 // until it is read
	}
	for i, n := range t.numbers() {
		*n = int(binary.LittleEndian.Uint32(b[2+4*i:]))
		if *n > len(b) {
			return nil, fmt.Errorf("%w: it counts to %d in %d bytes", errTable, *n, len(b))
		}
	}
	if b[0] == linkVersion && t.links == 0 {
		return nil, fmt.Errorf("%w: of links that it does not have", errTable)
	}
	if t.counted && t.pageTerms == 0 {
		return nil, fmt.Errorf("%w: counts of terms of the page that it does not have", errTable)
	}
	t.layOut()
	if t.textAt > len(b) || t.pageTerms > t.terms {
		return nil, fmt.Errorf("%w: cut short", errTable)
	}
	if !t.ascends(t.leafAt, t.leaves) || !t.ascends(t.linkAt, t.links) {
		return nil, fmt.Errorf("%w: its leaves do not ascend", errTable)
	}
	if t.ends(t.endAt, t.leaves) != t.tokens || t.ends(t.linkEndAt, t.links) != t.linkTerms || t.ends(t.termAt, t.terms+t.names) != len(b)-t.textAt {
		return nil, fmt.Errorf("%w: its lists do not fit each other", errTable)
	}
	if !t.between(t.tokenAt, t.tokens, 0, t.terms-t.pageTerms) || !t.between(t.linkTermAt, t.linkTerms, t.terms, t.terms+t.names) {
		return nil, fmt.Errorf("%w: token of a term that it does not have", errTable)
	}
	if t.counted && !t.between(t.countAt, t.pageTerms, 1, math.MaxInt) {
		return nil, fmt.Errorf("%w: a term of the page counts 0", errTable)
	}
	return t, nil
}

// ascends reports whether n numbers are strictly ascending.
func (t *Table) ascends(at, n int) bool {
	for i := 1; i < n; i++ {
		if t.number(at, i) <= t.number(at, i-1) {
			return false
		}
	}
	return true
}

// between reports whether n numbers are all at least from and below to.
func (t *Table) between(at, n, from, to int) bool {
	for i := range n {
		if x := int(t.number(at, i)); x < from || x >= to {
			return false
		}
	}
	return true
}

// ends returns the last of n ascending ends, −1 if they do not ascend.
func (t *Table) ends(at, n int) int {
	last := 0
	for i := range n {
		end := int(t.number(at, i))
		if end < last {
			return -1
		}
		last = end
	}
	return last
}

// number returns number i of the list at at.
func (t *Table) number(at, i int) uint32 {
	if t.wide {
		return binary.LittleEndian.Uint32(t.b[at+4*i:])
	}
	return uint32(binary.LittleEndian.Uint16(t.b[at+2*i:]))
}

// end returns the end of item i−1 in the list of ends at at, which is the begin of item i.
func (t *Table) end(at, i int) int {
	if i == 0 {
		return 0
	}
	return int(t.number(at, i-1))
}

// Terms returns the number of terms; they are numbered from 0, terms of the page last. Terms of links are numbered after
// them.
func (t *Table) Terms() int { return t.terms }

// Term returns the term of a number, bytes of the table.
func (t *Table) Term(number uint32) []byte {
	i := int(number)
	return t.b[t.textAt+t.end(t.termAt, i) : t.textAt+t.end(t.termAt, i+1)]
}

// Memory returns the memory of the table, bytes.
func (t *Table) Memory() int {
	if t.hashes.Load() != nil {
		return len(t.b) + 8*t.terms
	}
	return len(t.b)
}

// KeepHashes computes and keeps the hashes of all terms, for callers that use them repeatedly.
func (t *Table) KeepHashes() {
	if t.hashes.Load() == nil {
		hashes := make([]uint64, t.terms)
		for term := range hashes {
			hashes[term] = xxhash.Sum64(t.Term(uint32(term)))
		}
		t.hashes.Store(&hashes)
	}
}

// Hash is the xxHash of a term.
func (t *Table) Hash(term uint32) uint64 {
	if kept := t.hashes.Load(); kept != nil && int(term) < len(*kept) {
		return (*kept)[term]
	}
	return xxhash.Sum64(t.Term(term))
}

// PageTerms returns the number of the first term of the page; those from it on have no offset.
func (t *Table) PageTerms() int { return t.terms - t.pageTerms }

// PageCount returns the count of a term of the page, in parts of Unit.
func (t *Table) PageCount(term uint32) uint32 {
	if !t.counted {
		return 1
	}
	return t.number(t.countAt, int(term)-t.PageTerms())
}

// Tokens iterates over the tokens at most dMax leaves away from a link of the page, in document order: the number of each
// one's term and its DOM offset. A feature ⟨t, d⟩ with count n comes n times. The terms of the page are features too, of
// every link, at schemas.NoOffset.
func (t *Table) Tokens(l *schemas.Link, dMax int) iter.Seq2[uint32, int] {
	return func(yield func(term uint32, offset int) bool) {
		first, last := int64(l.GetFirstLeaf()), int64(l.GetLastLeaf())
		leaf := t.leaf(first - int64(dMax))
		token := t.end(t.endAt, leaf)
		for ; leaf < t.leaves; leaf++ {
			number := int64(t.number(t.leafAt, leaf))
			if number > last+int64(dMax) {
				break
			}
			d := int(max(0, number-last) + min(0, number-first))
			for end := int(t.number(t.endAt, leaf)); token < end; token++ {
				if !yield(t.number(t.tokenAt, token), d) {
					return
				}
			}
		}
	}
}

// Far iterates over the terms of the tokens that are more than dMax leaves away from a link of the page.
func (t *Table) Far(l *schemas.Link, dMax int) iter.Seq[uint32] {
	return func(yield func(term uint32) bool) {
		token := 0
		for leaf := range t.leaves {
			end := int(t.number(t.endAt, leaf))
			number := t.number(t.leafAt, leaf)
			if _, near := LeafOffset(l, number, number, dMax); near {
				token = end
			}
			for ; token < end; token++ {
				if !yield(t.number(t.tokenAt, token)) {
					return
				}
			}
		}
	}
}

// farPrefix begins the terms of FEATURE_FAMILY_FAR.
const farPrefix = "far"

// AppendFar appends the name of a term's feature farther than d_max.
func AppendFar(b, term []byte) []byte { return append(append(append(b, farPrefix...), ':'), term...) }

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

// Sum adds up the weights of the tokens that Tokens yields. weights has 2·dMax+1 elements for each term, for the offsets
// −dMax to dMax.
func (t *Table) Sum(l *schemas.Link, dMax int, weights []float64) float64 {
	first, last, width := int64(l.GetFirstLeaf()), int64(l.GetLastLeaf()), 2*dMax+1
	leaf := t.leaf(first - int64(dMax))
	token := t.end(t.endAt, leaf)
	var sum float64
	for ; leaf < t.leaves; leaf++ {
		number := int64(t.number(t.leafAt, leaf))
		if number > last+int64(dMax) {
			break
		}
		column := dMax + int(max(0, number-last)+min(0, number-first))
		end := int(t.number(t.endAt, leaf))
		if t.wide {
			for ; token < end; token++ {
				sum += weights[int(t.number(t.tokenAt, token))*width+column]
			}
			continue
		}
		for b := t.b[t.tokenAt+2*token : t.tokenAt+2*end]; len(b) >= 2; b = b[2:] {
			sum += weights[int(binary.LittleEndian.Uint16(b))*width+column]
		}
		token = end
	}
	return sum
}

// LinkTerms iterates over the numbers of the terms of a link itself, which have no offset.
func (t *Table) LinkTerms(l *schemas.Link) iter.Seq[uint32] {
	return func(yield func(term uint32) bool) {
		if t.links == 0 {
			return
		}
		i := t.search(t.linkAt, t.links, int64(l.GetFirstLeaf()))
		if i == t.links || t.number(t.linkAt, i) != l.GetFirstLeaf() {
			return
		}
		for at := t.end(t.linkEndAt, i); at < int(t.number(t.linkEndAt, i)); at++ {
			if !yield(t.number(t.linkTermAt, at)) {
				return
			}
		}
	}
}

// leaf returns the first listed leaf whose number is not below from.
func (t *Table) leaf(from int64) int { return t.search(t.leafAt, t.leaves, from) }

// search returns the first of n ascending numbers that is not below from.
func (t *Table) search(at, n int, from int64) int {
	low, high := 0, n
	for low < high {
		if mid := (low + high) / 2; int64(t.number(at, mid)) < from {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low
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
			f.Term = string(t.Term(uint32(key >> 8)))
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
