package tfidf

import (
	"cmp"
	"encoding/binary"
	"errors"
	"iter"
	"math"
	"slices"
	"strings"
)

// Document is a text as words with their counts; words are distinct.
type Document struct {
	Words  []string
	Counts []uint32 // as long as Words
}

// Corpus has the weight of each word, by the number of its documents that contain it. It is safe for concurrent use.
type Corpus struct {
	index  map[string]uint32 // in the order of the words
	weight []float64         // log(N/f)
}

// NewCorpus counts documents; at least one.
func NewCorpus(documents iter.Seq[Document]) (*Corpus, error) {
	n, v := 0, newVocabulary()
	for d := range documents {
		n++
		for i, w := range d.Words {
			if d.Counts[i] > 0 {
				v.having[v.numberOf(w)]++
			}
		}
	}
	c, _, err := merge(n, v)
	return c, err
}

// vocabulary is the words of documents, numbered in the order in which they came.
type vocabulary struct {
	number map[string]uint32
	having []int // documents that have each word
	// For Index: of each word the last document that has it, plus 1, and where it is among the words of that.
	last, at []int
	scratch  Text
}

func newVocabulary() *vocabulary { return &vocabulary{number: make(map[string]uint32)} }

func (v *vocabulary) numberOf(word string) uint32 {
	n, ok := v.number[word]
	if !ok {
		n = uint32(len(v.having))
		v.number[word], v.having = n, append(v.having, 0)
	}
	return n
}

// merge makes the corpus of n documents with the words of all vocabularies, and returns the numbers of the words of each in the corpus.
func merge(n int, all ...*vocabulary) (*Corpus, [][]uint32, error) {
	if n == 0 {
		return nil, nil, errors.New("a corpus wants documents; there are none")
	}
	var words []numbered
	final := make([][]uint32, len(all))
	for k, v := range all {
		final[k] = make([]uint32, len(v.having))
		for w, old := range v.number {
			words = append(words, numbered{prefix(w), w, uint32(k), old})
		}
	}
	slices.SortFunc(words, func(a, b numbered) int {
		if c := cmp.Compare(a.prefix, b.prefix); c != 0 {
			return c
		}
		return strings.Compare(a.word, b.word)
	})
	c := &Corpus{index: all[0].number}
	var having []int
	for i, w := range words {
		if i == 0 || w.word != words[i-1].word {
			c.index[w.word] = uint32(len(having))
			having = append(having, 0)
		}
		at := len(having) - 1
		having[at] += all[w.by].having[w.old]
		final[w.by][w.old] = uint32(at)
	}
	c.weight = make([]float64, len(having))
	for i, f := range having {
		c.weight[i] = math.Log(float64(n) / float64(f))
	}
	return c, final, nil
}

// numbered is a word of a vocabulary.
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
	t := make(Text, 0, len(d.Words))
	for i, w := range d.Words {
		if k, ok := c.index[w]; ok && d.Counts[i] > 0 {
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

// Likest returns the largest cosine of a text to some texts of the same corpus, 0 of none.
func Likest(a Vector, to []Vector) float64 {
	var most float64
	for _, b := range to {
		most = math.Max(most, Cosine(a, b))
	}
	return most
}
