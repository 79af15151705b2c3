package tfidf

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
)

// Document is a text as words with their counts; words are distinct.
type Document struct {
	Words  []string
	Counts []uint32 // as long as Words
}

// Corpus knows how many of its documents have each word. It is safe for concurrent use.
type Corpus struct {
	index  map[string]uint32 // in the order of the words
	weight []float64         // log(N/f)
}

// NewCorpus counts documents; at least one.
func NewCorpus(documents iter.Seq[Document]) (*Corpus, error) {
	having := make(map[string]int)
	n := 0
	for d := range documents {
		n++
		for i, w := range d.Words {
			if d.Counts[i] > 0 {
				having[w]++
			}
		}
	}
	if n == 0 {
		return nil, fmt.Errorf("a corpus wants documents; there are none")
	}
	c := &Corpus{index: make(map[string]uint32, len(having))}
	for i, w := range slices.Sorted(maps.Keys(having)) {
		c.index[w] = uint32(i)
		c.weight = append(c.weight, math.Log(float64(n)/float64(having[w])))
	}
	return c, nil
}

// Vector is a text of a corpus, of length 1 or 0.
type Vector struct {
	words   []uint32 // ascending
	weights []float64
}

// Vector weighs the words of a document.
func (c *Corpus) Vector(d Document) Vector {
	type component struct {
		word   uint32
		weight float64
	}
	var all []component
	for i, w := range d.Words {
		if k, ok := c.index[w]; ok && d.Counts[i] > 0 && c.weight[k] > 0 {
			all = append(all, component{k, float64(d.Counts[i]) * c.weight[k]})
		}
	}
	slices.SortFunc(all, func(a, b component) int { return cmp.Compare(a.word, b.word) })
	var square float64
	v := Vector{make([]uint32, len(all)), make([]float64, len(all))}
	for i, x := range all {
		v.words[i], v.weights[i] = x.word, x.weight
		square += x.weight * x.weight
	}
	for i := range v.weights {
		v.weights[i] /= math.Sqrt(square)
	}
	return v
}

// Cosine of two texts of one corpus, [0,1]; 0 where one of them is empty.
func Cosine(a, b Vector) float64 {
	var sum float64
	for i, j := 0, 0; i < len(a.words) && j < len(b.words); {
		switch {
		case a.words[i] < b.words[j]:
			i++
		case a.words[i] > b.words[j]:
			j++
		default:
			sum += a.weights[i] * b.weights[j]
			i, j = i+1, j+1
		}
	}
	return math.Min(1, sum)
}

// Likest returns the largest cosine of a text to some texts of the same corpus, 0 of none.
func Likest(a Vector, to []Vector) float64 {
	var most float64
	for _, b := range to {
		most = math.Max(most, Cosine(a, b))
	}
	return most
}
