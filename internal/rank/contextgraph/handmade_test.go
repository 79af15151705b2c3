package contextgraph

import (
	"math"
	"slices"
	"testing"

	"forager/internal/page/tfidf"
	"forager/internal/rank/localgraph"
)

// TestHandMadeWeb was computed by hand: 20 pages, of which 16 are in the graph of page 0 (its layers are those of the test
// of package localgraph). Its words are call (of 4 pages of the graph), paper (of 6) and date (of 3); log(16/f) is 1.39,
// .98 and 1.67.
func TestHandMadeWeb(t *testing.T) {
	web := map[uint32][]uint32{
		1: {0}, 2: {0, 1}, 4: {0, 3},
		5: {1, 2}, 6: {2, 3}, 7: {4, 0},
		8: {5}, 9: {5, 6}, 10: {5, 6, 18},
		11: {8}, 12: {9, 10}, 13: {10}, 14: {10, 13},
		15: {10, 11}, 16: {11}, 17: {16, 0},
		19: {15}, 0: {19}, 3: {3},
	}
	graph, err := localgraph.Build([]uint32{0}, localgraph.Known(func(v uint32) (parents []uint32) {
		for u := range uint32(20) {
			if slices.Contains(web[u], v) {
				parents = append(parents, u)
			}
		}
		return parents
	}), localgraph.Default)
	if err != nil {
		t.Fatal(err)
	}
	page := func(p uint32) tfidf.Document {
		switch p {
		case 0: // v(paper) = 2/2·.98, v(date) = 1/2·1.67, v(call) = 1/2·1.39: of two components call is none
			return tfidf.Document{Words: []string{"call", "date", "paper"}, Counts: []uint32{1, 1, 2}}
		case 1, 2, 4, 7, 17: // layer 1
			return tfidf.Document{Words: []string{"list", "paper"}, Counts: []uint32{3, 1}}
		case 5, 6: // layer 2, page 5 twice
			return tfidf.Document{Words: []string{"date", "list"}, Counts: []uint32{1, 1}}
		case 8, 9, 10: // layer 3, pages 9 and 10 twice
			return tfidf.Document{Words: []string{"call", "home"}, Counts: []uint32{1, 2}}
		}
		return tfidf.Document{Words: []string{"home"}, Counts: []uint32{1}} // layer 4 has none of the words
	}
	m, err := Train(graph, page, Settings{Components: 2})
	if err != nil {
		t.Fatal(err)
	}
	// P(word|layer) of eq. 4: (1 + count)/(3 + sum), in the order call, date, paper.
	for layer, want := range [][]float64{
		{1. / 6, 2. / 6, 3. / 6}, {1. / 8, 1. / 8, 6. / 8}, {1. / 6, 4. / 6, 1. / 6}, {6. / 8, 1. / 8, 1. / 8},
	} {
		for w, p := range want {
			if got := math.Exp(m.theta[layer][w]); math.Abs(got-p) > 1e-12 {
				t.Errorf("layer %d, word %d: %v, want %v", layer, w, got, p)
			}
		}
	}
	for _, c := range []struct {
		what  string
		page  tfidf.Document
		layer int
		score float64
	}{
		{"the target", page(0), 0, (2*math.Log(3./6) + math.Log(2./6)) / 3},
		{"layer 1", page(17), 1, math.Log(6. / 8)},
		{"layer 2", page(6), 2, math.Log(4. / 6)},
		{"layer 3", page(9), 3, math.Log(6. / 8)},
		{"no word", page(12), 5, math.Inf(-1)},
		{"less likely than the target", tfidf.Document{Words: []string{"date", "paper"}, Counts: []uint32{1, 1}}, 5, (math.Log(2./6) + math.Log(3./6)) / 2},
		// A layer with none of the words is like no page, also one that all words fit equally badly.
		{"unlike all layers", tfidf.Document{Words: []string{"call", "paper"}, Counts: []uint32{1, 1}}, 5, math.Log(math.Sqrt(6) / 8)},
	} {
		if layer, score := m.Classify(c.page); layer != c.layer || !(math.Abs(score-c.score) < 1e-12 || score == c.score) {
			t.Errorf("%s: layer %d with %v, want %d with %v", c.what, layer, score, c.layer, c.score)
		}
	}
}
