package apprentice

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"forager/internal/rank/linkfeature"
	"forager/schemas"
)

// Tally is a feature ⟨t, d⟩ with its counts and its weight.
type Tally struct {
	Term string `json:"term"`
	// Offset is d; schemas.NoOffset for a term without one.
	Offset int32 `json:"offset"`
	// Low and High are its counts in leaps to targets below the cut and from the cut on (see Settings.Count), rounded up.
	Low  uint64 `json:"low"`
	High uint64 `json:"high"`
	// Weight is its term in the log odds of high, log θ(high,τ)/θ(low,τ) of naive Bayes; positive for evidence of high.
	Weight float64 `json:"weight"`
}

// Strongest returns the features with a count of at least often, by the absolute value of their weights, largest first,
// ties by term and offset; most = 0 returns all. Like Model it fixes the cut.
func (c *Counts) Strongest(often uint64, most int) []Tally {
	m := c.Model()
	var all []Tally
	byOffset := make(map[int32]*Tally)
	for t := range c.terms.all {
		clear(byOffset)
		term := linkfeature.JudgedTerm(t.string(), c.cut)
		for x := range t.learnt.all {
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
		row := m.weightsOf(hash(term))
		one := unitOf(c.settings, term)
		for d, at := range byOffset {
			at.Low, at.High = (at.Low+one-1)/one, (at.High+one-1)/one
			slot, _ := row.slot(d)
			at.Term, at.Weight = term, m.weights[slot]
			all = append(all, *at)
		}
	}
	return strongest(addUp(all), often, most)
}

// addUp merges the tallies of several R(w) that are all low, or all high, at one offset.
func addUp(all []Tally) []Tally {
	first := make(map[Tally]int) // by term and offset
	n := 0
	for _, t := range all {
		if t.Term == linkfeature.CitedLow || t.Term == linkfeature.CitedHigh {
			at, again := first[Tally{Term: t.Term, Offset: t.Offset}]
			if again {
				all[at].Low, all[at].High = all[at].Low+t.Low, all[at].High+t.High
				continue
			}
			first[Tally{Term: t.Term, Offset: t.Offset}] = n
		}
		all[n] = t
		n++
	}
	return all[:n]
}

// Strongest returns the features as Counts.Strongest does; weights are not rounded.
func (c *Logistic) Strongest(often uint64, most int) []Tally {
	c.FixCut()
	set := &c.settings.Logistic
	var all []Tally
	for t := range c.terms.all {
		term := t.string()
		one := uint64(linkfeature.Unit(term))
		for i, x := range t.learnt.all {
			if x.seen() {
				all = append(all, Tally{
					Term: term, Offset: t.learnt.offset(i), Low: (uint64(x.low) + one - 1) / one, High: (uint64(x.high) + one - 1) / one, Weight: x.weight(set, set.L1, set.L2),
				})
			}
		}
	}
	return strongest(all, often, most)
}

// strongest removes tallies with a count below often and sorts the others.
func strongest(all []Tally, often uint64, most int) []Tally {
	all = slices.DeleteFunc(all, func(t Tally) bool { return t.Low+t.High < often })
	slices.SortFunc(all, func(a, b Tally) int {
		return cmp.Or(cmp.Compare(math.Abs(b.Weight), math.Abs(a.Weight)), cmp.Compare(a.Term, b.Term), cmp.Compare(a.Offset, b.Offset))
	})
	if most > 0 && len(all) > most {
		all = all[:most]
	}
	return all
}

// ByOffset returns the first features at each DOM offset, at most so many of each.
func ByOffset(features []Tally, most int) map[int32][]Tally {
	byOffset := make(map[int32][]Tally)
	for _, f := range features {
		if at := byOffset[f.Offset]; len(at) < most {
			byOffset[f.Offset] = append(at, f)
		}
	}
	return byOffset
}

// OffsetName formats a DOM offset; "page" is that of features without one.
func OffsetName(d int32) string {
	if d == schemas.NoOffset {
		return "page"
	}
	return fmt.Sprintf("%+d", d)
}
