package contextgraph

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"forager/internal/page/tfidf"
	"forager/internal/rank/localgraph"
)

// Settings of a model.
type Settings struct {
	// Components is the number of words that a page is reduced to, 40 in the paper.
	Components int
	// WithLayer1 adds the words of layer 1 to the vocabulary.
	WithLayer1 bool
	// Raw scores are sums of log-likelihoods (eq. 3), others means per word.
	Raw bool
	// Quantile in (0,1) of the scores of a layer's training pages, each scored by a model trained without it, is the
	// layer's threshold; 0 = the lowest score of its own training pages (the paper).
	Quantile float64
}

// Default settings (2000 §3.2, with means instead of sums).
var Default = Settings{Components: 40}

// Model classifies pages. It is safe for concurrent use.
type Model struct {
	settings Settings
	words    map[string]uint32 // V
	idf      []float64         // log(N/f), by word
	theta    [][]float64       // log P(w|layer), by layer and word; nil where a layer has no word
	least    []float64         // thresholds by layer; +Inf where a layer has no word
}

// folds is the number of parts for held-out scores.
const folds = 5

// Train makes a model of the layers of a graph. document returns a page of the graph; the pages of the graph are the
// reference corpus. Layers none of whose pages has a word of V are never chosen.
func Train(g *localgraph.Graph, document func(page uint32) tfidf.Document, s Settings) (*Model, error) {
	if s.Components < 1 || s.Quantile < 0 || s.Quantile >= 1 {
		return nil, fmt.Errorf("a context graph model has %d components and quantile %v; want at least 1, and [0,1)", s.Components, s.Quantile)
	}
	pages := make(map[uint32]tfidf.Document)
	for _, layer := range g.Layers {
		for _, m := range layer {
			if _, ok := pages[m.Page]; !ok {
				d := document(m.Page)
				if len(d.Words) != len(d.Counts) {
					return nil, fmt.Errorf("page %d has %d words and %d counts", m.Page, len(d.Words), len(d.Counts))
				}
				pages[m.Page] = d
			}
		}
	}
	m := &Model{settings: s}
	m.vocabulary(g, pages)
	if len(m.words) == 0 {
		return nil, fmt.Errorf("the %d target pages hold no word", len(g.Layers[0]))
	}
	t := &training{model: m, bags: make(map[uint32][]component, len(pages))}
	for p, d := range pages {
		t.bags[p] = m.reduce(d)
	}
	for _, layer := range g.Layers {
		m.theta = append(m.theta, t.estimate(layer, -1))
		m.least = append(m.least, 0)
	}
	for i, layer := range g.Layers {
		m.least[i] = t.threshold(i, layer)
	}
	return m, nil
}

// vocabulary sets V and the weights of its words.
func (m *Model) vocabulary(g *localgraph.Graph, pages map[uint32]tfidf.Document) {
	master := g.Layers[:1]
	if m.settings.WithLayer1 {
		master = g.Layers[:min(2, len(g.Layers))]
	}
	seen := make(map[string]bool)
	var words []string
	for _, layer := range master {
		for _, member := range layer {
			for _, w := range pages[member.Page].Words {
				if !seen[w] {
					seen[w] = true
					words = append(words, w)
				}
			}
		}
	}
	slices.Sort(words)
	m.words = make(map[string]uint32, len(words))
	for i, w := range words {
		m.words[w] = uint32(i)
	}
	holding := make([]int, len(words))
	for _, d := range pages {
		for _, w := range d.Words {
			if i, ok := m.words[w]; ok {
				holding[i]++
			}
		}
	}
	m.idf = make([]float64, len(words))
	for i, n := range holding {
		m.idf[i] = math.Log(float64(len(pages)) / float64(n))
	}
}

// component is a word of a reduced page.
type component struct{ word, count uint32 }

// reduce returns the components of a page with the largest weights, ascending by word.
func (m *Model) reduce(d tfidf.Document) []component {
	type weighed struct {
		component
		weight float64
	}
	var most uint32
	for _, n := range d.Counts {
		most = max(most, n)
	}
	var all []weighed
	for i, w := range d.Words {
		if k, ok := m.words[w]; ok && d.Counts[i] > 0 {
			all = append(all, weighed{component{k, d.Counts[i]}, float64(d.Counts[i]) / float64(most) * m.idf[k]})
		}
	}
	slices.SortFunc(all, func(a, b weighed) int { return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.word, b.word)) })
	all = all[:min(len(all), m.settings.Components)]
	bag := make([]component, len(all))
	for i, w := range all {
		bag[i] = w.component
	}
	slices.SortFunc(bag, func(a, b component) int { return cmp.Compare(a.word, b.word) })
	return bag
}

// score returns that of a reduced page in a layer given by its log-probabilities; the page must have a word.
func (m *Model) score(bag []component, theta []float64) float64 {
	var sum, n float64
	for _, c := range bag {
		sum += float64(c.count) * theta[c.word]
		n += float64(c.count)
	}
	if m.settings.Raw {
		return sum
	}
	return sum / n
}

// Other is the class of pages of no layer: the number of layers.
func (m *Model) Other() int { return len(m.theta) }

// Classify returns the layer of a page and its score in it, a log-likelihood ≤ 0. For Other the score is that of the best
// layer, which is below its threshold; −Inf for a page without a word of the vocabulary.
func (m *Model) Classify(d tfidf.Document) (layer int, score float64) {
	bag := m.reduce(d)
	if len(bag) == 0 {
		return m.Other(), math.Inf(-1)
	}
	layer, score = m.best(bag)
	if score < m.least[layer] {
		return m.Other(), score
	}
	return layer, score
}

// best returns the layer with the highest score; of equal ones the lowest.
func (m *Model) best(bag []component) (layer int, score float64) {
	score = math.Inf(-1)
	for i, theta := range m.theta {
		if theta == nil {
			continue
		}
		if s := m.score(bag, theta); s > score {
			layer, score = i, s
		}
	}
	return layer, score
}

// Scores returns the score of a page in every layer, −Inf in layers without words and for a page without a
// word of the vocabulary.
func (m *Model) Scores(d tfidf.Document) []float64 {
	scores := make([]float64, len(m.theta))
	bag := m.reduce(d)
	for i, theta := range m.theta {
		scores[i] = math.Inf(-1)
		if theta != nil && len(bag) > 0 {
			scores[i] = m.score(bag, theta)
		}
	}
	return scores
}
