package neardup

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"forager/internal/page/text"
)

// find goes through both passes.
func find(pages []string, least float64) ([][]int, []Group) {
	var f Finder
	for _, p := range pages {
		f.Add(p)
	}
	copies := f.Copies()
	s := f.Suspects()
	for i, p := range pages {
		if s.Needs(i) {
			s.Show(i, p)
		}
	}
	return copies, s.Groups(least)
}

func TestCopiesAndNear(t *testing.T) {
	prose := func(seed uint64, n int) []string {
		r := rand.New(rand.NewPCG(seed, 1))
		var w []string
		for range n {
			w = append(w, fmt.Sprint("w", r.IntN(5000)))
		}
		return w
	}
	a, b := prose(1, 300), prose(2, 300)
	changed := slices.Clone(a)
	changed[100], changed[200] = "other", "words"
	pages := []string{
		strings.Join(a, " "), strings.Join(b, " "), strings.ToUpper(strings.Join(a, "\n, ")) + "!", strings.Join(changed, " "),
		"short", "two words", "Short.", "two words more", strings.Join(prose(3, 300), " "), "", "!",
	}
	copies, groups := find(pages, .7)
	if diff := cmp.Diff([][]int{{0, 2}, {4, 6}, {9, 10}}, copies); diff != "" {
		t.Error(diff)
	}
	// Six of 298 runs differ in each of the two.
	if diff := cmp.Diff([]Group{{Pages: []int{0, 3}, Least: 292. / 304}}, groups); diff != "" {
		t.Error(diff)
	}
	if _, groups := find(pages, .98); len(groups) > 0 {
		t.Errorf("%v resemble one another by .98", groups)
	}
	if copies, groups := find(nil, .5); copies != nil || groups != nil {
		t.Errorf("of no pages: %v %v", copies, groups)
	}
}

// TestGroupsAreThoseOfAllPairs compares the groups with a comparison of all pairs by sets.
func TestGroupsAreThoseOfAllPairs(t *testing.T) {
	missed, all := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		var pages []string
		for range rapid.IntRange(1, 12).Draw(t, "pages") {
			if len(pages) == 0 || rapid.Bool().Draw(t, "new") {
				pages = append(pages, strings.Join(rapid.SliceOfN(rapid.StringMatching(`[a-z]{2}`), 1, 60).Draw(t, "words"), " "))
				continue
			}
			w := strings.Fields(rapid.SampledFrom(pages).Draw(t, "of"))
			for range rapid.IntRange(0, 3).Draw(t, "changes") {
				w[rapid.IntRange(0, len(w)-1).Draw(t, "at")] = rapid.StringMatching(`[a-z]{3}`).Draw(t, "word")
			}
			pages = append(pages, strings.Join(w, " "))
		}
		_, groups := find(pages, .6)
		together := make(map[[2]int]bool)
		for _, g := range groups {
			if len(g.Pages) < 2 || !slices.IsSorted(g.Pages) || g.Least < .6 {
				t.Fatalf("%+v", g)
			}
			for _, i := range g.Pages {
				alone := true
				for _, j := range g.Pages {
					together[[2]int{i, j}] = true
					alone = alone && (i == j || bySets(pages[i], pages[j]) < .6)
				}
				if alone {
					t.Fatalf("page %d resembles nothing in %+v", i, g)
				}
			}
		}
		for i := range pages {
			for j := range i {
				if r := bySets(pages[i], pages[j]); r >= .6 && r < 1 {
					all++
					if !together[[2]int{i, j}] {
						missed++
					}
				}
			}
		}
	})
	// Copies count as their originals; of the others a few are missed by chance.
	if all == 0 {
		t.Fatal("no two pages resemble one another: that shows nothing")
	}
	t.Logf("%d of %d pairs were missed", missed, all)
}

// bySets is the resemblance by its definition.
func bySets(a, b string) float64 {
	set := func(s string) map[string]bool {
		w := text.Tokens(nil, s)
		m := make(map[string]bool)
		for i := range max(1, len(w)-runLength+1) {
			m[strings.Join(w[i:min(i+runLength, len(w))], " ")] = true
		}
		return m
	}
	x, y := set(a), set(b)
	common := 0
	for run := range x {
		if y[run] {
			common++
		}
	}
	return float64(common) / float64(len(x)+len(y)-common)
}

// TestChangedCopies measures the share of copies with replaced words that are found.
func TestChangedCopies(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	var pages []string
	for range 1000 {
		var w []string
		for range 20 + r.IntN(400) {
			w = append(w, fmt.Sprint("w", int(4000*r.Float64()*r.Float64())))
		}
		pages = append(pages, strings.Join(w, " "))
	}
	for _, c := range []struct{ share, want float64 }{{.02, .99}, {.05, .97}, {.1, .8}} {
		if found, wrong := changedCopies(r, pages, c.share, .5); found < c.want || wrong > 0 {
			t.Errorf("with %g of the words replaced %.3f are found, want %g; %d pairs are none", c.share, found, c.want, wrong)
		}
	}
}

// changedCopies replaces a share of the words of each page, and returns the share of copies that are found as
// such, and the number of pairs whose resemblance is less than reported.
func changedCopies(r *rand.Rand, pages []string, share, least float64) (found float64, wrong int) {
	all := slices.Clone(pages)
	for _, p := range pages {
		w := text.Tokens(nil, p)
		for i := range w {
			if r.Float64() < share {
				other := strings.Fields(pages[r.IntN(len(pages))])
				w[i] = other[r.IntN(len(other))]
			}
		}
		all = append(all, strings.Join(w, " "))
	}
	copies, groups := find(all, least)
	for _, g := range groups {
		copies = append(copies, g.Pages)
		if len(g.Pages) == 2 && bySets(all[g.Pages[0]], all[g.Pages[1]]) < least-.05 {
			wrong++
		}
	}
	hits := 0
	for _, g := range copies {
		for _, i := range g {
			if slices.Contains(g, i+len(pages)) {
				hits++
			}
		}
	}
	return float64(hits) / float64(len(pages)), wrong
}

func BenchmarkAdd(b *testing.B) {
	r := rand.New(rand.NewPCG(7, 7))
	var page strings.Builder
	for range 1000 {
		fmt.Fprint(&page, "word", r.IntN(4000), " ")
	}
	b.SetBytes(int64(page.Len()))
	var f Finder
	for n := 0; b.Loop(); n++ {
		f.Add(fmt.Sprint(n, page.String()))
	}
}
