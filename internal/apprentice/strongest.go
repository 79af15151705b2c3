package apprentice

import (
	"cmp"
	"math"
	"slices"
)

// Tally is a feature ⟨t, d⟩ with what was counted of it and what it says.
type Tally struct {
	Term string `json:"term"`
	// Offset is d; schemas.NoOffset for a term without one.
	Offset int32 `json:"offset"`
	// Low and High are how often it came with leaps to targets below and from the cut on.
	Low  uint64 `json:"low"`
	High uint64 `json:"high"`
	// Weight is log θ(high,τ)/θ(low,τ): above 0 it speaks for a link.
	Weight float64 `json:"weight"`
}

// Strongest returns the features that came at least so often and speak the loudest, for or
// against a link: strongest first, ties by term and offset; 0 = all of them. Like Model it
// fixes the cut.
func (c *Counts) Strongest(often uint64, most int) []Tally {
	m := c.Model()
	var all []Tally
	byOffset := make(map[int32]*Tally)
	for t := range c.terms.all {
		clear(byOffset)
		for x := range t.cells.all {
			d := x.place().offset()
			at := byOffset[d]
			if at == nil {
				at = &Tally{Offset: d}
				byOffset[d] = at
			}
			if x.place().bin() < c.cut {
				at.Low += x.count()
			} else {
				at.High += x.count()
			}
		}
		name := t.string()
		row := m.weightsOf(hash(name))
		for d, at := range byOffset {
			if at.Low+at.High < often {
				continue
			}
			at.Term, at.Weight = name, m.weights[row.at+uint32(d-int32(row.from))]
			all = append(all, *at)
		}
	}
	slices.SortFunc(all, func(a, b Tally) int {
		return cmp.Or(cmp.Compare(math.Abs(b.Weight), math.Abs(a.Weight)), cmp.Compare(a.Term, b.Term), cmp.Compare(a.Offset, b.Offset))
	})
	if most > 0 && len(all) > most {
		all = all[:most]
	}
	return all
}
