package pageguide

import (
	"forager/internal/page/tfidf"
	"forager/internal/rank/contextgraph"
)

// layers is the order of 2000 §3.3: layer ascending, likelihood descending, "other" last.
type layers struct{ model *contextgraph.Model }

func (j layers) see(r *reading) PageView {
	layer, score := j.model.Classify(r.whole)
	other := j.model.Other()
	if layer == other {
		return similarity{score: share(score) - 1}
	}
	return similarity{score: (float64(other-layer) + share(score)) / float64(other+1), layer: uint32(layer) + 1}
}

func (layers) readsURLs() bool { return false }

// nearest is the comparator of 2000 §4: best first by the classifier of layer 0.
type nearest struct{ model *contextgraph.Model }

func (j nearest) see(r *reading) PageView {
	return similarity{score: share(j.model.Scores(r.whole)[0])}
}

func (nearest) readsURLs() bool { return false }

// share maps a log-likelihood ≤ 0 to [0,1], monotonically.
func share(logLikelihood float64) float64 { return 1 / (1 - logLikelihood) }

// cosines is the comparator of 2008 §4.2: best first by the largest cosine to a target.
type cosines struct {
	corpus  *tfidf.Corpus
	targets []tfidf.Vector
}

func (j *cosines) see(r *reading) PageView { return similarity{score: j.largest(r)} }

// largest returns the largest cosine of a page to a target, [0,1].
func (j *cosines) largest(r *reading) float64 {
	return tfidf.LargestCosine(j.corpus.Vector(r.whole), j.targets)
}

func (*cosines) readsURLs() bool { return false }
