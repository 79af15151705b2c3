package tfidf

import (
	"errors"
	"iter"
	"maps"
	"math"
	"slices"
	"sort"
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
	c, _, err := index(documents, false)
	return c, err
}

// Index is NewCorpus, and returns the documents as texts of the corpus, in their order.
func Index(documents iter.Seq[Document]) (*Corpus, []Text, error) {
	return index(documents, true)
}

func index(documents iter.Seq[Document], keep bool) (*Corpus, []Text, error) {
	number := make(map[string]uint32) // of words, in the order in which they came
	var having []int
	var texts []Text
	n := 0
	for d := range documents {
		n++
		var t Text
		for i, w := range d.Words {
			if d.Counts[i] == 0 {
				continue
			}
			at, ok := number[w]
			if !ok {
				at = uint32(len(having))
				number[w], having = at, append(having, 0)
			}
			having[at]++
			if keep {
				t.words, t.counts = append(t.words, at), append(t.counts, d.Counts[i])
			}
		}
		if keep {
			texts = append(texts, t)
		}
	}
	if n == 0 {
		return nil, nil, errors.New("a corpus wants documents; there are none")
	}
	c := &Corpus{index: number, weight: make([]float64, len(having))}
	final := make([]uint32, len(having)) // new number of each word, in the order of the words, by its old one
	for i, w := range slices.Sorted(maps.Keys(number)) {
		old := number[w]
		final[old], number[w] = uint32(i), uint32(i)
		c.weight[i] = math.Log(float64(n) / float64(having[old]))
	}
	for _, t := range texts {
		for i, w := range t.words {
			t.words[i] = final[w]
		}
		sort.Sort(t)
	}
	return c, texts, nil
}

// Text is a document of a corpus: the numbers of its words, ascending, and their counts.
type Text struct {
	words, counts []uint32
}

// Len returns the number of different words. With Less and Swap it sorts them.
func (t Text) Len() int { return len(t.words) }

// Less and Swap are those of [sort.Interface].
func (t Text) Less(i, j int) bool { return t.words[i] < t.words[j] }
func (t Text) Swap(i, j int) {
	t.words[i], t.words[j] = t.words[j], t.words[i]
	t.counts[i], t.counts[j] = t.counts[j], t.counts[i]
}

// Vector is a text of a corpus, of length 1 or 0.
type Vector struct {
	words   []uint32 // ascending
	weights []float64
}

// Vector returns the vector of a document.
func (c *Corpus) Vector(d Document) Vector {
	var t Text
	for i, w := range d.Words {
		if k, ok := c.index[w]; ok && d.Counts[i] > 0 {
			t.words, t.counts = append(t.words, k), append(t.counts, d.Counts[i])
		}
	}
	sort.Sort(t)
	return c.Weigh(t)
}

// Weigh returns the vector of a text.
func (c *Corpus) Weigh(t Text) Vector {
	v := Vector{make([]uint32, 0, len(t.words)), make([]float64, 0, len(t.words))}
	var square float64
	for i, w := range t.words {
		if c.weight[w] > 0 {
			x := float64(t.counts[i]) * c.weight[w]
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
