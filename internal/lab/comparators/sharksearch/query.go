package sharksearch

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"forager/internal/classify/critic"
	"forager/internal/page/text"
)

// queryWords is the number of words of a query made from a critic.
const queryWords = 20

// Word of a query.
type Word struct {
	Word string
	// Weight is finite and > 0.
	Weight float64
}

// Query is the topic for a crawler without a classifier. It is immutable.
type Query struct {
	words  []Word // sorted, distinct
	cut    text.Settings
	weight map[string]float64
	norm   float64
}

// NewQuery makes the query of the words with the largest weights for a critic's focus, a weight being what one occurrence
// adds to its log-odds. Errors are those of critic.Model.Query.
func NewQuery(m *critic.Model, focus []string) (*Query, error) {
	terms, err := m.Query(focus, queryWords)
	if err != nil {
		return nil, err
	}
	words := make([]Word, len(terms))
	for i, t := range terms {
		words[i] = Word{t.Word, t.LogOdds}
	}
	return Ask(words, m.Cut())
}

// Ask makes a query of words; cut are the settings by which texts are cut into words. The error is an empty query, a
// repeated word, or an invalid weight.
func Ask(words []Word, cut text.Settings) (*Query, error) {
	q := &Query{words: slices.Clone(words), cut: cut, weight: make(map[string]float64, len(words))}
	if len(words) == 0 {
		return nil, errors.New("the query has no words")
	}
	slices.SortFunc(q.words, func(a, b Word) int { return strings.Compare(a.Word, b.Word) })
	for _, w := range q.words {
		switch _, twice := q.weight[w.Word]; {
		case twice:
			return nil, fmt.Errorf("the query has the word %q twice", w.Word)
		case !(w.Weight > 0) || w.Weight > maxWeight:
			return nil, fmt.Errorf("the word %q of the query weighs %v, want a number above 0 and at most %v", w.Word, w.Weight, float64(maxWeight))
		}
		q.weight[w.Word] = w.Weight
		q.norm += float64(w.Weight * w.Weight)
	}
	if q.norm = math.Sqrt(q.norm); q.norm == 0 {
		return nil, errors.New("the words of the query weigh too little to be told apart")
	}
	return q, nil
}

// maxWeight keeps the squares of weights finite.
const maxWeight = 1e100

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
		dot += float64(w.Weight * damped(counts[w.Word]))
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
