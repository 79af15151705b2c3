package tfidf

import "math"

// Average returns the largest mean cosine of texts to one of some others of the same corpus (2008 §4.1, eq. 8:
// σ = max_d Σ_p cos(p,d)/|S|); 0 of none.
func Average(texts, to []Vector) float64 {
	var sum []float64 // of the texts, by word: cosines of texts of length 1 add up
	for _, t := range texts {
		if n := len(t.words); n > 0 && int(t.words[n-1]) >= len(sum) {
			sum = append(sum, make([]float64, int(t.words[n-1])+1-len(sum))...)
		}
		for i, w := range t.words {
			sum[w] += t.weights[i]
		}
	}
	var most float64
	for _, d := range to {
		var cosines float64
		for i, w := range d.words {
			if int(w) < len(sum) {
				cosines += sum[w] * d.weights[i]
			}
		}
		most = math.Max(most, cosines)
	}
	return most / float64(max(1, len(texts)))
}
