package storage

import (
	"encoding/binary"
	"math"

	"forager/schemas"
)

// Ordinals caches the ordinals of the URLs that were looked up last, 8 bytes each: a table of buckets that are a
// cache line each, the most recently used slot first. It grows to its bound, and then evicts within buckets. A URL is identified by
// 32 bits of its id, so once in some thousands of times a new one is taken for another: the caller reads the
// entry anyway, and compares its URL.
type Ordinals struct {
	// A slot of a bucket is the URL's tag in its upper half and the ordinal in its lower one; 0 = free.
	buckets [][bucketSlots]uint64
	used    int
	// budget of buckets, at least 1.
	budget int
}

const (
	bucketSlots = 8
	bucketBytes = 8 * bucketSlots
	// firstBuckets are those of a table that was not used yet.
	firstBuckets = 1 << 6
)

// tagOf identifies a URL; it also determines its bucket.
func tagOf(id schemas.ID) uint32 { return binary.BigEndian.Uint32(id[:]) }

func (o *Ordinals) bucket(tag uint32) *[bucketSlots]uint64 {
	return &o.buckets[uint64(tag)*uint64(len(o.buckets))>>32]
}

// Limit sets the budget, bytes. A table that is larger is dropped.
func (o *Ordinals) Limit(bytes int) {
	o.budget = max(1, bytes/bucketBytes)
	if len(o.buckets) > o.budget {
		o.buckets, o.used = nil, 0
	}
}

// Peek returns the ordinal that the URL of an id most likely has. Several goroutines may call it while the table
// is not changed.
func (o *Ordinals) Peek(id schemas.ID) (ordinal uint64, ok bool) {
	if len(o.buckets) == 0 {
		return 0, false
	}
	tag := tagOf(id)
	for _, slot := range o.bucket(tag) {
		if slot != 0 && uint32(slot>>32) == tag {
			return slot & math.MaxUint32, true
		}
	}
	return 0, false
}

// Put makes the URL of an id the most recently used of its bucket. Ordinals of more than 32 bits are not kept.
func (o *Ordinals) Put(id schemas.ID, ordinal uint64) {
	if ordinal == 0 || ordinal > math.MaxUint32 {
		return
	}
	if o.used >= len(o.buckets)*bucketSlots*3/4 {
		o.grow()
	}
	o.place(uint64(tagOf(id))<<32 | ordinal)
}

// place puts a slot first in its bucket; it replaces the one of its tag, or the last one.
func (o *Ordinals) place(slot uint64) {
	b := o.bucket(uint32(slot >> 32))
	last := 0
	for last < bucketSlots-1 && b[last] != 0 && b[last]>>32 != slot>>32 {
		last++
	}
	if b[last] == 0 {
		o.used++
	}
	copy(b[1:last+1], b[:last])
	b[0] = slot
}

// grow doubles the table if its budget allows that.
func (o *Ordinals) grow() {
	n := min(max(firstBuckets, 2*len(o.buckets)), o.budget)
	if n <= len(o.buckets) {
		return
	}
	old := o.buckets
	o.buckets, o.used = make([][bucketSlots]uint64, n), 0
	for i := range old {
		for at := bucketSlots - 1; at >= 0; at-- { // the one used last is put last
			if slot := old[i][at]; slot != 0 {
				o.place(slot)
			}
		}
	}
}
