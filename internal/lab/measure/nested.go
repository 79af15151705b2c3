package measure

import (
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Nested is a measure of crawls, or a difference of two: by site, task and draw. A site is a graph of pages, and the unit of a claim:
// tasks that share one are no independent witnesses of what a ranker does on another.
type Nested map[string]map[string][]float64

// Effect is the mean of a nested sample, and the evidence that it gives for a claim that the mean lies above or below a bound.
type Effect struct {
	// Mean over sites of their means over tasks, draws averaged, and its 95 % interval by the hierarchical bootstrap of sites, tasks
	// and draws. Of one site the interval is over its tasks, or of one task over its draws, which is no evidence for other sites.
	Mean float64 `json:"mean"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	// Sites and tasks; tasks whose mean is above and below the bound.
	Sites int `json:"sites"`
	Tasks int `json:"tasks"`
	Above int `json:"above"`
	Below int `json:"below"`
	// P is the two-sided p-value of the bound by the sign-flip test over sites, and Corrected what Holm's correction makes of it; nil for
	// fewer than MinSites sites. Corrected is set by Correct.
	P         *float64 `json:"p"`
	Corrected *float64 `json:"p_corrected"`
}

// Effect compares the sample, which must not be empty, with a bound.
//
// The standard error is that of the bootstrap that draws sites, of each its tasks, and of each its draws with replacement: of infinitely
// many resamples, as it has a closed form. Sites are few, so that the interval is that of Student's t for their number, and the variance
// is corrected for it; percentiles of resamples would be far too narrow. What varies between draws counts at the level of sites as well,
// so that intervals are rather too wide than too narrow. Student's t takes the means of sites as normal, which so few cannot show, and
// would give a p-value below any that the signs of the sites can: that of the sign-flip test of n sites is 2^(1-n) or more.
func (n Nested) Effect(bound float64) Effect {
	e := Effect{Sites: len(n)}
	var tasks, draws []float64
	for _, site := range slices.Sorted(maps.Keys(n)) {
		for _, task := range slices.Sorted(maps.Keys(n[site])) {
			mean := stat.Mean(n[site][task], nil)
			switch tasks = append(tasks, mean); {
			case mean > bound:
				e.Above++
			case mean < bound:
				e.Below++
			}
			draws = n[site][task]
		}
	}
	e.Tasks = len(tasks)
	sites, within := n.sites()
	e.Mean = stat.Mean(sites, nil)
	units, variance := sites, (stat.PopVariance(sites, nil)+within)/float64(len(sites))
	if e.Sites == 1 {
		if units, variance = tasks, within; len(tasks) == 1 {
			units = draws
		}
	}
	e.Low, e.High = e.Mean, e.Mean
	if k := float64(len(units)); k > 1 {
		t := distuv.StudentsT{Sigma: 1, Nu: k - 1}
		se := math.Sqrt(variance * k / (k - 1))
		half := t.Quantile(.975) * se
		e.Low, e.High = e.Mean-half, e.Mean+half
	}
	if e.Sites >= MinSites {
		for i := range sites {
			sites[i] -= bound
		}
		p := signFlip(sites)
		e.P = &p
	}
	return e
}

// sites returns the means of the sites in their order, and the mean variance of a site's mean under resampling of its tasks and draws.
func (n Nested) sites() (means []float64, within float64) {
	for _, site := range slices.Sorted(maps.Keys(n)) {
		var tasks []float64
		noise := 0.
		for _, task := range slices.Sorted(maps.Keys(n[site])) {
			draws := n[site][task]
			tasks = append(tasks, stat.Mean(draws, nil))
			noise += stat.PopVariance(draws, nil) / float64(len(draws))
		}
		k := float64(len(tasks))
		means = append(means, stat.Mean(tasks, nil))
		within += (stat.PopVariance(tasks, nil) + noise/k) / k / float64(len(n))
	}
	return means, within
}
