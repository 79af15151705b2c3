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
	index map[string]uint32 // term → number
	terms []string          // in the order of their first use
	cells map[cell]uint64
	leaps [bins]uint64
	cut   int // a bin; 0 = not fixed yet
}

// cell is a term's number, an offset and a bin.
type cell uint64

func newCell(term uint32, offset int32, bin int) cell {
	return cell(term)<<17 | cell(offset-minOffset)<<9 | cell(bin)
}

func (c cell) term() uint32  { return uint32(c >> 17) }
func (c cell) offset() int32 { return int32(c>>9&0xff) + minOffset }
func (c cell) bin() int      { return int(c & 0x1ff) }

// NewCounts returns counts of nothing.
func NewCounts() *Counts {
	return &Counts{index: make(map[string]uint32), cells: make(map[cell]uint64)}
}

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
	var term uint32
	for i, f := range features {
		if f.GetCount() == 0 {
			continue
		}
		// Features come sorted by term.
		if i == 0 || f.Term != features[i-1].GetTerm() || features[i-1].GetCount() == 0 {
			term = c.number(f.Term)
		}
		c.cells[newCell(term, f.Offset, bin)] += uint64(f.Count)
	}
	return nil
}

func (c *Counts) number(term string) uint32 {
	n, ok := c.index[term]
	if !ok {
		n = uint32(len(c.terms))
		c.index[term] = n
		c.terms = append(c.terms, term)
	}
	return n
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
