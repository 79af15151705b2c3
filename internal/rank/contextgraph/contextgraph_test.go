package contextgraph

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"forager/internal/page/tfidf"
	"forager/internal/rank/localgraph"
)

// documents of a made-up web: papers in layer 0, lists of papers in 1, home pages in 2.
var documents = map[uint32]tfidf.Document{
	0: {Words: []string{"call", "paper", "deadline"}, Counts: []uint32{2, 4, 1}},
	1: {Words: []string{"call", "paper", "committee"}, Counts: []uint32{1, 2, 3}},
	2: {Words: []string{"conference", "call", "list"}, Counts: []uint32{3, 1, 2}},
	3: {Words: []string{"conference", "list", "paper"}, Counts: []uint32{4, 1, 1}},
	4: {Words: []string{"home", "student", "call"}, Counts: []uint32{2, 2, 1}},
	5: {Words: []string{"home", "student", "list"}, Counts: []uint32{5, 1, 1}},
}

var graph = &localgraph.Graph{Layers: [][]localgraph.Member{
	{{Page: 0, Copies: 1}, {Page: 1, Copies: 1}},
	{{Page: 2, Copies: 1}, {Page: 3, Copies: 2}},
	{{Page: 3, Copies: 1}, {Page: 4, Copies: 1}, {Page: 5, Copies: 3}},
	nil,
}}

func document(p uint32) tfidf.Document { return documents[p] }

func train(t testing.TB, s Settings) *Model {
	t.Helper()
	m, err := Train(graph, document, s)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// naive computes the scores of a page straight from the definitions.
func naive(s Settings, d tfidf.Document) []float64 {
	vocabulary := make(map[string]bool)
	master := 1
	if s.WithLayer1 {
		master = 2
	}
	for _, layer := range graph.Layers[:master] {
		for _, m := range layer {
			for _, w := range documents[m.Page].Words {
				vocabulary[w] = true
			}
		}
	}
	holds := func(d tfidf.Document, w string) uint32 {
		if i := slices.Index(d.Words, w); i >= 0 {
			return d.Counts[i]
		}
		return 0
	}
	reduced := func(d tfidf.Document) map[string]uint32 {
		words := make([]string, 0)
		weight := make(map[string]float64)
		for _, w := range d.Words {
			if !vocabulary[w] || holds(d, w) == 0 {
				continue
			}
			n := 0
			for _, other := range documents {
				if holds(other, w) > 0 {
					n++
				}
			}
			words = append(words, w)
			weight[w] = float64(holds(d, w)) / float64(slices.Max(d.Counts)) * math.Log(float64(len(documents))/float64(n))
		}
		slices.SortFunc(words, func(a, b string) int {
			switch {
			case weight[a] > weight[b]:
				return -1
			case weight[a] < weight[b]:
				return 1
			}
			return strings.Compare(a, b)
		})
		out := make(map[string]uint32)
		for _, w := range words[:min(len(words), s.Components)] {
			out[w] = holds(d, w)
		}
		return out
	}
	scores := make([]float64, len(graph.Layers))
	page := reduced(d)
	for i, layer := range graph.Layers {
		if len(layer) == 0 || len(page) == 0 {
			scores[i] = math.Inf(-1)
			continue
		}
		var all, n float64
		counts := make(map[string]float64)
		for _, m := range layer {
			for range m.Copies {
				for w, c := range reduced(documents[m.Page]) {
					counts[w] += float64(c)
					all += float64(c)
				}
			}
		}
		for w, c := range page {
			scores[i] += float64(c) * math.Log((1+counts[w])/(float64(len(vocabulary))+all))
			n += float64(c)
		}
		if !s.Raw {
			scores[i] /= n
		}
	}
	return scores
}

func drawSettings(t *rapid.T) Settings {
	return Settings{
		Components: rapid.IntRange(1, 5).Draw(t, "components"), WithLayer1: rapid.Bool().Draw(t, "layer 1"), Raw: rapid.Bool().Draw(t, "raw"),
	}
}

func drawDocument(t *rapid.T) tfidf.Document {
	words := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"call", "paper", "deadline", "committee", "conference", "list", "home", "student", "else"}), 0, 6, rapid.ID).Draw(t, "words")
	return tfidf.Document{Words: words, Counts: rapid.SliceOfN(rapid.Uint32Range(0, 5), len(words), len(words)).Draw(t, "counts")}
}

func TestScoresAreTheDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, d := drawSettings(t), drawDocument(t)
		m, err := Train(graph, document, s)
		if err != nil {
			t.Fatal(err)
		}
		got, want := m.Scores(d), naive(s, d)
		for i := range want {
			if !(math.Abs(got[i]-want[i]) < 1e-9 || got[i] == want[i]) {
				t.Fatalf("layer %d: %v, by the definition %v", i, got, want)
			}
		}
		layer, score := m.Classify(d)
		if best := slices.Max(want); layer == m.Other() {
			if !math.IsInf(best, -1) && best >= m.least[slices.Index(got, slices.Max(got))] {
				t.Errorf("other, with scores %v and thresholds %v", got, m.least)
			}
		} else if score != got[layer] || score != slices.Max(got) || score < m.least[layer] {
			t.Errorf("layer %d with %v of %v", layer, score, got)
		}
	})
}

// TestTrainingPagesPass: with the paper's threshold a training page of the layer that wins is never "other".
func TestTrainingPagesPass(t *testing.T) {
	for _, s := range []Settings{Default, {Components: 2, Raw: true}, {Components: 40, WithLayer1: true}} {
		m := train(t, s)
		for i, layer := range graph.Layers {
			for _, member := range layer {
				if scores := m.Scores(documents[member.Page]); slices.Max(scores) == scores[i] && !math.IsInf(scores[i], -1) {
					if got, _ := m.Classify(documents[member.Page]); got == m.Other() {
						t.Errorf("%+v: page %d of layer %d is other", s, member.Page, i)
					}
				}
			}
		}
	}
}

func TestClassify(t *testing.T) {
	m := train(t, Settings{Components: 40, WithLayer1: true})
	for want, d := range map[int]tfidf.Document{
		0: {Words: []string{"paper", "call", "committee"}, Counts: []uint32{2, 1, 1}},
		1: {Words: []string{"conference", "list"}, Counts: []uint32{3, 1}},
		4: {Words: []string{"home", "student"}, Counts: []uint32{3, 1}}, // no word of layers 0 and 1
	} {
		if got, score := m.Classify(d); got != want {
			t.Errorf("%v lies in layer %d (%v), want %d: %v", d.Words, got, score, want, m.Scores(d))
		}
	}
	if m.Other() != 4 {
		t.Errorf("%d layers", m.Other())
	}
	// Held-out scores are lower than those of pages that the model has seen, so more would pass; a quantile
	// above the lowest lets fewer pass.
	strict := train(t, Settings{Components: 40, WithLayer1: true, Quantile: .9})
	for i := range 3 {
		if math.IsInf(strict.least[i], 0) {
			t.Errorf("layer %d has the threshold %v", i, strict.least[i])
		}
	}
}

func TestTrainRefuses(t *testing.T) {
	empty := func(uint32) tfidf.Document { return tfidf.Document{} }
	torn := func(uint32) tfidf.Document { return tfidf.Document{Words: []string{"a"}} }
	for want, f := range map[string]func() (*Model, error){
		"2 target pages hold no word": func() (*Model, error) { return Train(graph, empty, Default) },
		"1 words and 0 counts":        func() (*Model, error) { return Train(graph, torn, Default) },
		"0 components":                func() (*Model, error) { return Train(graph, document, Settings{}) },
		"quantile 1":                  func() (*Model, error) { return Train(graph, document, Settings{Components: 1, Quantile: 1}) },
	} {
		if _, err := f(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
