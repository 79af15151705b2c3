package view

import (
	"reflect"
	"slices"
	"testing"

	"forager/internal/platform/analytics"
)

func TestTree(t *testing.T) {
	parts := func(n ...uint64) []uint64 { return append(n, make([]uint64, analytics.TopicParts-len(n))...) }
	sums := func(x ...float64) []float64 { return append(x, make([]float64, analytics.TopicParts-len(x))...) }
	got := tree([]analytics.TopicPages{
		{Topic: "arts", Pages: 2, Relevance: 1, LastPages: 1, LastRelevance: 1}, {Topic: "sci/bio", Pages: 4, Relevance: 1, Parts: parts(1, 3), PartRelevance: sums(1)},
		{Topic: "sci/bio/cell", Pages: 4, Relevance: 3, LastPages: 2, LastRelevance: 1, Parts: parts(1), PartRelevance: sums(.5)}, {Topic: "sci-fi", Pages: 1},
	}, []string{"sci/bio", "sport"}, []string{"sci/bio/cell"})
	want := []Topic{
		{"arts", 0, "", 2, .5, 1, 1, nil}, {"sci", 0, "", 8, .5, 2, .5, nil}, {"sci/bio", 1, "good", 8, .5, 2, .5, nil}, {"sci/bio/cell", 2, "bad", 4, .75, 2, .5, nil},
		{"sci-fi", 0, "", 1, 0, 0, 0, nil}, {"sport", 0, "good", 0, 0, 0, 0, nil},
	}
	for i := range got {
		of := got[i].Parts[:2]
		got[i].Parts = nil
		if want := map[string][]TopicPart{"sci": {{2, .75}, {3, 0}}, "sci/bio": {{2, .75}, {3, 0}}, "sci/bio/cell": {{1, .5}, {}}}[got[i].Topic]; want != nil && !slices.Equal(of, want) {
			t.Errorf("%s over time: %+v, want %+v", got[i].Topic, of, want)
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
}
