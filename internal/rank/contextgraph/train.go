package contextgraph

import (
	"math"
	"slices"

	"forager/internal/rank/localgraph"
)

// training is a model with the pages that it learns from.
type training struct {
	model *Model
	bags  map[uint32][]component // by page
}

// estimate returns log P(w|layer) (eq. 4) from the pages of a layer, those of one fold left out (−1 = none); nil
// where no word is left. A page counts as often as it lies in the layer.
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

// threshold of a layer: what a page must score in it at least. +Inf where no page of it holds a word.
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
				continue // the others hold no word
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
