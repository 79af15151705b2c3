//go:build webs

package alike

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// TestWebsChangedCopies measures on an encyclopedia what TestChangedCopies measures on made-up words, and
// how many of the articles themselves are said to be alike.
func TestWebsChangedCopies(t *testing.T) {
	dir := os.Getenv("FORAGER_TAXONOMY")
	if dir == "" {
		t.Fatal("FORAGER_TAXONOMY names no folder")
	}
	f, err := os.Open(filepath.Join(dir, "schools-wikipedia.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var pages []string
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var x struct{ Text string }
		if err := json.Unmarshal(lines.Bytes(), &x); err != nil {
			t.Fatal(err)
		}
		pages = append(pages, x.Text)
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
