package apprentice

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"

	"forager/schemas"
)

// A leap touches some forty terms among hundreds of thousands, so what an update costs is
// cache misses: one for a term, with its name, and one for what was learnt of it. Both tables
// are open-addressed with linear probing.

// terms is what was learnt of each term, by name.
type terms[L any] struct {
	slots []term[L] // a power of two of them
	used  int
}

// term holds what was learnt of a term's features. A free slot has an empty name. It fills a
// cache line.
type term[L any] struct {
	name   name
	long   string // the name where it is a long one
	learnt L
}

// name of a term: up to 15 bytes of it and its length, longName if it has more.
type name [16]byte

const longName = 0xff

func newName(s string) (n name) {
	if copy(n[:15], s); len(s) > 15 {
		n[15] = longName
	} else {
		n[15] = byte(len(s))
	}
	return n
}

func (t *term[L]) free() bool { return t.name[15] == 0 }

func (t *term[L]) string() string {
	if t.name[15] == longName {
		return t.long
	}
	return string(t.name[:t.name[15]])
}

// hash is the number that a term is known by in a Model.
func hash(s string) uint64 { return xxhash.Sum64String(s) }

func hashBytes(b []byte) uint64 { return xxhash.Sum64(b) }

// find returns the slot of a name, which is not empty, or the free one where it would be. There
// is always a free one.
func (t *terms[L]) find(s string) int {
	n, mask := newName(s), len(t.slots)-1
	i := int(hash(s)) & mask
	for at := &t.slots[i]; !at.free() && !(at.name == n && (n[15] != longName || at.long == s)); at = &t.slots[i] {
		i = (i + 1) & mask
	}
	return i
}

// grow makes room for n more terms.
func (t *terms[L]) grow(n int) {
	need := max(16, 1<<bits.Len(uint(t.used+n)*4/3))
	if need <= len(t.slots) {
		return
	}
	old := t.slots
	t.slots = make([]term[L], need)
	for i := range old {
		if !old[i].free() {
			t.slots[t.find(old[i].string())] = old[i]
		}
	}
}

// at returns the term of a name, entered where it is new; find returned slot, perhaps before
// other terms were entered.
func (t *terms[L]) at(slot *int, s string) *term[L] {
	at := &t.slots[*slot]
	if n := newName(s); at.name == n && n[15] != longName {
		return at
	}
	*slot = t.find(s)
	if at = &t.slots[*slot]; at.free() {
		if at.name = newName(s); at.name[15] == longName {
			at.long = strings.Clone(s)
		}
		t.used++
	}
	return at
}

// all goes through the terms in no order.
func (t *terms[L]) all(yield func(*term[L]) bool) {
	for i := range t.slots {
		if !t.slots[i].free() && !yield(&t.slots[i]) {
			return
		}
	}
}

// seek returns the slots of the terms of features, a slot a distinct term, in found: all of them
// before any is changed, so that their cache misses run side by side. Features come sorted by term.
func (t *terms[L]) seek(features []*schemas.Feature, found []int) []int {
	t.grow(len(features))
	found = found[:0]
	for i, f := range features {
		if i == 0 || f.Term != features[i-1].Term {
			found = append(found, t.find(f.Term))
		}
	}
	return found
}

// named is a term under its name.
type named[L any] struct {
	name string
	*term[L]
}

// byName returns the terms in the order of their names.
func (t *terms[L]) byName() []named[L] {
	all := make([]named[L], 0, t.used)
	for x := range t.all {
		all = append(all, named[L]{x.string(), x})
	}
	slices.SortFunc(all, func(a, b named[L]) int { return strings.Compare(a.name, b.name) })
	return all
}

// cell is a place and how often a term's feature came there: place<<countBits | count. The
// count is ≥ 1, so that 0 is a free slot.
type cell uint64

const (
	countBits = 47 // leaves 17 bits for a place
	// countLimit bounds every count, so that sums fit: a count stops there.
	countLimit = 1 << 40
)

func (c cell) place() place  { return place(c >> countBits) }
func (c cell) count() uint64 { return uint64(c) & (1<<countBits - 1) }

// cells are the counts of a term by place.
type cells struct {
	slots []cell // a power of two of them
	used  uint32
}

// add counts n ≥ 1 more at a place.
func (c *cells) add(p place, n uint64) {
	if len(c.slots) == 0 {
		c.slots = make([]cell, 2)
	}
	i := c.find(p)
	if c.slots[i] == 0 {
		if 4*(int(c.used)+1) > 3*len(c.slots) {
			c.grow()
			i = c.find(p)
		}
		c.used++
	}
	n = min(countLimit, c.slots[i].count()+min(countLimit, n))
	c.slots[i] = cell(p)<<countBits | cell(n)
}

// find returns the slot of a place, a free one if it has none. There is always a free one. All
// features of a leap have its bin, and most leaps one of a few: the cells of a bin lie side by
// side.
func (c *cells) find(p place) int {
	mask := len(c.slots) - 1
	i := (p.bin()*0x9e3779b1>>8 + int(p.offset())) & mask
	for c.slots[i] != 0 && c.slots[i].place() != p {
		i = (i + 1) & mask
	}
	return i
}

func (c *cells) grow() {
	old := c.slots
	c.slots = make([]cell, 2*len(old))
	for _, x := range old {
		if x != 0 {
			c.slots[c.find(x.place())] = x
		}
	}
}

// all goes through the cells in no order.
func (c *cells) all(yield func(cell) bool) {
	for _, x := range c.slots {
		if x != 0 && !yield(x) {
			return
		}
	}
}

// sorted returns the cells by place, ascending, in buf.
func (c *cells) sorted(buf []cell) []cell {
	buf = buf[:0]
	for x := range c.all {
		buf = append(buf, x)
	}
	slices.SortFunc(buf, func(a, b cell) int { return cmp.Compare(a, b) })
	return buf
}
