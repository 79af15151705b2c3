package operate

import (
	"testing"

	"forager/internal/crawl/crawlfile"
	"forager/schemas"
)

// TestADistillerThatComesLateIsMarked: dispatch must not wait for rankings of pages that the distiller has not read.
func TestADistillerThatComesLateIsMarked(t *testing.T) {
	for _, c := range []struct {
		from, to string
		late     bool
	}{
		{"soft-focus", "soft-focus-distilled", true},
		{"soft-focus", "apprentice+soft-focus-distilled", true},
		{"soft-focus", "apprentice", false},
		{"soft-focus-distilled", "apprentice+soft-focus-distilled", false},
	} {
		ranking, err := crawlfile.Rank(c.from)
		if err != nil {
			t.Fatal(err)
		}
		ctl := &schemas.CrawlControl{Policies: ranking.Policies}
		if err := (&Ranking{Ranker: c.to}).Apply(ctl); err != nil || ctl.GetDistiller().GetLate() != c.late {
			t.Errorf("from %s to %s: late %t, %v", c.from, c.to, ctl.GetDistiller().GetLate(), err)
		}
		if err := (&Ranking{Ranker: "soft-focus"}).Apply(ctl); err != nil || ctl.GetDistiller().GetLate() != c.late {
			t.Errorf("and back: late %t, %v", ctl.GetDistiller().GetLate(), err)
		}
	}
}
