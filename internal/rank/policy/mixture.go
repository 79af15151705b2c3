package policy

import (
	"fmt"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat/distuv"

	"forager/schemas"
)

// defaultKeep makes an arm's counts those of about its last hundred pages, as the value of a policy changes during a crawl.
const defaultKeep = .99

// Mixture chooses, at each request, which of several policies over one frontier is followed, by Thompson sampling (Thompson
// 1933; Russo et al. 2018, with discounting, §6.3). It is immutable.
type Mixture struct {
	keep float64
	seed uint64
}

// NewMixture checks the setting; seed is the crawl's random seed. A nil setting gives a nil Mixture.
func NewMixture(m *schemas.Mixture, seed uint64) (*Mixture, error) {
	if m == nil {
		return nil, nil
	}
	out := &Mixture{keep: m.GetKeep(), seed: seed}
	if out.keep == 0 {
		out.keep = defaultKeep
	}
	if !(out.keep > 0 && out.keep <= 1) { // also NaN
		return nil, fmt.Errorf("mixture: keep is %v, it must lie in (0,1]", out.keep)
	}
	return out, nil
}

// Arm is the state of one policy in a mixture.
type Arm struct {
	// Alpha and Beta are the parameters of its Beta distribution, ≥ 1.
	Alpha, Beta float64
	// Chosen counts the requests that it chose, Credited the pages that were credited to it, and Reward the sum of their R;
	// these are not discounted.
	Chosen, Credited uint64
	Reward           float64
}

// NewArm returns an arm without observations.
func NewArm() Arm { return Arm{Alpha: 1, Beta: 1} }

// Choose draws from every arm and returns the open arm with the largest draw; ok is false if none is open. The draw is a
// function of the mixture, the arms and n, the ordinal of the dispatch.
func (m *Mixture) Choose(arms []Arm, n uint64, open func(arm int) bool) (arm int, ok bool) {
	source := rand.NewPCG(mix(m.seed), mix(n))
	best := 0.0
	for i, a := range arms {
		x := distuv.Beta{Alpha: a.Alpha, Beta: a.Beta, Src: source}.Rand()
		if open(i) && (!ok || x > best) {
			arm, best, ok = i, x, true
		}
	}
	return arm, ok
}

// Credit records a page delivered with relevance r in [0,1]: all arms are discounted, and the one that chose the page is
// credited; chosen < 0 credits none.
func (m *Mixture) Credit(arms []Arm, chosen int, r float64) {
	for i := range arms {
		a := &arms[i]
		a.Alpha, a.Beta = 1+m.keep*(a.Alpha-1), 1+m.keep*(a.Beta-1)
	}
	if chosen < 0 {
		return
	}
	a := &arms[chosen]
	a.Alpha, a.Beta = a.Alpha+r, a.Beta+1-r
	a.Credited++
	a.Reward += r
}
