package measure

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat"
)

// every calls of with each choice of n of n values with replacement, as indices.
func every(n int, of func(chosen []int)) {
	for way := range int(math.Pow(float64(n), float64(n))) {
		chosen := make([]int, n)
		for rest, i := way, 0; i < n; rest, i = rest/n, i+1 {
			chosen[i] = rest % n
		}
		of(chosen)
	}
}

// resampled returns the mean of every resample of a site: its tasks, and the draws of each.
func resampled(site [][]float64) (means []float64) {
	every(len(site), func(tasks []int) {
		sums := []float64{0}
		for _, t := range tasks {
			var next []float64
			every(len(site[t]), func(draws []int) {
				mean := 0.
				for _, d := range draws {
					mean += site[t][d] / float64(len(draws))
				}
				for _, s := range sums {
					next = append(next, s+mean/float64(len(tasks)))
				}
			})
			sums = next
		}
		means = append(means, sums...)
	})
	return means
}

// TestEffectAgainstEnumeration lists all resamples of two sites with two tasks of two draws, which are equally likely.
func TestEffectAgainstEnumeration(t *testing.T) {
	sites := [][][]float64{{{.1, .5}, {.4, -.2}}, {{.9, .3}, {.2, .6}}}
	var all []float64
	every(2, func(chosen []int) {
		sums := []float64{0}
		for _, s := range chosen {
			var next []float64
			for _, mean := range resampled(sites[s]) {
				for _, sum := range sums {
					next = append(next, sum+mean/2)
				}
			}
			sums = next
		}
		all = append(all, sums...)
	})
	n := Nested{}
	for s, tasks := range sites {
		n[fmt.Sprint(s)] = map[string][]float64{}
		for i, draws := range tasks {
			n[fmt.Sprint(s)][fmt.Sprint(i)] = draws
		}
	}
	e := n.Effect(0)
	se := math.Sqrt(2 * stat.PopVariance(all, nil)) // 2/(2-1): corrected for the number of sites
	half := 12.706204736432095 * se                 // Student's t with one degree of freedom
	if !near(e.Mean, stat.Mean(all, nil)) || math.Abs(e.High-e.Mean-half) > 1e-6 || math.Abs(e.Mean-e.Low-half) > 1e-6 {
		t.Errorf("%+v, by enumeration %v ± %v", e, stat.Mean(all, nil), half)
	}
	if e.P != nil || e.Sites != 2 || e.Tasks != 4 || e.Above != 4 || e.Below != 0 {
		t.Errorf("%+v", e)
	}
}

// TestEffectOfFewUnits: one site, one task, one draw, and sites without a difference.
func TestEffectOfFewUnits(t *testing.T) {
	for name, c := range map[string]struct {
		n    Nested
		want Effect
	}{
		"one draw":    {Nested{"a": {"t": {.3}}}, Effect{Mean: .3, Low: .3, High: .3, Sites: 1, Tasks: 1, Above: 1}},
		"one task":    {Nested{"a": {"t": {1, 3}}}, Effect{Mean: 2, Low: 2 - 12.706204736432095, High: 2 + 12.706204736432095, Sites: 1, Tasks: 1, Above: 1}},
		"one site":    {Nested{"a": {"t": {1}, "u": {3}}}, Effect{Mean: 2, Low: 2 - 12.706204736432095, High: 2 + 12.706204736432095, Sites: 1, Tasks: 2, Above: 2}},
		"equal sites": {Nested{"a": {"t": {1}}, "b": {"t": {1}}}, Effect{Mean: 1, Low: 1, High: 1, Sites: 2, Tasks: 2, Above: 2}},
	} {
		got := c.n.Effect(0)
		if !near(got.Mean, c.want.Mean) || math.Abs(got.Low-c.want.Low) > 1e-8 || math.Abs(got.High-c.want.High) > 1e-8 || got.P != nil ||
			got.Sites != c.want.Sites || got.Tasks != c.want.Tasks || got.Above != c.want.Above || got.Below != 0 {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
	// A mean of a site weighs as much as another's, however many tasks it has.
	if e := (Nested{"a": {"t": {0}, "u": {0}, "v": {0}}, "b": {"t": {1}}}).Effect(.5); !near(e.Mean, .5) || e.Above != 1 || e.Below != 3 {
		t.Errorf("%+v", e)
	}
}

// TestSignsBoundP: however alike the means of sites are, n sites give no p-value below 2^(1-n), and four give none.
func TestSignsBoundP(t *testing.T) {
	for sites := 2; sites <= 9; sites++ {
		n := Nested{}
		for i := range sites {
			n[fmt.Sprint(i)] = map[string][]float64{"t": {1 + .001*float64(i)}}
		}
		for bound, want := range map[float64]float64{0: math.Pow(2, float64(1-sites)), 2: math.Pow(2, float64(1-sites)), 1 + .0005*float64(sites-1): 1} {
			e := n.Effect(bound)
			if (e.P != nil) != (sites >= MinSites) || e.P != nil && !near(*e.P, want) {
				t.Errorf("%d sites and the bound %v: %+v, want p %v", sites, bound, e, want)
			}
		}
	}
}

// TestCoverage: of samples of a known mean whose variance lies between sites, between tasks or between draws, the interval holds the mean
// in 95 of 100 or more, and p-values of the true bound are below .05 in no more than 5 of 100.
func TestCoverage(t *testing.T) {
	const samples = 2000
	for _, c := range []struct {
		sites, tasks, draws int
		deviation           [3]float64 // of sites, tasks, draws
	}{{4, 3, 4, [3]float64{1, 0, 0}}, {5, 2, 4, [3]float64{1, 1, 1}}, {4, 3, 10, [3]float64{.2, 1, 1}}, {8, 6, 3, [3]float64{0, 0, 1}}, {2, 6, 2, [3]float64{1, .5, .5}}} {
		random := rand.New(rand.NewPCG(1987, uint64(c.sites)))
		held, rejected := 0, 0
		for range samples {
			n := Nested{}
			for s := range c.sites {
				site, tasks := c.deviation[0]*random.NormFloat64(), map[string][]float64{}
				for i := range c.tasks {
					task := site + c.deviation[1]*random.NormFloat64()
					for range c.draws {
						tasks[fmt.Sprint(i)] = append(tasks[fmt.Sprint(i)], .25+task+c.deviation[2]*random.NormFloat64())
					}
				}
				n[fmt.Sprint(s)] = tasks
			}
			e := n.Effect(.25)
			if e.Low <= .25 && .25 <= e.High {
				held++
			}
			if e.P != nil && *e.P < .05 {
				rejected++
			}
		}
		least := .95 - 4*math.Sqrt(.95*.05/samples)
		if share := float64(held) / samples; share < least || float64(rejected)/samples > 1-least {
			t.Errorf("%+v: the interval holds the mean in %v of the samples, p < .05 in %d", c, share, rejected)
		}
	}
}
