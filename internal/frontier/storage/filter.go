package storage

import (
	"encoding/binary"
	"math/bits"

	"forager/schemas"
)

// Filter excludes most ids that were not added: a Bloom filter in blocks of a cache line,
// each with a bit in each of its words for every id (Putze, Sanders and Singler, "Cache-, hash- and
// space-efficient Bloom filters", 2007), in layers, each twice as large as the one before.
// With 12 bits an id a layer has one false positive in 200. The last layer that fits the budget takes three times
// the ids that it should, and then has one in three.
type Filter struct {
	layers []layer
	// budget of bytes. Once that is not enough the last layer is crowded, and then the filter is off: every id may have
	// been added.
	budget       int
	crowded, Off bool
}

type layer struct {
	blocks []block
	left   int // ids that may still be added
}

type block [8]uint64

const (
	filterBits = 12
	// crowd is how many times its regular number of ids the last layer takes.
	crowd      = 3
	blockBytes = 64
	// firstLayer is the number of ids in the first layer.
	firstLayer = 1 << 16
)

func (f *Filter) size() (bytes int) {
	for _, l := range f.layers {
		bytes += blockBytes * len(l.blocks)
	}
	return bytes
}

// Limit sets the budget, bytes.
func (f *Filter) Limit(budget int) {
	if f.budget = budget; f.size() > budget {
		f.layers, f.Off = nil, true
	}
}

// capacityOf is the number of ids that a layer of that many blocks should have.
func capacityOf(blocks int) int { return blocks * 8 * blockBytes / filterBits }

// extend adds capacity for another id, or turns the filter off.
func (f *Filter) extend() {
	want, left := firstLayer<<len(f.layers)*filterBits/(8*blockBytes), (f.budget-f.size())/blockBytes
	switch last := len(f.layers) - 1; {
	case left >= want/8:
		blocks := min(want, left)
		f.layers = append(f.layers, layer{blocks: make([]block, blocks), left: capacityOf(blocks)})
	case last >= 0 && !f.crowded:
		f.crowded, f.layers[last].left = true, (crowd-1)*capacityOf(len(f.layers[last].blocks))
	default:
		f.layers, f.Off = nil, true
	}
}

// Add adds an id that was not added before.
func (f *Filter) Add(id schemas.ID) {
	if f.Off {
		return
	}
	if last := len(f.layers) - 1; last < 0 || f.layers[last].left == 0 {
		if f.extend(); f.Off {
			return
		}
	}
	l := &f.layers[len(f.layers)-1]
	l.left--
	b := l.block(id)
	for i, h := 0, binary.LittleEndian.Uint64(id[8:]); i < len(b); i, h = i+1, h>>6 {
		b[i] |= 1 << (h & 63)
	}
}

// Has is false for most ids that were not added.
func (f *Filter) Has(id schemas.ID) bool {
	if f.Off {
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
