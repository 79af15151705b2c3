package critic

import (
	"fmt"

	"github.com/cespare/xxhash/v2"

	"forager/internal/classify/bayes"
	"forager/internal/measure/evaluate"
)

// DecidingWords returns, for each class, at most `most` words that decide most whether pages are of it, for the
// class and against it: those with the largest product of the share of pages that contain them and the log-odds
// that they add to the class on a page of this word alone. The examples are those that the model was trained on,
// held the result of Validate for them.
func (m *Model) DecidingWords(e *Examples, held []Held, most int) ([]evaluate.Deciding, error) {
	pages := make([][]*bayes.Bag, len(m.classes))
	for _, h := range held {
		i, ok := e.byURL[h.URL]
		if !ok {
			return nil, fmt.Errorf("deciding words: %s is no example", h.URL)
		}
		bag := &bayes.Bag{}
		for _, f := range e.items[i].bag.Features {
			if w := m.words.lookup(xxhash.Sum64String(e.words.words[f])); w > 0 {
				bag.Features, bag.Counts = append(bag.Features, w-1), append(bag.Counts, 1)
			}
		}
		for _, k := range h.Classes {
			pages[k] = append(pages[k], bag)
		}
	}
	holding, err := bayes.Count(m.words.len(), pages) // pages of each class with each word
	if err != nil {
		return nil, fmt.Errorf("deciding words: %w", err)
	}
	all := 0
	deciding := make([]evaluate.Deciding, len(m.classes))
	for k, of := range pages {
		deciding[k].Topic = m.classes[k]
		all += len(of)
	}
	joint, without, with := make([]float64, len(m.classes)), make([]float64, len(m.classes)), make([]float64, len(m.classes))
	m.judge.joint(joint, &bayes.Bag{})
	logOdds(without, joint)
	in := make([]uint64, len(m.classes))
	for f := range m.words.len() {
		word := m.words.word(uint32(f))
		clear(in)
		var total uint64
		for i := holding.Start[f]; i < holding.Start[f+1]; i++ {
			in[holding.Class[i]] = holding.N[i]
			total += holding.N[i]
		}
		m.judge.joint(joint, &bayes.Bag{Features: []uint32{uint32(f)}, Counts: []uint32{1}})
		logOdds(with, joint)
		for k := range deciding {
			d, odds := &deciding[k], with[k]-without[k]
			if odds > 0 {
				share := float64(in[k]) / float64(max(1, len(pages[k])))
				d.For = keep(d.For, evaluate.Word{Word: word, LogOdds: odds, Share: share}, most)
			} else {
				share := float64(total-in[k]) / float64(max(1, all-len(pages[k])))
				d.Against = keep(d.Against, evaluate.Word{Word: word, LogOdds: odds, Share: share}, most)
			}
		}
	}
	return deciding, nil
}

// keep inserts a word among the most important ones, if it is one of them.
func keep(words []evaluate.Word, w evaluate.Word, most int) []evaluate.Word {
	weight := func(w evaluate.Word) float64 { return max(w.LogOdds, -w.LogOdds) * w.Share }
	if most == 0 || weight(w) == 0 || len(words) == most && weight(w) <= weight(words[most-1]) {
		return words
	}
	if len(words) < most {
		words = append(words, w)
	}
	at := len(words) - 1
	for at > 0 && weight(words[at-1]) < weight(w) {
		words[at] = words[at-1]
		at--
	}
	words[at] = w
	return words
}
