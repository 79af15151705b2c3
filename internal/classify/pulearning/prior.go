package pulearning

import (
	"cmp"
	"errors"
	"math"
	"slices"
)

// Constants of bestBin (Garg et al. 2021, Algorithm 1 and §6).
const (
	confidence = .1
	spread     = .01
)

const (
	// usual is the prior without evidence, and worth the number of positives whose estimate has the same weight.
	usual = .1
	worth = 20
	// mostDiscarded is the largest share of the unlabelled pages that is discarded.
	mostDiscarded = .5
)

// cautious lowers an estimate of bestBin towards the usual prior, the more the fewer positives it is from. On a site with one
// template ten positives are no more like each other than like all other pages, and all would be on topic by bestBin.
func cautious(estimate float64, positives int) float64 {
	n := float64(positives)
	return min(estimate, (n*estimate+worth*usual)/(n+worth))
}

// bestBin estimates the prior π from scores of pages that did not train the classifier: above a threshold that few
// pages except positives pass, the share of unlabelled pages that pass is π times that of the positives. The
// threshold is the one at which an upper confidence bound of the quotient is least (Garg et al. 2021, Algorithm
// 1). With few positives the bound lowers the threshold and the estimate is too high rather than too low. The
// result is in [1/(n+1), n/(n+1)], n = unlabelled pages.
func bestBin(positives, unlabelled []float64) (float64, error) {
	if len(positives) == 0 || len(unlabelled) == 0 {
		return 0, errors.New("estimate the prior: positives and unlabelled pages are both needed")
	}
	np, nu := float64(len(positives)), float64(len(unlabelled))
	slack := math.Sqrt(math.Log(4/confidence)/2/np) + math.Sqrt(math.Log(4/confidence)/2/nu)
	all := descending(positives, unlabelled)
	best, bound := 1., math.Inf(1)
	var p, u float64 // pages at or above the threshold
	for i, s := range all {
		if s.positive {
			p++
		} else {
			u++
		}
		if p == 0 || i+1 < len(all) && all[i+1].score == s.score {
			continue
		}
		quotient := (u / nu) / (p / np)
		if b := quotient + (1+spread)*slack/(p/np); b < bound {
			best, bound = quotient, b
		}
	}
	return min(max(best, 1/(nu+1)), nu/(nu+1)), nil
}

// scored is the score of a page, and its kind.
type scored struct {
	score    float64
	positive bool
}

func descending(positives, unlabelled []float64) []scored {
	all := make([]scored, 0, len(positives)+len(unlabelled))
	for _, s := range positives {
		all = append(all, scored{s, true})
	}
	for _, s := range unlabelled {
		all = append(all, scored{s, false})
	}
	slices.SortFunc(all, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	return all
}
