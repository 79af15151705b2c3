package tfidf

import "math"

// Neighbours is an index of texts of one corpus, to compare many others with all of them. It is safe for concurrent use.
type Neighbours struct {
	number int // of texts
	// postings of word w, in the order of the texts, are those from ends[w−1] to ends[w].
	postings []posting
	ends     []uint32
}

type posting struct {
	text   uint32
	weight float64
}

// NewNeighbours indexes texts.
func NewNeighbours(texts []Vector) *Neighbours {
	n := &Neighbours{number: len(texts)}
	var words, all int
	for _, t := range texts {
		if last := len(t.words) - 1; last >= 0 {
			words, all = max(words, int(t.words[last])+1), all+len(t.words)
		}
	}
	n.ends, n.postings = make([]uint32, words), make([]posting, all)
	for _, t := range texts {
		for _, w := range t.words {
			n.ends[w]++
		}
	}
	next := uint32(0)
	for w, have := range n.ends { // where those of each word begin, until they are filled in
		n.ends[w], next = next, next+have
	}
	for k, t := range texts {
		for i, w := range t.words {
			n.postings[n.ends[w]] = posting{uint32(k), t.weights[i]}
			n.ends[w]++
		}
	}
	return n
}

// of returns the postings of a word.
func (n *Neighbours) of(word uint32) []posting {
	if int(word) >= len(n.ends) {
		return nil
	}
	var from uint32
	if word > 0 {
		from = n.ends[word-1]
	}
	return n.postings[from:n.ends[word]]
}

// LargestCosine returns the same number as the function LargestCosine for these texts: each sum has the same terms in the same order.
func (n *Neighbours) LargestCosine(a Vector) float64 {
	sums := make([]float64, n.number)
	for i, w := range a.words {
		for _, p := range n.of(w) {
			sums[p.text] += a.weights[i] * p.weight
		}
	}
	var most float64
	for _, s := range sums {
		most = math.Max(most, math.Min(1, s))
	}
	return most
}
