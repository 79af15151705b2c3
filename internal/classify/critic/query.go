package critic

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"

	"forager/internal/classify/bayes"
	"forager/internal/classify/taxonomy"
)

// QueryTerm is a word that speaks for the focus.
type QueryTerm struct {
	Word string
	// LogOdds that one occurrence of the word adds to those of the focus against all other classes, nats, > 0.
	LogOdds float64
}

// Query returns the words that speak most for the focus topics, at most n, those of the highest log-odds
// first: what the model would ask a search engine that takes words only. The error is a focus that is none, or of which no
// word speaks.
func (m *Model) Query(focus []string, n int) ([]QueryTerm, error) {
	in, err := taxonomy.Focus(m.classes, m.pruned, focus)
	if err != nil {
		return nil, err
	}
	defer runtime.KeepAlive(m) // and with it the mapped file
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
		return nil, fmt.Errorf("no word of the critic speaks for %q", focus)
	}
	return best, nil
}
