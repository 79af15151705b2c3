package critic

import (
	"cmp"
	"math"
	"slices"
	"testing"
)

// TestQuery: the words whose single occurrence moves an empty page most towards the focus, by judging such pages.
func TestQuery(t *testing.T) {
	all := sentences(60, "A/B", "A/C", "D", "E")
	words := []string{"a", "b", "c", "d", "e", "page", "link", "the", "of"}
	for _, method := range Methods {
		m, _ := train(t, all, Settings{Method: method})
		for _, focus := range [][]string{{"A/B"}, {"A"}, {"A/B", "D"}} {
			odds := func(prose string) float64 {
				j, err := m.JudgeText(prose, focus)
				if err != nil {
					t.Fatal(err)
				}
				return math.Log(j.Raw / (1 - j.Raw))
			}
			var want []QueryTerm
			for _, w := range words {
				if gain := odds(w) - odds(""); gain > 1e-9 {
					want = append(want, QueryTerm{w, gain})
				}
			}
			slices.SortStableFunc(want, func(a, b QueryTerm) int { return cmp.Compare(b.LogOdds, a.LogOdds) })
			for _, n := range []int{1, 2, 20} {
				got, err := m.Query(focus, n)
				if err != nil {
					t.Fatal(err)
				}
				if len(got) != min(n, len(want)) {
					t.Fatalf("%s, %v: %v, want %d of %v", method, focus, got, n, want)
				}
				for i := range got {
					if !near(got[i].LogOdds, want[i].LogOdds) || got[i].Word != want[i].Word && !near(want[i].LogOdds, odds(got[i].Word)-odds("")) {
						t.Errorf("%s, %v: word %d is %v, want %v", method, focus, i, got[i], want[i])
					}
				}
			}
		}
		if q, err := m.Query([]string{"Z"}, 20); err == nil {
			t.Errorf("%s: an unknown topic has the terms %v", method, q)
		}
		if q, err := m.Query([]string{"A", "D", "E"}, 20); err == nil {
			t.Errorf("%s: all topics together have the terms %v", method, q)
		}
	}
}
