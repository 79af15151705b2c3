package critic

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"

	"forager/internal/classify/bayes"
	"forager/internal/classify/taxonomy"
)

// QueryTerm is a word that is evidence for the focus.
type QueryTerm struct {
	Word string
	// LogOdds is what one occurrence of the word adds to the log odds of the focus against all other classes, in nats, > 0.
	LogOdds float64
}

// Query returns at most n words that are the strongest evidence for the focus topics, those of the highest
// log-odds first, as a query for a search engine. The error is an invalid focus, or one without such a word.
func (m *Model) Query(focus []string, n int) ([]QueryTerm, error) {
	in, err := taxonomy.Focus(m.classes, m.pruned, focus)
	if err != nil {
		return nil, err
	}
	defer runtime.KeepAlive(m) // keeps the mapping
	joint := make([]float64, len(m.classes))
	m.judge.joint(joint, &bayes.Bag{})
	before := oddsOf(joint, in)
	one := &bayes.Bag{Features: make([]uint32, 1), Counts: []uint32{1}}
	var best []QueryTerm
	for w := range uint32(m.words.len()) {
		one.Features[0] = w
		m.judge.joint(joint, one)
		gain := oddsOf(joint, in) - before
		if !(gain > 0) || len(best) == n && gain <= best[n-1].LogOdds {
			continue
		}
		// Words of equal odds stay in the order of the vocabulary.
		at, _ := slices.BinarySearchFunc(best, gain, func(t QueryTerm, gain float64) int {
			return cmp.Or(cmp.Compare(gain, t.LogOdds), -1)
		})
		best = slices.Insert(best, at, QueryTerm{m.words.word(w), gain})
		best = best[:min(len(best), n)]
	}
	if len(best) == 0 {
		return nil, fmt.Errorf("no word of the critic raises the odds of %q", focus)
	}
	return best, nil
}
