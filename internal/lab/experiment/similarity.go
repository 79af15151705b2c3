package experiment

import (
	"math"
	"sync/atomic"

	"forager/internal/page/tfidf"
)

// Gammas are the least cosines of a relevant page (2008 §4.1: 0.5 to 0.8).
var Gammas = [4]float64{.5, .6, .7, .8}

// Similarity measures a crawl by its words alone (2008 §4.1), without a classifier, over the pages that count. Texts are
// TF-IDF vectors over the pages in scope.
type Similarity struct {
	// Precision is the share of the pages whose largest cosine to a target is at least Gammas[i].
	Precision [4]float64 `json:"precision"`
	// Sigma is the largest mean cosine of the pages to one target.
	Sigma float64 `json:"sigma"`
}

// targetCosines compares pages in scope with the targets, as texts.
type targetCosines struct {
	texts   *texts
	targets []tfidf.Vector
	near    *tfidf.Neighbours // of the targets
	// nearest are the bits of the largest cosine of each page to a target, plus 1; 0 = not computed.
	nearest []atomic.Uint64
}

// Similarity measures a crawl by cosines; nil on computed webs.
func (g *Environment) Similarity(c *Crawl) (*Similarity, error) {
	if g.web.compute != nil {
		return nil, nil
	}
	l, err := g.alike.get(struct{}{}, g.compareAll)
	if err != nil {
		return nil, err
	}
	s := new(Similarity)
	var texts []tfidf.Vector
	for _, step := range c.Steps {
		if !step.Counted {
			continue
		}
		page := g.number[step.URL]
		text := l.texts.corpus.Weigh(l.texts.of[page])
		texts = append(texts, text)
		near := l.nearestTo(page, text)
		for i, gamma := range Gammas {
			if near >= gamma {
				s.Precision[i]++
			}
		}
	}
	for i := range s.Precision {
		s.Precision[i] /= float64(max(1, len(texts)))
	}
	s.Sigma = tfidf.Average(texts, l.targets)
	return s, nil
}

// nearestTo returns the largest cosine of a page to a target. It is computed once for all crawls of the task.
func (l *targetCosines) nearestTo(page uint32, text tfidf.Vector) float64 {
	if bits := l.nearest[page].Load(); bits > 0 {
		return math.Float64frombits(bits - 1)
	}
	near := l.near.LargestCosine(text)
	l.nearest[page].Store(math.Float64bits(near) + 1)
	return near
}

// compareAll prepares comparisons with every target.
func (g *Environment) compareAll() (*targetCosines, error) {
	texts, err := g.compared()
	if err != nil {
		return nil, err
	}
	l := &targetCosines{texts: texts}
	for _, u := range g.targetList {
		l.targets = append(l.targets, l.texts.corpus.Weigh(l.texts.of[g.number[u]]))
	}
	l.near, l.nearest = tfidf.NewNeighbours(l.targets), make([]atomic.Uint64, len(g.urls))
	return l, nil
}
