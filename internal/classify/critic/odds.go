package critic

import (
	"math"

	"forager/internal/classify/taxonomy"
	"forager/schemas"
)

// logOdds returns the log odds of R by the weights of the classes, given exact logs: of all classes, and of those that are
// no forms or that have a weight.
func (o *Prediction) logOdds(weights *taxonomy.Weights) (all, topics float64) {
	var focus, rest, other []float64
	for k, x := range o.logs {
		w := min(weights.Focus[k], 1)
		if w > 0 {
			focus = append(focus, x+math.Log(w))
		}
		if w == 1 {
			continue
		}
		x += math.Log1p(-w)
		if rest = append(rest, x); w > 0 || !weights.Form[k] {
			other = append(other, x)
		}
	}
	return oddsBetween(focus, rest), oddsBetween(focus, other)
}

// oddsBetween returns the log odds of probabilities against others, given the logarithms of both up to a constant.
func oddsBetween(focus, rest []float64) float64 {
	sum := func(logs []float64) float64 {
		top := math.Inf(-1)
		for _, x := range logs {
			top = max(top, x)
		}
		if math.IsInf(top, 0) {
			return top
		}
		return logSum(logs)
	}
	of, against := sum(focus), sum(rest)
	switch {
	case math.IsInf(of, -1):
		return -schemas.MostLogOdds
	case math.IsInf(against, -1):
		return schemas.MostLogOdds
	}
	return min(max(of-against, -schemas.MostLogOdds), schemas.MostLogOdds)
}
