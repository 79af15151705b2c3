package experiment

import (
	"errors"
	"slices"
	"sync"

	"forager/internal/localguide"
	"forager/internal/tfidf"
	"forager/schemas"
)

// Gammas are the cosines from which a page counts as relevant (2008 §4.1: 0.5 to 0.8).
var Gammas = [4]float64{.5, .6, .7, .8}

// Similarity is what a crawl is worth by its words alone (2008 §4.1), over the pages that count: no
// classifier has a part in it. Texts are TF-IDF vectors over the pages in scope.
type Similarity struct {
	// Precision is the share of the pages whose largest cosine to a target is at least Gammas[i].
	Precision [4]float64 `json:"precision"`
	// Sigma is the largest mean cosine of the pages to one target.
	Sigma float64 `json:"sigma"`
}

// likeness is the pages in scope as texts.
type likeness struct {
	once    sync.Once
	vectors map[string]tfidf.Vector
	targets []tfidf.Vector
	nearest map[string]float64 // largest cosine to a target
	err     error
}

// Similarity judges a crawl by cosines, nil on webs that are computed.
func (g *Ground) Similarity(c *Crawl) (*Similarity, error) {
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
		texts = append(texts, l.vectors[step.URL])
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

func (g *Ground) likeness() *likeness {
	l := g.alike.Load()
	if l == nil {
		g.alike.CompareAndSwap(nil, new(likeness))
		l = g.alike.Load()
	}
	l.once.Do(func() { l.err = g.compareAll(l) })
	return l
}

// compareAll compares every page in scope with every target.
func (g *Ground) compareAll(l *likeness) error {
	if g.web.compute != nil {
		return errors.New("pages of webs that are computed are not kept")
	}
	var urls []string
	for _, u := range g.urls {
		if g.web.pages[u].outcome == schemas.Outcome_OUTCOME_DELIVERED {
			urls = append(urls, u)
		}
	}
	words := localguide.Default().Words
	var failed error
	corpus, err := tfidf.NewCorpus(func(yield func(tfidf.Document) bool) {
		// In parts, and read again for its vector: the words of all pages at once are as large as the web.
		for part := range slices.Chunk(urls, 512) {
			documents, errs := make([]tfidf.Document, len(part)), make([]error, len(part))
			each(len(part), func(i int) { documents[i], errs[i] = localguide.Document(g.web.pages[part[i]].parsed, words) })
			if failed = errors.Join(errs...); failed != nil {
				return
			}
			for _, d := range documents {
				if !yield(d) {
					return
				}
			}
		}
	})
	if err := errors.Join(failed, err); err != nil {
		return err
	}
	l.vectors, l.nearest = make(map[string]tfidf.Vector, len(urls)), make(map[string]float64, len(urls))
	vectors, nearest, errs := make([]tfidf.Vector, len(urls)), make([]float64, len(urls)), make([]error, len(urls))
	each(len(urls), func(i int) {
		var d tfidf.Document
		if d, errs[i] = localguide.Document(g.web.pages[urls[i]].parsed, words); errs[i] == nil {
			vectors[i] = corpus.Vector(d)
		}
	})
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for i, u := range urls {
		l.vectors[u] = vectors[i]
		if g.targets[u] {
			l.targets = append(l.targets, vectors[i])
		}
	}
	each(len(urls), func(i int) { nearest[i] = tfidf.Likest(vectors[i], l.targets) })
	for i, u := range urls {
		l.nearest[u] = nearest[i]
	}
	return nil
}
