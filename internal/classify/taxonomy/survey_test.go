package taxonomy

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTopics(t *testing.T) {
	got := Topics(slices.Concat(at(2, "A/B"), at(1, "A/B/C", "A/D"), at(1, "A", "A"), at(1, "", "E")))
	if diff := cmp.Diff([]Topic{{"A", 1, 4}, {"A/B", 2, 3}, {"A/B/C", 1, 1}, {"A/D", 1, 1}, {"E", 1, 1}}, got); diff != "" {
		t.Error(diff)
	}
}

func TestMoved(t *testing.T) {
	examples := slices.Concat(at(5, "A/B"), at(5, "A/C"), at(1, "A/C/D"), at(2, "A/C/D/E"), at(1, "F/G"), at(1, "F"))
	tree, err := Prune(examples, Settings{Minimum: 4})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]int{"A/C": 3, "": 2}, tree.Moved(examples)); diff != "" {
		t.Error(diff)
	}
}

func TestSimilar(t *testing.T) {
	got := Similar(Topics(at(1, "A/Ice_Hockey", "A/ice hockey", "A/Ice-Hockey/X", "B/Ice_Hockey", "A/Hockey", "A/++", "A/--")))
	if diff := cmp.Diff([][]string{{"A/Ice-Hockey", "A/Ice_Hockey", "A/ice hockey"}}, got); diff != "" {
		t.Error(diff)
	}
}
