package tfidf

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestAverageIsTheMeanOfCosines compares it with its definition, pair by pair.
func TestAverageIsTheMeanOfCosines(t *testing.T) {
	document := rapid.Custom(func(t *rapid.T) Document {
		var d Document
		for w := range 8 {
			if n := rapid.Uint32Range(0, 3).Draw(t, "count"); n > 0 {
				d.Words, d.Counts = append(d.Words, fmt.Sprint("w", w)), append(d.Counts, n)
			}
		}
		return d
	})
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOfN(document, 1, 6).Draw(t, "texts")
		to := rapid.SliceOfN(document, 0, 4).Draw(t, "to")
		corpus, err := NewCorpus(slices.Values(slices.Concat(texts, to)))
		if err != nil {
			t.Fatal(err)
		}
		vectors := func(of []Document) (all []Vector) {
			for _, d := range of {
				all = append(all, corpus.Vector(d))
			}
			return all
		}
		var want float64
		for _, d := range vectors(to) {
			var sum float64
			for _, p := range vectors(texts) {
				sum += Cosine(p, d)
			}
			want = math.Max(want, sum/float64(len(texts)))
		}
		if have := Average(vectors(texts), vectors(to)); math.Abs(have-want) > 1e-9 {
			t.Fatalf("%v, by pairs %v", have, want)
		}
	})
	if have := Average(nil, nil); have != 0 {
		t.Errorf("of nothing: %v", have)
	}
}
