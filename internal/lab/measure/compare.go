package measure

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// MinSites is the least number of sites for which an effect gets a p-value: of four, the sign-flip test cannot give one below .125.
const MinSites = 6

const (
	exactTasks = 20     // with more, the sign-flip test samples
	resamples  = 20_000 // of the sign-flip test beyond exactTasks
)

// Estimate is a mean with the half width of its 95 % t-interval; Half is 0 for N = 1.
type Estimate struct {
	Mean float64 `json:"mean"`
	Half float64 `json:"half"`
	N    int     `json:"n"`
}

// String writes the mean with its interval, to three places ("0.412±0.031").
func (e Estimate) String() string {
	mean := fmt.Sprintf("%.3f", e.Mean)
	if mean == "-0.000" {
		mean = "0.000"
	}
	if e.N < 2 {
		return mean
	}
	return fmt.Sprintf("%s±%.3f", mean, e.Half)
}

// Interval estimates the mean of independent values, such as one a draw.
func Interval(values []float64) Estimate {
	e := Estimate{N: len(values)}
	if e.N == 0 {
		return e
	}
	e.Mean = stat.Mean(values, nil)
	if e.N > 1 {
		t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(e.N - 1)}.Quantile(0.975)
		e.Half = t * stat.StdDev(values, nil) / math.Sqrt(float64(e.N))
	}
	return e
}

// Overlap returns the share of a that b has, too, 0 if a is empty.
func Overlap[K comparable](a, b map[K]bool) float64 {
	n := 0
	for x := range a {
		if b[x] {
			n++
		}
	}
	return float64(n) / float64(max(1, len(a)))
}

// Compare pairs two rankers by task: a and b have the values of a measure by task, one a draw, and site names the site of a task. Both
// must have the same tasks and in each the same number of draws, at least one.
func Compare(a, b map[string][]float64, site func(task string) string) (Effect, error) {
	n := make(Nested)
	for task, values := range a {
		if len(values) == 0 || len(values) != len(b[task]) {
			return Effect{}, fmt.Errorf("task %s has %d draws of one ranker and %d of the other", task, len(values), len(b[task]))
		}
		differences := make([]float64, len(values))
		for i := range values {
			differences[i] = values[i] - b[task][i]
		}
		at := site(task)
		if n[at] == nil {
			n[at] = make(map[string][]float64)
		}
		n[at][task] = differences
	}
	if len(a) != len(b) || len(a) == 0 {
		return Effect{}, fmt.Errorf("one ranker has %d tasks, the other %d", len(a), len(b))
	}
	return n.Effect(0), nil
}

// Correct sets Corrected in all effects of a family that have a p-value.
func Correct(family []*Effect) {
	tested := slices.DeleteFunc(slices.Clone(family), func(e *Effect) bool { return e.P == nil })
	p := make([]float64, len(tested))
	for i, e := range tested {
		p[i] = *e.P
	}
	for i, corrected := range holm(p) {
		tested[i].Corrected = &corrected
	}
}

// signFlip returns the two-sided p-value of Fisher's randomisation test of paired differences: the share of the
// 2^n choices of their signs whose sum is at least as far from 0 as the observed one. Up to 20 differences all
// choices are counted; of more, 20,000 are drawn, and the observed one counts as drawn, too. The same differences
// always give the same value.
func signFlip(differences []float64) float64 {
	if len(differences) == 0 {
		return 1
	}
	var observed, scale float64
	for _, d := range differences {
		observed += d
		scale += math.Abs(d)
	}
	least := math.Abs(observed) - 1e-9*scale // equal sums must not differ by rounding
	if len(differences) > exactTasks {
		return signFlipSampled(differences, least)
	}
	// Gray code: the next choice differs in one sign, that of the lowest set bit of its number.
	sum, flipped, extreme := observed, make([]bool, len(differences)), 1
	ways := 1 << len(differences)
	for way := 1; way < ways; way++ {
		i := 0
		for way>>i&1 == 0 {
			i++
		}
		if flipped[i] {
			sum += 2 * differences[i]
		} else {
			sum -= 2 * differences[i]
		}
		flipped[i] = !flipped[i]
		if math.Abs(sum) >= least {
			extreme++
		}
	}
	return float64(extreme) / float64(ways)
}

func signFlipSampled(differences []float64, least float64) float64 {
	random := rand.New(rand.NewPCG(1935, uint64(len(differences))))
	extreme := 1
	for range resamples {
		sum := 0.0
		for _, d := range differences {
			if random.Uint64()&1 == 0 {
				sum += d
			} else {
				sum -= d
			}
		}
		if math.Abs(sum) >= least {
			extreme++
		}
	}
	return float64(extreme) / float64(resamples+1)
}

// holm returns p-values corrected for the number of tests by Holm's step-down method, in the
// order given.
func holm(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(p[i], p[j]) })
	corrected, least := make([]float64, len(p)), 0.0
	for rank, i := range order {
		least = max(least, min(1, p[i]*float64(len(p)-rank)))
		corrected[i] = least
	}
	return corrected
}
