package qlearning

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"

	"forager/internal/classify/bayes"
	"forager/internal/lab/comparators/linktext"
	"forager/internal/page/text"
	"forager/internal/rank/guide"
	"forager/schemas"
)

// Settings of a model.
type Settings struct {
	// Gamma is the discount of the values, in (0,1).
	Gamma float64
	// Bins of values, at least 2.
	Bins int
	// Reach of the text around a link, leaves on each side, ≥ 0.
	Reach int
	// Words selects how texts are cut into words.
	Words text.Settings
}

// Default settings: discount and bins of the paper, a context as wide as the apprentice's.
var Default = Settings{Gamma: .5, Bins: 3, Reach: 5}

// most is the largest possible value.
func (s *Settings) most() float64 { return 1 / (1 - s.Gamma) }

// bin returns the bin of a value.
func (s *Settings) bin(q float64) int {
	for i := range s.Bins - 1 {
		if q >= math.Pow(s.Gamma, float64(i)) {
			return i
		}
	}
	return s.Bins - 1
}

// Sample is a page with the values of its links.
type Sample struct {
	Page *schemas.Page
	// Q of each link; NaN if it is not known: the link is then not used.
	Q []float64
}

// Model scores links. It is safe for concurrent use.
type Model struct {
	settings Settings
	words    []string // sorted
	feature  map[string]uint32
	bayes    *bayes.Model
	means    []float64 // mean Q by bin, 0 for a bin without links
}

var _ guide.Guide = (*Model)(nil)

// Training learns from samples one by one. It keeps counts of words, and no pages.
type Training struct {
	settings Settings
	links    []uint64          // by bin
	sums     []float64         // of Q by bin
	number   map[string]uint32 // of words, in no order
	counts   []uint64          // by word, and of each by bin
}

// NewTraining returns an empty Training.
func NewTraining(s Settings) *Training {
	return &Training{settings: s, links: make([]uint64, s.Bins), sums: make([]float64, s.Bins), number: make(map[string]uint32)}
}

// Add learns from a sample. The error is an inconsistent page; the Training must not be used afterwards.
func (t *Training) Add(l Sample) error {
	links, s := l.Page.GetLinks(), &t.settings
	r, err := s.open(l.Page)
	if err != nil {
		return err
	}
	for i, q := range l.Q {
		if math.IsNaN(q) {
			continue
		}
		k := s.bin(q)
		for w, n := range r.around(links[i]) {
			f, ok := t.number[w]
			if !ok {
				f = uint32(len(t.number))
				t.number[w] = f
				t.counts = append(t.counts, make([]uint64, s.Bins)...)
			}
			t.counts[int(f)*s.Bins+k] += uint64(n)
		}
		t.links[k]++
		t.sums[k] += q
	}
	return nil
}

// Model makes a model of what was learned. It is an error if no link had a known value above 0.
func (t *Training) Model() (*Model, error) {
	bins := t.settings.Bins
	m := &Model{
		settings: t.settings, words: slices.Sorted(maps.Keys(t.number)), means: make([]float64, bins), feature: make(map[string]uint32, len(t.number)),
	}
	for i, w := range m.words {
		m.feature[w] = uint32(i)
	}
	known := false
	for k, n := range t.links {
		if n > 0 {
			m.means[k], known = min(t.sums[k]/float64(n), t.settings.most()), true
		}
	}
	if !known {
		return nil, errors.New("no link of the samples is worth something that is known")
	}
	counts := &bayes.Counts{Documents: slices.Clone(t.links), Start: make([]uint32, 1, len(m.words)+1)}
	for _, w := range m.words {
		first := int(t.number[w]) * bins
		for k, n := range t.counts[first : first+bins] {
			if n > 0 {
				counts.Class, counts.N = append(counts.Class, uint16(k)), append(counts.N, n)
			}
		}
		counts.Start = append(counts.Start, uint32(len(counts.N)))
	}
	m.bayes = counts.Model()
	return m, nil
}

// bag returns the features that the model has, ascending.
func (m *Model) bag(words map[string]uint32) *bayes.Bag {
	b := new(bayes.Bag)
	for w := range words {
		if f, ok := m.feature[w]; ok {
			b.Features = append(b.Features, f)
		}
	}
	slices.Sort(b.Features)
	for _, f := range b.Features {
		b.Counts = append(b.Counts, words[m.words[f]])
	}
	return b
}

// Guide implements guide.Guide; it returns no states.
func (m *Model) Guide(_ context.Context, v *guide.View) (*schemas.Guidance, error) {
	r, err := m.settings.open(v.Page)
	if err != nil {
		return nil, err
	}
	g := &schemas.Guidance{Scores: make([]float64, len(v.Page.GetLinks()))}
	p := make([]float64, m.settings.Bins)
	for i, l := range v.Page.GetLinks() {
		m.bayes.LogLikelihood(p, m.bag(r.around(l)))
		m.bayes.Posterior(p, p, 1)
		for k, mean := range m.means {
			g.Scores[i] += float64(p[k] * mean)
		}
		g.Scores[i] = min(1, g.Scores[i]/m.settings.most())
	}
	return g, nil
}

// ReadsURLs returns false.
func (*Model) ReadsURLs() bool { return false }

// Fields of a link's text, each a prefix of its words.
const (
	inTitle  = "t "
	inAnchor = "a "
	near     = "n "
)

// reader returns the words of the links of a page.
type reader struct {
	page  *linktext.Page
	reach int
	title map[string]uint32
	one   map[string]uint32
	all   map[string]uint32
}

func (s *Settings) open(p *schemas.Page) (*reader, error) {
	page, err := linktext.Open(p, s.Words)
	if err != nil {
		return nil, err
	}
	r := &reader{page: page, reach: s.Reach, title: make(map[string]uint32), one: make(map[string]uint32), all: make(map[string]uint32)}
	page.Title(r.title)
	return r, nil
}

// around returns the words of a link with their fields, valid until the next call.
func (r *reader) around(l *schemas.Link) map[string]uint32 {
	clear(r.all)
	r.add(inTitle, r.title)
	clear(r.one)
	r.page.Anchor(l, r.one)
	r.add(inAnchor, r.one)
	clear(r.one)
	r.page.Around(l, r.reach, r.one)
	r.add(near, r.one)
	return r.all
}

func (r *reader) add(field string, words map[string]uint32) {
	for w, n := range words {
		r.all[field+w] = n
	}
}
