package contextgraph

import (
	"math"
	"slices"

	"forager/internal/rank/localgraph"
)

// training is a model with its training pages.
type training struct {
	model *Model
	bags  map[uint32][]component // by page
}

// estimate returns log P(w|layer) (eq. 4) from the pages of a layer without one fold (−1 = all); nil if no word is left. A
// page counts as often as it is in the layer.
func (t *training) estimate(layer []localgraph.Member, without int) []float64 {
	counts := make([]float64, len(t.model.words))
	var sum float64
	for k, m := range layer {
		if without >= 0 && k%folds == without {
			continue
		}
		for _, c := range t.bags[m.Page] {
			n := float64(m.Copies) * float64(c.count)
			counts[c.word] += n
			sum += n
		}
	}
	if sum == 0 {
		return nil
	}
	for w := range counts {
		counts[w] = math.Log((1 + counts[w]) / (float64(len(counts)) + sum))
	}
	return counts
}

// threshold returns the least score of a page of a layer; +Inf if no page of the layer has a word.
func (t *training) threshold(i int, layer []localgraph.Member) float64 {
	if len(layer) == 0 {
		return math.Inf(1)
	}
	var scores []float64
	add := func(m localgraph.Member, theta []float64) {
		if bag := t.bags[m.Page]; len(bag) > 0 {
			scores = append(scores, t.model.score(bag, theta))
		}
	}
	if t.model.settings.Quantile == 0 || len(layer) < 2 {
		for _, m := range layer {
			add(m, t.model.theta[i])
		}
	} else {
		for fold := range min(folds, len(layer)) {
			theta := t.estimate(layer, fold)
			if theta == nil {
				continue // the others have no word
			}
			for k, m := range layer {
				if k%folds == fold {
					add(m, theta)
				}
			}
		}
	}
	if len(scores) == 0 {
		return math.Inf(1)
	}
	slices.Sort(scores)
	return scores[int(t.model.settings.Quantile*float64(len(scores)))]
}
