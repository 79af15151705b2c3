package experiment

import (
	"maps"
	"slices"
	"sync"

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

// likeness is the pages in scope as texts.
type likeness struct {
	once    sync.Once
	texts   *texts
	targets []tfidf.Vector
	nearest map[string]float64 // largest cosine to a target
	err     error
}

// Similarity measures a crawl by cosines; nil on computed webs.
func (g *Environment) Similarity(c *Crawl) (*Similarity, error) {
	if g.web.compute != nil {
		return nil, nil
	}
	l := g.likeness()
	if l.err != nil {
		return nil, l.err
	}
	s := new(Similarity)
	var texts []tfidf.Vector
	for _, step := range c.Steps {
		if !step.Counted {
			continue
		}
		texts = append(texts, l.texts.corpus.Weigh(l.texts.of[step.URL]))
		for i, gamma := range Gammas {
			if l.nearest[step.URL] >= gamma {
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

func (g *Environment) likeness() *likeness {
	l := g.alike.Load()
	if l == nil {
		g.alike.CompareAndSwap(nil, new(likeness))
		l = g.alike.Load()
	}
	l.once.Do(func() { l.err = g.compareAll(l) })
	return l
}

// compareAll compares every page in scope with every target.
func (g *Environment) compareAll(l *likeness) error {
	var err error
	if l.texts, err = g.compared(); err != nil {
		return err
	}
	for _, u := range g.targetList {
		l.targets = append(l.targets, l.texts.corpus.Weigh(l.texts.of[u]))
	}
	to := tfidf.NewNeighbours(l.targets)
	urls := slices.Collect(maps.Keys(l.texts.of))
	nearest := make([]float64, len(urls))
	each(len(urls), func(i int) { nearest[i] = to.Likest(l.texts.corpus.Weigh(l.texts.of[urls[i]])) })
	l.nearest = make(map[string]float64, len(urls))
	for i, u := range urls {
		l.nearest[u] = nearest[i]
	}
	return nil
}
