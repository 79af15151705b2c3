package apprentice

import (
	"fmt"
	"math"

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
	terms terms
	leaps [bins]uint64
	cut   int // a bin; 0 = not fixed yet

	// found is scratch of Add, a slot a distinct term.
	found []int
}

// reach returns the least and the largest offset of the term's features.
func (t *term) reach() (from, to int32) {
	from, to = maxOffset, minOffset
	for x := range t.cells.all {
		from, to = min(from, x.place().offset()), max(to, x.place().offset())
	}
	return from, to
}

// place is an offset and a bin.
type place uint32

func newPlace(offset int32, bin int) place { return place(offset-minOffset)<<9 | place(bin) }

func (p place) offset() int32 { return int32(p>>9) + minOffset }
func (p place) bin() int      { return int(p & 0x1ff) }

// maxPlace is the highest place.
const maxPlace = (maxOffset-minOffset)<<9 | (bins - 1)

// NewCounts returns counts of nothing.
func NewCounts() *Counts { return new(Counts) }

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
	if err := check(features, relevance); err != nil {
		return err
	}
	bin := int(relevance * 256)
	c.leaps[bin]++
	c.count(features, bin)
	return nil
}

// AddFeatures adds features to a leap that Add was given without them, with the same R(v). In
// which order leaps get their features makes no difference.
func (c *Counts) AddFeatures(features []*schemas.Feature, relevance float64) error {
	if err := check(features, relevance); err != nil {
		return err
	}
	bin := int(relevance * 256)
	if c.leaps[bin] == 0 {
		return fmt.Errorf("features of a leap with R(v) = %v, and there is none", relevance)
	}
	c.count(features, bin)
	return nil
}

func check(features []*schemas.Feature, relevance float64) error {
	if !(relevance >= 0 && relevance <= 1) {
		return fmt.Errorf("leap with R(v) = %v, must be 0 to 1", relevance)
	}
	for _, f := range features {
		if f.GetTerm() == "" || f.GetOffset() < minOffset || f.GetOffset() > maxOffset {
			return fmt.Errorf("feature %q at offset %d", f.GetTerm(), f.GetOffset())
		}
	}
	return nil
}

// count counts features of a leap whose R(v) lies in a bin.
func (c *Counts) count(features []*schemas.Feature, bin int) {
	c.terms.grow(len(features))
	// First all terms, then all counts: so the cache misses of a leap run side by side.
	c.found = c.found[:0]
	for i, f := range features {
		if i == 0 || f.Term != features[i-1].Term { // features come sorted by term
			c.found = append(c.found, c.terms.find(f.Term))
		}
	}
	n := -1
	for i, f := range features {
		if i == 0 || f.Term != features[i-1].Term {
			n++
		}
		if f.Count > 0 {
			c.terms.at(&c.found[n], f.Term).cells.add(newPlace(f.Offset, bin), uint64(f.Count))
		}
	}
}

// SetCut sets the cut, whether or not it was fixed before: high ⇔ R(v) ≥ cut. It must lie in [.1, .9]
// and is rounded to a multiple of 1/256. 0 lets it be fixed anew, by all leaps there are.
func (c *Counts) SetCut(cut float64) error {
	bin := int(math.Round(cut * 256))
	if cut != 0 && !(cut >= .1 && cut <= .9) {
		return fmt.Errorf("cut %v, must be .1 to .9", cut)
	}
	if c.Leaps() == 0 && bin != 0 {
		return fmt.Errorf("cut %v of no leaps", cut)
	}
	c.cut = bin
	return nil
}

// FixCut sets the cut, once there is a leap to take it from, as Model does.
func (c *Counts) FixCut() {
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
