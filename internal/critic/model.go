package critic

import (
	"sync"

	"forager/internal/bayes"
	"forager/internal/taxonomy"
	"forager/internal/text"
	"forager/schemas"
)

// topTopics is the number of classes that a judgement lists at most.
const topTopics = 5

// Model is a trained critic. It is safe for concurrent use.
type Model struct {
	settings Settings
	classes  []string // sorted
	pruned   []taxonomy.Pruned
	words    []string // sorted
	index    map[string]uint32
	counts   *bayes.Counts
	bayes    *bayes.Model
	heldOut  map[string]*heldOut // by URL

	scratch sync.Pool // of *scratch
}

// heldOut is what a model that has not seen a page says of it.
type heldOut struct{ raw, tempered []share }

// share is the posterior of one class.
type share struct {
	class uint16
	p     float64
}

// scratch is the memory of one judgement.
type scratch struct {
	counts        []uint32 // by term of the page
	words         []uint32 // by word of the model; all 0 between two judgements
	bag           bayes.Bag
	raw, tempered []float64
}

// newModel fills in what follows from the rest.
func newModel(m *Model) *Model {
	m.bayes = m.counts.Model()
	m.index = make(map[string]uint32, len(m.words))
	for i, w := range m.words {
		m.index[w] = uint32(i)
	}
	m.scratch.New = func() any {
		return &scratch{raw: make([]float64, len(m.classes)), tempered: make([]float64, len(m.classes))}
	}
	return m
}

// Settings returns what the model was trained with.
func (m *Model) Settings() Settings { return m.settings }

// Classes returns the names of the classes, sorted; not to be changed.
func (m *Model) Classes() []string { return m.classes }

// Words returns the size of the vocabulary.
func (m *Model) Words() int { return len(m.words) }

// HeldOut returns the number of pages that carry out-of-fold posteriors.
func (m *Model) HeldOut() int { return len(m.heldOut) }

// Focus says whether these are topics that the model can focus on: classes or internal topics,
// none of them pruned, none below another (package taxonomy).
func (m *Model) Focus(names []string) error {
	_, err := taxonomy.Focus(m.classes, m.pruned, names)
	return err
}

// Judge says how relevant a page is to the focus topics. Everything but Judgement.critic, the
// model's published name, is set. An error is one of Focus, or a page that contradicts itself.
func (m *Model) Judge(p *schemas.Page, focus []string) (*schemas.Judgement, error) {
	return m.judge(focus, func(s *scratch) (uint64, error) { return m.posteriors(s, p) })
}

// JudgeText is Judge for a page that is given as plain text.
func (m *Model) JudgeText(page string, focus []string) (*schemas.Judgement, error) {
	return m.judge(focus, func(s *scratch) (uint64, error) {
		m.readBag(s, page)
		return m.score(s), nil
	})
}

func (m *Model) judge(focus []string, posteriors func(*scratch) (known uint64, err error)) (*schemas.Judgement, error) {
	in, err := taxonomy.Focus(m.classes, m.pruned, focus)
	if err != nil {
		return nil, err
	}
	s := m.scratch.Get().(*scratch)
	defer m.scratch.Put(s)
	known, err := posteriors(s)
	if err != nil {
		return nil, err
	}
	j := &schemas.Judgement{KnownTokens: known}
	for k, yes := range in {
		if yes {
			j.Raw += s.raw[k]
			j.Tempered += s.tempered[k]
		}
	}
	j.Raw, j.Tempered = min(1, j.Raw), min(1, j.Tempered)
	j.Calibrated = j.Tempered
	best := top(s.tempered)
	j.BestIsFocus = in[best[0]]
	for _, k := range best {
		j.Topics = append(j.Topics, &schemas.TopicScore{Topic: m.classes[k], Tempered: s.tempered[k]})
	}
	return j, nil
}

// Posteriors returns Pr(c|u), raw and tempered, in the order of Classes.
func (m *Model) Posteriors(p *schemas.Page) (raw, tempered []float64, err error) {
	s := m.scratch.New().(*scratch)
	_, err = m.posteriors(s, p)
	return s.raw, s.tempered, err
}

func (m *Model) posteriors(s *scratch, p *schemas.Page) (known uint64, err error) {
	terms := p.GetTerms()
	if cap(s.counts) < len(terms) {
		s.counts = make([]uint32, len(terms)+len(terms)/2)
	}
	counts := s.counts[:len(terms)]
	if err := countTokens(counts, p); err != nil {
		return 0, err
	}
	s.bag.Features, s.bag.Counts = s.bag.Features[:0], s.bag.Counts[:0]
	for i, term := range terms {
		if f, ok := m.index[term]; ok && counts[i] > 0 {
			s.bag.Features = append(s.bag.Features, f)
			s.bag.Counts = append(s.bag.Counts, counts[i])
		}
	}
	if h := m.heldOut[p.GetUrl()]; h != nil {
		spread(s.raw, h.raw)
		spread(s.tempered, h.tempered)
		for _, n := range s.bag.Counts {
			known += uint64(n)
		}
		return known, nil
	}
	return m.score(s), nil
}

// score sets the posteriors of the words in s.bag.
func (m *Model) score(s *scratch) (known uint64) {
	known = m.bayes.LogLikelihood(s.raw, &s.bag)
	m.bayes.Posterior(s.tempered, s.raw, bayes.Temper(known))
	m.bayes.Posterior(s.raw, s.raw, 1)
	return known
}

// readBag sets s.bag to the words of a text that the model knows, in the order in which they come first.
func (m *Model) readBag(s *scratch, page string) {
	if s.words == nil {
		s.words = make([]uint32, len(m.words))
	}
	s.bag.Features, s.bag.Counts = s.bag.Features[:0], s.bag.Counts[:0]
	var z text.Scanner
	for z.Reset(page); z.Next(); {
		f, ok := m.index[string(z.Token())]
		if !ok {
			continue
		}
		if s.words[f] == 0 {
			s.bag.Features = append(s.bag.Features, f)
		}
		s.words[f]++
	}
	for _, f := range s.bag.Features {
		s.bag.Counts = append(s.bag.Counts, s.words[f])
		s.words[f] = 0
	}
}

func spread(dst []float64, shares []share) {
	clear(dst)
	for _, s := range shares {
		dst[s.class] = s.p
	}
}

// top returns the classes of highest posterior, best first, ties by name.
func top(p []float64) []int {
	best := make([]int, 0, topTopics+1)
	for k := range p {
		at := len(best)
		for at > 0 && p[k] > p[best[at-1]] {
			at--
		}
		if at == topTopics {
			continue
		}
		best = append(best, 0)
		copy(best[at+1:], best[at:])
		best[at] = k
		if len(best) > topTopics {
			best = best[:topTopics]
		}
	}
	return best
}
