package experiment

import (
	"bytes"
	"strings"
	"testing"

	"forager/internal/lab/papers"
)

// TestPapersOfASyntheticWebAreTheSame: the page is reproducible, including its figures.
func TestPapersOfASyntheticWebAreTheSame(t *testing.T) {
	c := &experimentPapers{SimSeeds: []uint64{401}, Teacher: 451, Critic: 452, Pages: 1000, Budget: 40}
	make := func() string {
		w, err := c.synthetic(t.Context(), "peaked")
		if err != nil {
			t.Fatal(err)
		}
		report, err := papers.Reproduce(t.Context(), []*papers.World{w}, func(string, int, int) {})
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		err = report.WriteMarkdown(&b, "papers", func(name, svg string) error { b.WriteString(name + svg); return nil })
		if err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	page := make()
	if again := make(); page != again {
		t.Error("made again it is another page")
	}
	for _, want := range []string{"synthetic webs of 1000 pages, seeds [401], cues peaked", "Protocol T: another synthetic web taught it.", "(synthetic: proves code, no headline)"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in the page", want)
		}
	}
}
