package tfidf

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

func drawDocument(t *rapid.T) Document {
	words := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f"}), 0, 6, rapid.ID).Draw(t, "words")
	return Document{words, rapid.SliceOfN(rapid.Uint32Range(0, 4), len(words), len(words)).Draw(t, "counts")}
}

func count(d Document, w string) float64 {
	if i := slices.Index(d.Words, w); i >= 0 {
		return float64(d.Counts[i])
	}
	return 0
}

// TestCosineIsTheDefinition computes cosines with dense vectors over all words.
func TestCosineIsTheDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		corpus := rapid.SliceOfN(rapid.Custom(drawDocument), 1, 6).Draw(t, "corpus")
		a, b := drawDocument(t), drawDocument(t)
		c, err := NewCorpus(slices.Values(corpus))
		if err != nil {
			t.Fatal(err)
		}
		var ab, aa, bb float64
		for _, w := range []string{"a", "b", "c", "d", "e", "f"} {
			having := 0.
			for _, d := range corpus {
				if count(d, w) > 0 {
					having++
				}
			}
			if having == 0 {
				continue
			}
			idf := math.Log(float64(len(corpus)) / having)
			x, y := count(a, w)*idf, count(b, w)*idf
			ab, aa, bb = ab+x*y, aa+x*x, bb+y*y
		}
		want := 0.
		if aa > 0 && bb > 0 {
			want = ab / math.Sqrt(aa*bb)
		}
		va, vb := c.Vector(a), c.Vector(b)
		if got := Cosine(va, vb); math.Abs(got-want) > 1e-12 || got != Cosine(vb, va) {
			t.Errorf("%v and %v: %v, by the definition %v", a, b, got, want)
		}
		all := append(slices.Clone(corpus), a)
		split := rapid.Uint32Range(0, 4).Draw(t, "first part of a count")
		indexed, texts, err := Index(len(all), func(i int, add func(word []byte, count uint32)) error {
			for j, w := range all[i].Words {
				if n := min(split, all[i].Counts[j]); n > 0 {
					add([]byte(w), n)
				}
			}
			for j, w := range slices.Backward(all[i].Words) { // again, in another order
				if n := all[i].Counts[j]; n > split {
					add([]byte(w), n-split)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		with, err := NewCorpus(slices.Values(all))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(with, indexed, cmp.AllowUnexported(Corpus{}), cmpopts.IgnoreFields(Corpus{}, "index")); d != "" {
			t.Errorf("a corpus and one with its documents:\n%s", d)
		}
		for i, d := range all {
			if d := cmp.Diff(with.Vector(d), with.Weigh(texts[i]), cmp.AllowUnexported(Vector{}), cmpopts.EquateEmpty()); d != "" {
				t.Errorf("a document weighed by its words and by their numbers:\n%s", d)
			}
		}
		if got, want := NewNeighbours([]Vector{vb, va}).LargestCosine(va), LargestCosine(va, []Vector{vb, va}); got != want {
			t.Errorf("largest cosine %v by postings, %v by pairs", got, want)
		}
		if got := LargestCosine(va, []Vector{vb, va, vb}); aa > 0 && math.Abs(got-1) > 1e-12 {
			t.Errorf("cosine to itself is %v", got)
		}
	})
}

func TestEmptyCorpus(t *testing.T) {
	if _, err := NewCorpus(slices.Values([]Document(nil))); err == nil {
		t.Error("a corpus of nothing")
	}
	if LargestCosine(Vector{}, nil) != 0 {
		t.Error("nothing is like nothing")
	}
}
