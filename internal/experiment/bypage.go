package experiment

import (
	"fmt"
	"sync"

	"forager/internal/contextgraph"
	"forager/internal/localgraph"
	"forager/internal/rank"
	"forager/internal/tfidf"
)

// byPage ranks a link by a score of the page that it stands on.
type byPage map[string]float64

func (r byPage) Score(_ string, s *rank.Source) float64 {
	if s.Seed {
		return seedScore
	}
	return r[s.URL]
}

// pageRankers are rankers of pages that are trained on lessons.
var pageRankers = map[string]func(*Ground, *lessons) (byPage, error){
	"context-graph":     contextGraph,
	"focused-2000":      focused2000,
	"best-first-cosine": bestFirst,
}

// trainedOnce keeps what is trained for a ground: every crawl of it uses the same.
type trainedOnce struct {
	once   sync.Once
	scores byPage
	err    error
}

// byPage trains one of pageRankers, once.
func (g *Ground) byPage(name string) (byPage, error) {
	held, _ := g.trained.LoadOrStore(name, new(trainedOnce))
	t := held.(*trainedOnce)
	t.once.Do(func() {
		l, err := g.learn()
		if err == nil {
			t.scores, err = pageRankers[name](g, l)
		}
		if err != nil {
			t.err = fmt.Errorf("train %s: %w", name, err)
		}
	})
	return t.scores, t.err
}

// layers trains the layer classifiers of 2000 on graphs around the targets among the lessons.
func (l *lessons) layers() (*contextgraph.Model, error) {
	graph, err := localgraph.Build(l.targets, func(p uint32) []uint32 { return l.parents[p] }, localgraph.Default)
	if err != nil {
		return nil, err
	}
	return contextgraph.Train(graph, func(p uint32) tfidf.Document { return l.documents[p] }, contextgraph.Default)
}

// contextGraph is the order of 2000 §3.3: layer ascending, likelihood descending, "other" last. Links are
// ordered by the page that they stand on (expand: link).
func contextGraph(g *Ground, l *lessons) (byPage, error) {
	m, err := l.layers()
	if err != nil {
		return nil, err
	}
	return g.judgeBy(func(d tfidf.Document) float64 {
		layer, score := m.Classify(d)
		return float64(m.Other()-layer) + share(score)
	})
}

// focused2000 is the comparator of 2000 §4: best first by the classifier of layer 0.
func focused2000(g *Ground, l *lessons) (byPage, error) {
	m, err := l.layers()
	if err != nil {
		return nil, err
	}
	return g.judgeBy(func(d tfidf.Document) float64 { return share(m.Scores(d)[0]) })
}

// share brings a log-likelihood into [0,1], keeping its order.
func share(logLikelihood float64) float64 { return 1 / (1 - logLikelihood) }

// bestFirst is the comparator of 2008 §4.2: best first by the largest cosine to a target.
func bestFirst(g *Ground, l *lessons) (byPage, error) {
	corpus, err := tfidf.NewCorpus(l.documents)
	if err != nil {
		return nil, err
	}
	var targets []tfidf.Vector
	for _, t := range l.targets {
		targets = append(targets, corpus.Vector(l.documents[t]))
	}
	return g.judgeBy(func(d tfidf.Document) float64 { return tfidf.Likest(corpus.Vector(d), targets) })
}
