package tfidf

import "math"

// Neighbours is an index of texts of one corpus, to compare many others with all of them. It is safe for concurrent use.
type Neighbours struct {
	number   int                  // of texts
	postings map[uint32][]posting // by word, in the order of the texts
}

type posting struct {
	text   uint32
	weight float64
}

// NewNeighbours indexes texts.
func NewNeighbours(texts []Vector) *Neighbours {
	n := &Neighbours{len(texts), make(map[uint32][]posting)}
	for k, t := range texts {
		for i, w := range t.words {
			n.postings[w] = append(n.postings[w], posting{uint32(k), t.weights[i]})
		}
	}
	return n
}

// Likest returns the same number as the function Likest for these texts: each sum has the same terms in the same order.
func (n *Neighbours) Likest(a Vector) float64 {
	sums := make([]float64, n.number)
	for i, w := range a.words {
		for _, p := range n.postings[w] {
			sums[p.text] += a.weights[i] * p.weight
		}
	}
	var most float64
	for _, s := range sums {
		most = math.Max(most, math.Min(1, s))
	}
	return most
}
