package apprentice

import (
	"fmt"
	"math"
	"slices"

	"forager/schemas"
)

const (
	// bins of R(v): ⌊256 R⌋.
	bins = 257
	// The cut lies in [.1, .9].
	minCut, maxCut = 26, 230
	// Offsets, schemas.NoOffset among them.
	minOffset, maxOffset = -128, 127
)

// Counts is all that was learnt from leaps, in integers. It is not safe for concurrent use.
type Counts struct {
	index map[string]uint32 // term → number
	terms []term            // in the order of their first use
	leaps [bins]uint64
	cut   int // a bin; 0 = not fixed yet
}

// term holds the counts of a term's features: tallies[i], ≥ 1, at places[i], ascending.
type term struct {
	name    string
	places  []place
	tallies []uint64
}

// place is an offset and a bin.
type place uint32

func newPlace(offset int32, bin int) place { return place(offset-minOffset)<<9 | place(bin) }

func (p place) offset() int32 { return int32(p>>9) + minOffset }
func (p place) bin() int      { return int(p & 0x1ff) }

// maxPlace is the highest place.
const maxPlace = (maxOffset-minOffset)<<9 | (bins - 1)

// NewCounts returns counts of nothing.
func NewCounts() *Counts { return &Counts{index: make(map[string]uint32)} }

// Leaps returns the number of leaps added.
func (c *Counts) Leaps() uint64 {
	var n uint64
	for _, k := range c.leaps {
		n += k
	}
	return n
}

// Add learns from one leap: the features of the link and R(v), in [0,1]. After an error nothing
// was learnt.
func (c *Counts) Add(features []*schemas.Feature, relevance float64) error {
	if !(relevance >= 0 && relevance <= 1) {
		return fmt.Errorf("leap with R(v) = %v, must be 0 to 1", relevance)
	}
	for _, f := range features {
		if f.GetTerm() == "" || f.GetOffset() < minOffset || f.GetOffset() > maxOffset {
			return fmt.Errorf("feature %q at offset %d", f.GetTerm(), f.GetOffset())
		}
	}
	bin := int(relevance * 256)
	c.leaps[bin]++
	var t *term
	for _, f := range features {
		if f.GetCount() == 0 {
			continue
		}
		if t == nil || t.name != f.Term { // features come sorted by term
			t = c.term(f.Term)
		}
		t.add(newPlace(f.Offset, bin), uint64(f.Count))
	}
	return nil
}

// term returns the place of a term's counts, valid until the next call.
func (c *Counts) term(name string) *term {
	n, ok := c.index[name]
	if !ok {
		n = uint32(len(c.terms))
		c.index[name] = n
		c.terms = append(c.terms, term{name: name})
	}
	return &c.terms[n]
}

func (t *term) add(p place, n uint64) {
	i, found := slices.BinarySearch(t.places, p)
	if found {
		t.tallies[i] += n
		return
	}
	t.places = slices.Insert(t.places, i, p)
	t.tallies = slices.Insert(t.tallies, i, n)
}

// fixCut sets the cut, once there is a leap to take it from.
func (c *Counts) fixCut() {
	if n := c.Leaps(); c.cut == 0 && n > 0 {
		below, above := c.middle(0, bins, n)
		c.cut = min(max((below+above+1)/2, minCut), maxCut)
	}
}

// middle returns the bins of the two middle leaps, of n in the bins from ≤ b < to.
func (c *Counts) middle(from, to int, n uint64) (below, above int) {
	var seen uint64
	below = -1
	for b := from; b < to; b++ {
		seen += c.leaps[b]
		if below < 0 && seen > (n-1)/2 {
			below = b
		}
		if seen > n/2 {
			return below, b
		}
	}
	return below, to - 1
}

// median returns the median of R(v) over n leaps in the bins from ≤ b < to.
func (c *Counts) median(from, to int, n uint64) float64 {
	below, above := c.middle(from, to, n)
	value := func(bin int) float64 { return math.Min(1, (float64(bin)+.5)/256) }
	return (value(below) + value(above)) / 2
}
