package critic

import (
	"context"
	"runtime"
	"sync"

	"forager/internal/classify/bayes"
	"forager/internal/classify/taxonomy"
	"forager/internal/page/text"
	"forager/internal/platform/modelfile"
	"forager/schemas"
)

// topTopics is the largest number of classes in a judgement.
const topTopics = 5

// Model is a trained critic. It is safe for concurrent use.
type Model struct {
	settings Settings
	cut      text.Settings // how words are cut
	classes  []string      // sorted
	pruned   []taxonomy.Pruned
	measures Measured
	words    *vocabulary
	judge    learned
	// calibration of the posteriors.
	calibration *calibration
	unseen      *unseen
	// file is the mapping that contains all this; nil if it is not mapped.
	file *modelfile.Mapped

	scratch sync.Pool // of *scratch
}

// scratch is the memory of one judgement.
type scratch struct {
	reader *text.Words
	page   reading
	words  []uint32 // by word of the model; all 0 between two judgements
	bag    bayes.Bag
}

// newModel sets the fields that follow from the others.
func newModel(m *Model) *Model {
	m.scratch.New = func() any { return &scratch{reader: text.NewWords(m.cut), words: make([]uint32, m.words.len())} }
	return m
}

// Settings returns the settings of training.
func (m *Model) Settings() Settings { return m.settings }

// Cut returns the settings by which the model cuts words.
func (m *Model) Cut() text.Settings { return m.cut }

// Classes returns the names of the classes, sorted, which must not be modified.
func (m *Model) Classes() []string { return m.classes }

// Pruned returns the topics that were pruned, sorted by topic, which must not be modified.
func (m *Model) Pruned() []taxonomy.Pruned { return m.pruned }

// Words returns the size of the vocabulary.
func (m *Model) Words() int { return m.words.len() }

// HeldOut returns the number of pages with out-of-fold posteriors.
func (m *Model) HeldOut() int { return m.unseen.len() }

// Measured returns the measures on the training pages, held out.
func (m *Model) Measured() Measured { return m.measures }

// Judge returns the relevance of a page to the focus topics, as the function Judge does. The error is about topics that are no valid
// focus (taxonomy.Focus), or an inconsistent page.
func (m *Model) Judge(p *schemas.Page, focus []string) (*schemas.Judgement, error) {
	weights, err := Weigh(m, taxonomy.Marking{Good: focus})
	if err != nil {
		return nil, err
	}
	return Judge(context.Background(), m, p, weights)
}

// JudgeText is Judge for plain text.
func (m *Model) JudgeText(page string, focus []string) (*schemas.Judgement, error) {
	weights, err := Weigh(m, taxonomy.Marking{Good: focus})
	if err != nil {
		return nil, err
	}
	return judge(m, weights, func(o *Prediction) error {
		s := m.scratch.Get().(*scratch)
		defer m.scratch.Put(s)
		s.reader.Text(page, "")
		m.fill(s)
		m.score(o, &s.bag)
		runtime.KeepAlive(m) // keeps the mapping
		return nil
	})
}

// Posteriors returns Pr(c|u), raw and tempered, in the order of Classes.
func (m *Model) Posteriors(p *schemas.Page) (raw, tempered []float64, err error) {
	o := NewPrediction(len(m.classes))
	err = m.Predict(context.Background(), o, p)
	return o.Raw, o.Tempered, err
}

// Predict implements Classifier. The error is that of an inconsistent page.
func (m *Model) Predict(_ context.Context, o *Prediction, p *schemas.Page) error {
	s := m.scratch.Get().(*scratch)
	defer m.scratch.Put(s)
	if err := begin(s.reader, p); err != nil {
		return err
	}
	m.fill(s)
	if m.unseen.find(o, p.GetUrl()) {
		o.Known = total(&s.bag)
	} else {
		m.score(o, &s.bag)
	}
	runtime.KeepAlive(m) // keeps the mapping
	return nil
}

// score sets the prediction for a bag of words.
func (m *Model) score(o *Prediction, bag *bayes.Bag) {
	if m.judge.predict(o, bag); !o.rawOnly {
		m.calibration.apply(o)
	}
}

// fill sets s.bag to the words of the reader that are in the model, in the order of their first occurrence.
func (m *Model) fill(s *scratch) {
	s.page.read(s.reader, m.words)
	s.bag.Features, s.bag.Counts = s.page.count(s.words), s.bag.Counts[:0]
	for _, f := range s.bag.Features {
		s.bag.Counts = append(s.bag.Counts, s.words[f])
		s.words[f] = 0
	}
}

// top returns the `most` classes of highest posterior, best first, ties by name.
func top(p []float64, most int) []int {
	best := make([]int, 0, most+1)
	for k := range p {
		at := len(best)
		for at > 0 && p[k] > p[best[at-1]] {
			at--
		}
		if at == most {
			continue
		}
		best = append(best, 0)
		copy(best[at+1:], best[at:])
		best[at] = k
		best = best[:min(len(best), most)]
	}
	return best
}
