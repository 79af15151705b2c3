package dom

import (
	"math/bits"

	"github.com/cespare/xxhash/v2"
)

// fingerprint is Charikar's simhash of the terms with their numbers of occurrences, as defined in the package
// documentation.
func fingerprint(terms []string, counts []uint32) uint64 {
	const (
		maxWeight = 7
		rows      = 255 / maxWeight // that fit into a byte
	)
	var sums [64]uint32
	total := uint32(0)
	for len(terms) > 0 {
		n := min(rows, len(terms))
		var lanes [8]uint64 // byte j of lane i sums bit 8i+j
		for k, term := range terms[:n] {
			h := xxhash.Sum64String(term)
			weight := min(uint32(bits.Len32(counts[k])), maxWeight)
			total += weight
			for i := range lanes {
				lanes[i] += spread[uint8(h>>(8*i))] * uint64(weight)
			}
		}
		for b := range sums {
			sums[b] += uint32(uint8(lanes[b/8] >> (8 * (b % 8))))
		}
		terms, counts = terms[n:], counts[n:]
	}
	var f uint64
	for b, sum := range sums {
		if 2*sum > total {
			f |= 1 << b
		}
	}
	return f
}

// spread puts bit j of a byte into byte j of a word.
var spread = func() (t [256]uint64) {
	for i := range t {
		for j := range 8 {
			t[i] |= uint64(i>>j&1) << (8 * j)
		}
	}
	return t
}()
