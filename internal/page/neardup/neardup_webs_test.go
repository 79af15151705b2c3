//go:build webs

package neardup

import (
	"math/rand/v2"
	"testing"

	"forager/internal/testkit/frozen"
)

// TestWebsChangedCopies measures on an encyclopedia what TestChangedCopies measures on synthetic words, and how
// many of the articles themselves are found to be similar.
func TestWebsChangedCopies(t *testing.T) {
	var pages []string
	for a := range frozen.Articles(t, "schools-wikipedia") {
		pages = append(pages, a.Text)
	}
	copies, groups := find(pages, .5)
	t.Logf("%d articles: %d groups of copies, %d of pages alike", len(pages), len(copies), len(groups))
	for _, g := range groups {
		a, b := pages[g.Pages[0]], pages[g.Pages[1]]
		t.Logf("%.2f: %.60q | %.60q", g.Least, a, b)
		if len(g.Pages) == 2 && bySets(a, b) < .45 {
			t.Errorf("by their sets of runs %.2f", bySets(a, b))
		}
	}
	r := rand.New(rand.NewPCG(7, 7))
	for share, want := range map[float64]float64{.02: .99, .05: .98, .1: .85} {
		found, wrong := changedCopies(r, pages[:1000], share, .5)
		t.Logf("with %g of the words replaced %.3f are found; %d pairs are none", share, found, wrong)
		if found < want || wrong > 0 {
			t.Errorf("want %g", want)
		}
	}
}
