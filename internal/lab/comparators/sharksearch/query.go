package sharksearch

import (
	"maps"
	"math"
	"slices"
	"strings"

	"forager/internal/classify/critic"
	"forager/internal/page/text"
)

// queryWords is the number of words of a query made from a critic.
const queryWords = 20

// Query is the topic for a crawler without a classifier. It is immutable.
type Query struct {
	words []critic.QueryTerm // sorted, distinct
	cut   text.Settings
	norm  float64
}

// NewQuery makes the query of the words with the largest weights for a critic's focus, a weight being what one occurrence
// adds to its log-odds. Errors are those of critic.Model.Query.
func NewQuery(m *critic.Model, focus []string) (*Query, error) {
	words, err := m.Query(focus, queryWords)
	if err != nil {
		return nil, err
	}
	return ask(words, m.Cut()), nil
}

// ask makes a query of words, at least one; cut are the settings by which texts are cut into words.
func ask(words []critic.QueryTerm, cut text.Settings) *Query {
	q := &Query{words: slices.Clone(words), cut: cut}
	slices.SortFunc(q.words, func(a, b critic.QueryTerm) int { return strings.Compare(a.Word, b.Word) })
	for _, w := range q.words {
		q.norm += float64(w.LogOdds * w.LogOdds)
	}
	q.norm = math.Sqrt(q.norm)
	return q
}

// Has returns the number of the query's words in a text that is given as words with their counts.
func (q *Query) Has(counts map[string]uint32) (n int) {
	for _, w := range q.words {
		if counts[w.Word] > 0 {
			n++
		}
	}
	return n
}

// Similarity of the query to a text, [0,1]: 0 exactly if the text has none of its words.
func (q *Query) Similarity(counts map[string]uint32) float64 {
	var dot float64
	for _, w := range q.words {
		dot += float64(w.LogOdds * damped(counts[w.Word]))
	}
	if dot == 0 {
		return 0
	}
	// The sum is over word counts, so that it does not depend on the order of a map.
	times := make(map[uint32]int)
	for _, n := range counts {
		times[n]++
	}
	var norm float64
	for _, n := range slices.Sorted(maps.Keys(times)) {
		f := damped(n)
		norm += float64(float64(times[n]) * float64(f*f))
	}
	return min(1, dot/(q.norm*math.Sqrt(norm)))
}

// damped returns f of a word that occurs n times in a text.
func damped(n uint32) float64 {
	if n == 0 {
		return 0
	}
	return 1 + math.Log(float64(n))
}
