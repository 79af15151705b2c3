package apprentice

import (
	"fmt"
	"math"

	"forager/internal/platform/modelfile"
)

const (
	// bins is the number of bins of R(v), ⌊256 R⌋.
	bins = 257
	// The cut is in [.1, .9].
	minCut, maxCut = 26, 230
)

// relevances are the R(v) of the leaps that were added, by bin, and the cut.
type relevances struct {
	leaps [bins]uint64
	cut   int // a bin; 0 = not fixed yet
}

func binOf(relevance float64) int { return int(relevance * 256) }

// note counts a leap and returns its bin.
func (c *relevances) note(relevance float64) (bin int) {
	bin = binOf(relevance)
	c.leaps[bin]++
	return bin
}

// Leaps returns the number of leaps added.
func (c *relevances) Leaps() uint64 {
	var n uint64
	for _, k := range c.leaps {
		n += k
	}
	return n
}

// SetCut sets the cut, whether or not it was fixed before: high ⇔ R(v) ≥ cut. It must be in [.1, .9] and is rounded to a
// multiple of 1/256. 0 clears it, so that it is fixed again, by all leaps there are.
func (c *relevances) SetCut(cut float64) error {
	bin := int(math.Round(cut * 256))
	if cut != 0 && !(cut >= .1 && cut <= .9) {
		return fmt.Errorf("cut %v, must be .1 to .9", cut)
	}
	c.cut = bin
	return nil
}

// FixCut sets the cut, as Model does, if it is not set and there is a leap.
func (c *relevances) FixCut() {
	if n := c.Leaps(); c.cut == 0 && n > 0 {
		below, above := c.middle(0, bins, n)
		c.cut = min(max((below+above+1)/2, minCut), maxCut)
	}
}

// facts returns the facts of a model that depend on the leaps alone.
func (c *relevances) facts() Facts {
	f := Facts{Cut: float64(c.cut) / 256, MedianLow: 0, MedianHigh: 1}
	for b, n := range c.leaps {
		if b < c.cut {
			f.Low += n
		} else {
			f.High += n
		}
	}
	f.Leaps = f.Low + f.High
	if f.Low > 0 {
		f.MedianLow = c.median(0, c.cut, f.Low)
	}
	if f.High > 0 {
		f.MedianHigh = c.median(c.cut, bins, f.High)
	}
	return f
}

// middle returns the bins of the two middle leaps, of n in the bins from ≤ b < to.
func (c *relevances) middle(from, to int, n uint64) (below, above int) {
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
func (c *relevances) median(from, to int, n uint64) float64 {
	below, above := c.middle(from, to, n)
	value := func(bin int) float64 { return math.Min(1, (float64(bin)+.5)/256) }
	return (value(below) + value(above)) / 2
}

// encode writes the cut and the leaps by bin.
func (c *relevances) encode(e *modelfile.Encoder) {
	e.Uint(uint64(c.cut))
	for _, n := range c.leaps {
		e.Uint(n)
	}
}

func (c *relevances) decode(d *modelfile.Decoder) {
	c.cut = int(d.Uint("cut", maxCut))
	if c.cut != 0 && c.cut < minCut {
		d.Fail("cut %d", c.cut)
	}
	for b := range c.leaps {
		c.leaps[b] = d.Uint("leaps of a bin", countLimit)
	}
}
