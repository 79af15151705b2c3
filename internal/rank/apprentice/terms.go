package apprentice

import (
	"cmp"
	"encoding/binary"
	"math/bits"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"

	"forager/schemas"
)

// A leap has some forty terms among hundreds of thousands, so the cost of an update is cache misses: one for a term with
// its name, and one for its cells. Both tables are open-addressed with linear probing, and an update first reads every
// cache line that it needs, for all features, before it compares or changes anything: reads that do not depend on each
// other miss concurrently.

// terms holds what was learned of each term, by name.
type terms[L any] struct {
	slots []term[L] // a power of two of them
	used  int
	// touched is a sum of what was read ahead, so that the compiler keeps the reads.
	touched uint64
}

// term holds what was learned of a term's features. A free slot has an empty name. A term fills a cache line.
type term[L any] struct {
	name   name
	long   string // the name where it is a long one
	learnt L
}

// name of a term: its first 15 bytes, lowest first, then its length, longName if it has more. Unused bytes are 0.
type name struct{ head, tail uint64 }

const (
	longName   = 0xff
	lengthBits = 56 // of tail, below the length
)

func newName(s string) name {
	n := len(s)
	switch {
	case n > 15:
		return name{first8(s), first8(s[8:])<<8>>8 | longName<<lengthBits}
	case n >= 8:
		return name{first8(s), first8(s[n-8:])>>(8*(16-n)) | uint64(n)<<lengthBits}
	case n >= 4:
		return name{first4(s) | first4(s[n-4:])<<(8*(n-4)), uint64(n) << lengthBits}
	}
	var head uint64
	for i := range n {
		head |= uint64(s[i]) << (8 * i)
	}
	return name{head, uint64(n) << lengthBits}
}

func first8(s string) uint64 { return binary.LittleEndian.Uint64([]byte(s[:8])) }
func first4(s string) uint64 { return uint64(binary.LittleEndian.Uint32([]byte(s[:4]))) }

func (n name) length() int { return int(n.tail >> lengthBits) }

func (t *term[L]) free() bool { return t.name.tail == 0 }

func (t *term[L]) string() string {
	if t.name.length() == longName {
		return t.long
	}
	return string(t.append(make([]byte, 0, 16)))
}

// append appends the name to b.
func (t *term[L]) append(b []byte) []byte {
	n := t.name.length()
	if n == longName {
		return append(b, t.long...)
	}
	at := len(b)
	b = binary.LittleEndian.AppendUint64(b, t.name.head)
	return binary.LittleEndian.AppendUint64(b, t.name.tail)[:at+n]
}

// hash is the key of a term in a Model.
func hash(s string) uint64 { return xxhash.Sum64String(s) }

func hashBytes(b []byte) uint64 { return xxhash.Sum64(b) }

// find returns the slot of a name, which is not empty, or the free one where it would be. There is always a free one.
func (t *terms[L]) find(s string) int { return t.probe(int(hash(s))&(len(t.slots)-1), s) }

// probe is find beginning at the slot of the name's hash.
func (t *terms[L]) probe(i int, s string) int {
	n, mask := newName(s), len(t.slots)-1
	for {
		at := &t.slots[i&mask]
		if at.name == n && (n.length() != longName || at.long == s) || at.free() {
			return i & mask
		}
		i++
	}
}

// grow makes space for n more terms.
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

// at returns the term of a name, which it adds if it is new. slot is the result of seek, perhaps before other terms were
// added, and is set to the term's slot.
func (t *terms[L]) at(slot *int, s string) *term[L] {
	if *slot >= 0 {
		return &t.slots[*slot]
	}
	*slot = t.probe(^*slot, s)
	at := &t.slots[*slot]
	if at.free() {
		if at.name = newName(s); at.name.length() == longName {
			at.long = strings.Clone(s)
		}
		t.used++
	}
	return at
}

// enter returns the term of a name, which it adds if it is new.
func (t *terms[L]) enter(s string) *term[L] {
	t.grow(1)
	slot := ^t.find(s)
	return t.at(&slot, s)
}

// all iterates over the terms in no order.
func (t *terms[L]) all(yield func(*term[L]) bool) {
	for i := range t.slots {
		if !t.slots[i].free() && !yield(&t.slots[i]) {
			return
		}
	}
}

// seek returns in found, for each feature, the slot of its term, or the complement (^) of the slot where it would be.
// Afterwards there is space for all of them.
func (t *terms[L]) seek(features []*schemas.Feature, found []int) []int {
	t.grow(len(features))
	found = found[:0]
	mask := len(t.slots) - 1
	for _, f := range features {
		found = append(found, int(hash(f.Term))&mask)
	}
	for _, i := range found {
		t.touched += t.slots[i].name.tail
	}
	for k, f := range features {
		if found[k] = t.probe(found[k], f.Term); t.slots[found[k]].free() {
			found[k] = ^found[k]
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

// cell is a place and the count of a term's feature there: place<<countBits | count. The count is ≥ 1, so that 0 is a free
// slot.
type cell uint64

const (
	countBits = 47 // leaves 17 bits for a place
	// countLimit is the value at which a count saturates, so that sums fit.
	countLimit = 1 << 40
)

func (c cell) place() place  { return place(c >> countBits) }
func (c cell) count() uint64 { return uint64(c) & (1<<countBits - 1) }

// cells are the counts of a term by place.
type cells struct {
	slots []cell // a power of two of them
	used  uint32
	// from is the least, to the largest offset, schemas.NoOffset apart; from = to = schemas.NoOffset if there is none.
	from, to int8
}

// add adds n ≥ 1 to the count at a place.
func (c *cells) add(p place, n uint64) {
	if len(c.slots) == 0 {
		c.slots = make([]cell, 2)
		c.from, c.to = schemas.NoOffset, schemas.NoOffset
	}
	i := c.find(p)
	if c.slots[i] == 0 {
		if 4*(int(c.used)+1) > 3*len(c.slots) {
			c.grow()
			i = c.find(p)
		}
		c.used++
		c.widen(p.offset())
	}
	n = min(countLimit, c.slots[i].count()+min(countLimit, n))
	c.slots[i] = cell(p)<<countBits | cell(n)
}

// widen notes an offset.
func (c *cells) widen(offset int32) {
	switch {
	case offset == schemas.NoOffset:
	case c.to == schemas.NoOffset:
		c.from, c.to = int8(offset), int8(offset)
	default:
		c.from, c.to = min(c.from, int8(offset)), max(c.to, int8(offset))
	}
}

// reach returns the least and the largest offset of a term's features, schemas.NoOffset apart; from > to if there is none.
func (c *cells) reach() (from, to int32) {
	if c.to == schemas.NoOffset {
		return maxOffset, minOffset
	}
	return int32(c.from), int32(c.to)
}

// find returns the slot of a place, a free one if it has none. There is always a free one.
func (c *cells) find(p place) int {
	mask := len(c.slots) - 1
	i := c.home(p)
	for c.slots[i] != 0 && c.slots[i].place() != p {
		i = (i + 1) & mask
	}
	return i
}

// home is the slot where find begins. All features of a leap have its bin, and most leaps have one of a few bins, so the
// cells of a bin are next to each other.
func (c *cells) home(p place) int {
	return (p.bin()*0x9e3779b1>>8 + int(p.offset())) & (len(c.slots) - 1)
}

// touch reads what find reads first. There must be a cell.
func (c *cells) touch(p place) uint64 { return uint64(c.slots[c.home(p)]) }

func (c *cells) grow() {
	old := c.slots
	c.slots = make([]cell, 2*len(old))
	for _, x := range old {
		if x != 0 {
			c.slots[c.find(x.place())] = x
		}
	}
}

// all iterates over the cells in no order.
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
