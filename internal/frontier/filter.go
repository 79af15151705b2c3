package frontier

import (
	"encoding/binary"
	"math/bits"

	"forager/schemas"
)

// filter says of most ids that they were not added: a Bloom filter in blocks of a cache line,
// each with a bit in each of its words for every id (Putze, Sanders and Singler, "Cache-, hash- and
// space-efficient Bloom filters", 2007), in layers, each twice as large as the one before.
// With 12 bits an id a layer takes one in 200 for added that was not.
type filter struct {
	layers []layer
	// budget of bytes. Once that is not enough the filter is off, and anything may have been added.
	budget int
	off    bool
}

type layer struct {
	blocks []block
	room   int // ids that may still be added
}

type block [8]uint64

const (
	filterBits = 12
	// firstLayer has room for so many ids.
	firstLayer = 1 << 16
)

func (f *filter) size() (bytes int) {
	for _, l := range f.layers {
		bytes += 64 * len(l.blocks)
	}
	return bytes
}

// limit sets the budget, bytes.
func (f *filter) limit(budget int) {
	if f.budget = budget; f.size() > budget {
		f.layers, f.off = nil, true
	}
}

// newLayer returns a layer for n ids.
func newLayer(n int) layer {
	return layer{blocks: make([]block, max(1, n*filterBits/512)), room: n}
}

// add adds an id that was not added before.
func (f *filter) add(id schemas.ID) {
	if f.off {
		return
	}
	last := len(f.layers) - 1
	if last < 0 || f.layers[last].room == 0 {
		next := newLayer(firstLayer << len(f.layers))
		if f.size()+64*len(next.blocks) > f.budget {
			f.layers, f.off = nil, true
			return
		}
		f.layers = append(f.layers, next)
		last++
	}
	l := &f.layers[last]
	l.room--
	b := l.block(id)
	for i, h := 0, binary.LittleEndian.Uint64(id[8:]); i < len(b); i, h = i+1, h>>6 {
		b[i] |= 1 << (h & 63)
	}
}

// has is false for ids that were not added; it may be true for one that was not.
func (f *filter) has(id schemas.ID) bool {
	if f.off {
		return true
	}
	for i := len(f.layers) - 1; i >= 0; i-- {
		if f.layers[i].has(id) {
			return true
		}
	}
	return false
}

func (l *layer) has(id schemas.ID) bool {
	b := l.block(id)
	for i, h := 0, binary.LittleEndian.Uint64(id[8:]); i < len(b); i, h = i+1, h>>6 {
		if b[i]>>(h&63)&1 == 0 {
			return false
		}
	}
	return true
}

// block of an id: ids are hashes, so their first half is uniform.
func (l *layer) block(id schemas.ID) *block {
	i, _ := bits.Mul64(binary.LittleEndian.Uint64(id[:8]), uint64(len(l.blocks)))
	return &l.blocks[i]
}
