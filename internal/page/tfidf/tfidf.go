package tfidf

import (
	"cmp"
	"encoding/binary"
	"errors"
	"iter"
	"math"
	"slices"
	"strings"
	"sync"
)

// Document is a text as words with their counts; words are distinct.
type Document struct {
	Words  []string
	Counts []uint32 // as long as Words
}

// Corpus has the weight of each word, by the number of its documents that contain it. It is safe for concurrent use.
type Corpus struct {
	words  []string  // ascending
	weight []float64 // log(N/f)
	// index returns the numbers of the words. It is made by the first call, as texts of Index need none.
	index func() map[string]uint32
}

// corpusOf returns the corpus of words, ascending, with their weights.
func corpusOf(words []string, weight []float64) *Corpus {
	return &Corpus{words, weight, sync.OnceValue(func() map[string]uint32 {
		index := make(map[string]uint32, len(words))
		for i, w := range words {
			index[w] = uint32(i)
		}
		return index
	})}
}

// NewCorpus counts documents; at least one.
func NewCorpus(documents iter.Seq[Document]) (*Corpus, error) {
	n, v := 0, newVocabulary()
	for d := range documents {
		n++
		for i, w := range d.Words {
			if d.Counts[i] > 0 {
				v.words[v.numberOf(w)].having++
			}
		}
	}
	c, _, err := merge(n, v)
	return c, err
}

// vocabulary is the words of documents, numbered in the order in which they came.
type vocabulary struct {
	number  map[string]uint32
	words   []word
	scratch Text
}

// word is a word of a vocabulary.
type word struct {
	text   string
	having int // documents that have it
	// For Index: the last document that has it, plus 1, and where it is among the words of that.
	last, at int
}

func newVocabulary() *vocabulary { return &vocabulary{number: make(map[string]uint32)} }

func (v *vocabulary) numberOf(text string) uint32 {
	n, ok := v.number[text]
	if !ok {
		n = uint32(len(v.words))
		v.number[text], v.words = n, append(v.words, word{text: text})
	}
	return n
}

// merge makes the corpus of n documents with the words of all vocabularies, and returns the numbers of the words of each in the corpus.
func merge(n int, all ...*vocabulary) (*Corpus, [][]uint32, error) {
	if n == 0 {
		return nil, nil, errors.New("a corpus needs documents; there are none")
	}
	var words []numbered
	final := make([][]uint32, len(all))
	for k, v := range all {
		words = slices.Grow(words, len(v.words))
		final[k] = make([]uint32, len(v.words))
		for old, w := range v.words {
			words = append(words, numbered{prefix(w.text), w.text, uint32(k), uint32(old)})
		}
	}
	slices.SortFunc(words, func(a, b numbered) int {
		if c := cmp.Compare(a.prefix, b.prefix); c != 0 {
			return c
		}
		return strings.Compare(a.word, b.word)
	})
	var distinct []string
	var having []int
	for _, w := range words {
		if len(distinct) == 0 || w.word != distinct[len(distinct)-1] {
			distinct, having = append(distinct, w.word), append(having, 0)
		}
		at := len(distinct) - 1
		having[at] += all[w.by].words[w.old].having
		final[w.by][w.old] = uint32(at)
	}
	weight := make([]float64, len(having))
	for i, f := range having {
		weight[i] = math.Log(float64(n) / float64(f))
	}
	return corpusOf(distinct, weight), final, nil
}

// numbered is a word of one of several vocabularies.
type numbered struct {
	prefix uint64
	word   string
	// by is its vocabulary, old its number there.
	by, old uint32
}

// prefix returns the first bytes of a word as a number in the same order: most words are compared without a look at the strings.
func prefix(word string) uint64 {
	var b [8]byte
	copy(b[:], word)
	return binary.BigEndian.Uint64(b[:])
}

// Vector is a text of a corpus, of length 1 or 0.
type Vector struct {
	words   []uint32 // ascending
	weights []float64
}

// Vector returns the vector of a document.
func (c *Corpus) Vector(d Document) Vector {
	t, index := make(Text, 0, len(d.Words)), c.index()
	for i, w := range d.Words {
		if k, ok := index[w]; ok && d.Counts[i] > 0 {
			t = append(t, counted(k, d.Counts[i]))
		}
	}
	slices.Sort(t)
	return c.Weigh(t)
}

// Weigh returns the vector of a text.
func (c *Corpus) Weigh(t Text) Vector {
	v := Vector{make([]uint32, 0, len(t)), make([]float64, 0, len(t))}
	var square float64
	for _, counted := range t {
		if w := uint32(counted >> 32); c.weight[w] > 0 {
			x := float64(uint32(counted)) * c.weight[w]
			v.words, v.weights = append(v.words, w), append(v.weights, x)
			square += x * x
		}
	}
	for i := range v.weights {
		v.weights[i] /= math.Sqrt(square)
	}
	return v
}

// Cosine returns the cosine of two texts of one corpus, in [0,1]; 0 if one of them is empty.
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

// LargestCosine returns the largest cosine of a text to some texts of the same corpus, 0 of none.
func LargestCosine(a Vector, to []Vector) float64 {
	var most float64
	for _, b := range to {
		most = math.Max(most, Cosine(a, b))
	}
	return most
}
