package view

import (
	"reflect"
	"testing"

	"forager/internal/platform/analytics"
)

func TestTree(t *testing.T) {
	got := tree([]analytics.TopicPages{
		{Topic: "arts", Pages: 2, Relevance: 1, LastPages: 1, LastRelevance: 1}, {Topic: "sci/bio", Pages: 4, Relevance: 1},
		{Topic: "sci/bio/cell", Pages: 4, Relevance: 3, LastPages: 2, LastRelevance: 1}, {Topic: "sci-fi", Pages: 1},
	}, []string{"sci/bio", "sport"}, []string{"sci/bio/cell"})
	want := []Topic{
		{"arts", 0, "", 2, .5, 1, 1}, {"sci", 0, "", 8, .5, 2, .5}, {"sci/bio", 1, "good", 8, .5, 2, .5}, {"sci/bio/cell", 2, "bad", 4, .75, 2, .5},
		{"sci-fi", 0, "", 1, 0, 0, 0}, {"sport", 0, "good", 0, 0, 0, 0},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
}
