package linkfeature

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/cespare/xxhash/v2"

	"forager/schemas"
)

// Most of a table is the text of its terms, and most terms are in many tables. Stored tables have the numbers of terms in a
// Dictionary where it has them (docs/decisions/0106).

const (
	// MostTerms is the number of terms of a full Dictionary, whose numbers fit in two bytes.
	MostTerms = 1 << 13
	// longestTerm is the length of the longest term that it takes, bytes.
	longestTerm = 32
)

// Dictionary numbers the first terms that it is given. Only one goroutine may use AppendStored and Add; others may read tables
// meanwhile.
type Dictionary struct {
	terms  atomic.Pointer[[]numbered] // by number
	number map[string]uint32
	// Scratch of AppendStored (code).
	codes []uint32
	own   []string
	// places of the terms of the dictionary in the table that is read (tokens).
	places sync.Pool
}

type numbered struct {
	term string
	hash uint64
}

// Len returns the number of terms.
func (d *Dictionary) Len() int { return len(d.all()) }

// Term returns the term of a number below Len.
func (d *Dictionary) Term(number int) string { return d.all()[number].term }

func (d *Dictionary) all() []numbered {
	if all := d.terms.Load(); all != nil {
		return *all
	}
	return nil
}

// Add gives a term the next number; false if it gets none.
func (d *Dictionary) Add(term string) bool {
	all := d.all()
	if len(all) == MostTerms || len(term) > longestTerm {
		return false
	}
	if _, known := d.number[term]; known {
		return false
	}
	if d.number == nil {
		d.number = make(map[string]uint32)
	}
	d.number[term] = uint32(len(all))
	all = append(all, numbered{term, xxhash.Sum64String(term)})
	d.terms.Store(&all)
	return true
}

// A stored table is a version and varints. First, numbers: leaves; tokens; terms in the dictionary and others; terms of the
// page, and counts of these; links with terms; these terms, and their names. Then the lists: of each leaf its distance to the
// one before it and its number of tokens; the terms of the tokens, 2n+1 for number n of the dictionary, 2n for the nth other
// term; of the links the same as of leaves, and the names of their terms; counts of the terms of the page; lengths of the other
// terms, the terms of the page and the names; their text.
const storedVersion = 1

// AppendStored appends a table. Terms that are new to the dictionary are added to it. The error is that of Open.
func AppendStored(b []byte, t *schemas.LeafTable, d *Dictionary) ([]byte, error) {
	if _, err := Open(t); err != nil {
		return nil, err
	}
	shared := d.code(t)
	b = append(b, storedVersion)
	for _, n := range [...]int{
		len(t.GetLeaves()), len(t.GetTokens()), shared, len(d.own), len(t.GetPageTerms()), len(t.GetPageCounts()), len(t.GetLinkLeaves()), len(t.GetLinkTerms()), len(t.GetLinkNames()),
	} {
		b = binary.AppendUvarint(b, uint64(n))
	}
	b = appendLeaves(b, t.GetLeaves(), t.GetLeafLengths())
	for _, term := range t.GetTokens() {
		b = binary.AppendUvarint(b, uint64(d.codes[term]))
	}
	b = appendLeaves(b, t.GetLinkLeaves(), t.GetLinkLengths())
	for _, list := range [...][]uint32{t.GetLinkTerms(), t.GetPageCounts()} {
		for _, n := range list {
			b = binary.AppendUvarint(b, uint64(n))
		}
	}
	texts := [...][]string{d.own, t.GetPageTerms(), t.GetLinkNames()}
	for _, terms := range texts {
		for _, term := range terms {
			b = binary.AppendUvarint(b, uint64(len(term)))
		}
	}
	for _, terms := range texts {
		for _, term := range terms {
			b = append(b, term...)
		}
	}
	return b, nil
}

// code sets codes to those of the terms of tokens, own to the terms that are not in the dictionary, and returns how many are.
func (d *Dictionary) code(t *schemas.LeafTable) (shared int) {
	d.own = d.own[:0]
	d.codes = slices.Grow(d.codes[:0], len(t.GetTerms()))[:len(t.GetTerms())]
	clear(d.codes)
	for _, term := range t.GetTokens() {
		if d.codes[term] > 0 {
			continue
		}
		text := t.Terms[term]
		number, ok := d.number[text]
		if !ok {
			number, ok = uint32(d.Len()), d.Add(text)
		}
		if ok {
			shared++
			d.codes[term] = 2*number + 1
		} else {
			d.own = append(d.own, text)
			d.codes[term] = 2 * uint32(len(d.own))
		}
	}
	return shared
}

func appendLeaves(b []byte, leaves, lengths []uint32) []byte {
	last := uint32(0)
	for i, leaf := range leaves {
		b = binary.AppendUvarint(b, uint64(leaf-last))
		b = binary.AppendUvarint(b, uint64(lengths[i]))
		last = leaf
	}
	return b
}

// errTable is the error of bytes that are not a table.
var errTable = errors.New("damaged leaf table")

// ReadStored reads what AppendStored wrote with the same dictionary. Any other bytes are an error, never a panic.
func ReadStored(b []byte, d *Dictionary) (*Table, error) {
	r := &varints{rest: b}
	version := r.next()
	var n [9]int
	for i := range n {
		n[i] = int(r.upTo(len(b)))
	}
	leaves, tokens, shared, own, pageTerms, counts, links, linkTerms, names := n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7], n[8]
	if r.bad || version != storedVersion || counts > 0 && counts != pageTerms {
		return nil, errTable
	}
	block := make([]uint32, 2*leaves+tokens+shared+2*links+linkTerms+counts)
	list := func(n int) []uint32 {
		list := block[:n:n]
		block = block[n:]
		return list
	}
	t := &Table{dictionary: d.all()}
	t.leaves, t.ends = r.leaves(list(leaves), list(leaves), tokens)
	t.tokens, t.shared = d.tokens(r, list(tokens), list(shared), uint32(own), t.dictionary)
	t.links, t.linkEnds = r.leaves(list(links), list(links), linkTerms)
	t.linkTerms, t.counts = r.list(list(linkTerms), 0, names-1), r.list(list(counts), 1, math.MaxUint32)
	terms := make([]string, own+pageTerms+names)
	t.own, t.pageTerms, t.names = terms[:own:own], terms[own:own+pageTerms:own+pageTerms], terms[own+pageTerms:]
	lengths := r.list(make([]uint32, len(terms)), 0, len(b))
	text := string(r.rest)
	for i, n := range lengths {
		if int(n) > len(text) {
			return nil, errTable
		}
		terms[i], text = text[:n], text[n:]
	}
	if r.bad || text != "" {
		return nil, errTable
	}
	return t, nil
}

// tokens reads the terms of tokens, and numbers them: terms of the dictionary in the order in which they come, then the other
// terms.
func (d *Dictionary) tokens(r *varints, tokens, shared []uint32, own uint32, dictionary []numbered) (_, _ []uint32) {
	places, ok := d.places.Get().(*[MostTerms]uint32) // from 1; 0 = it has not come yet
	if !ok {
		places = new([MostTerms]uint32)
	}
	found := 0
	for i := range tokens {
		code := r.next()
		n := code / 2
		switch {
		case code%2 == 0 && n > 0 && n <= own:
			tokens[i] = uint32(len(shared)) + n - 1
		case code%2 == 1 && int(n) < len(dictionary) && (places[n] > 0 || found < len(shared)):
			if places[n] == 0 {
				shared[found] = n
				found++
				places[n] = uint32(found)
			}
			tokens[i] = places[n] - 1
		default:
			r.bad = true
		}
	}
	r.bad = r.bad || found != len(shared)
	for _, n := range shared[:found] {
		places[n] = 0
	}
	d.places.Put(places)
	return tokens, shared
}

// varints reads a stored table; after the first error everything reads as 0.
type varints struct {
	rest []byte
	bad  bool
}

func (r *varints) next() uint32 {
	switch b := r.rest; {
	case len(b) > 0 && b[0] < 0x80:
		r.rest = b[1:]
		return uint32(b[0])
	case len(b) > 1 && b[1] < 0x80:
		r.rest = b[2:]
		return uint32(b[0]&0x7f) | uint32(b[1])<<7
	}
	n, size := binary.Uvarint(r.rest)
	if size <= 0 || n > math.MaxUint32 {
		r.bad, r.rest = true, nil
		return 0
	}
	r.rest = r.rest[size:]
	return uint32(n)
}

// upTo reads a number of at most most.
func (r *varints) upTo(most int) uint32 {
	n := r.next()
	if int64(n) > int64(most) {
		r.bad, r.rest = true, nil
		return 0
	}
	return n
}

// list reads numbers between least and most.
func (r *varints) list(list []uint32, least uint32, most int) []uint32 {
	for i := range list {
		list[i] = r.upTo(most)
		r.bad = r.bad || list[i] < least
	}
	return list
}

// leaves reads leaves of so many tokens, and the ends of these.
func (r *varints) leaves(leaves, ends []uint32, tokens int) (_, _ []uint32) {
	leaf, end := 0, 0
	for i := range leaves {
		distance := int(r.upTo(math.MaxUint32 - leaf))
		r.bad = r.bad || i > 0 && distance == 0
		leaf += distance
		end += int(r.upTo(tokens - end))
		leaves[i], ends[i] = uint32(leaf), uint32(end)
	}
	r.bad = r.bad || end != tokens
	return leaves, ends
}
