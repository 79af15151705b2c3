package critic

import (
	"slices"
	"testing"
)

// TestMarksOfSeveralTopics: a page that was drawn needs no topic, and one that is wrong is about none of them.
func TestMarksOfSeveralTopics(t *testing.T) {
	crawl := &OpenedCritic{crawl: "c", focus: []string{"Science/Chemistry", "Science/Physics"}}
	example := []string{"Science/Chemistry/Acids", "Science/Physics", "Sports"}
	for _, test := range []struct {
		right, drawn bool
		topic        string
		want         []string
	}{
		{true, true, "", example},
		{false, true, "", []string{"Sports"}},
		{false, false, "", []string{"Sports"}},
		{false, false, "Arts", []string{"Sports", "Arts"}},
		{true, false, "Arts", append(slices.Clone(example), "Arts")},
	} {
		m, err := crawl.newMark(test.right, test.drawn, test.topic)
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Topics(example); !slices.Equal(got, test.want) || m.Drawn != test.drawn || m.Crawl != "c" {
			t.Errorf("%+v: the example is about %v", test, got)
		}
	}
	if _, err := crawl.newMark(true, false, ""); err == nil {
		t.Error("which of the topics is it about?")
	}
}
