package distill

import (
	"errors"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"forager/schemas"
)

func each(links []Link) iter.Seq2[Link, error] {
	return func(yield func(Link, error) bool) {
		for _, l := range links {
			if !yield(l, nil) {
				return
			}
		}
	}
}

// drawWeb draws up to 30 pages of up to 6 sites and links among them, some of them twice.
func drawWeb(t *rapid.T) ([]Page, []Link) {
	pages := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Page {
		return Page{Site: rapid.Uint32Range(0, 5).Draw(t, "site"), R: rapid.SampledFrom([]float64{0, .1, .15, .5, 1}).Draw(t, "r")}
	}), 1, 30).Draw(t, "pages")
	page := rapid.Uint32Range(0, uint32(len(pages)-1))
	links := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Link { return Link{page.Draw(t, "from"), page.Draw(t, "to")} }), 0, 120).Draw(t, "links")
	return pages, links
}

// dense is the definition, by matrices.
func dense(pages []Page, links []Link, s Settings, rounds int) (h, a []float64) {
	n := len(pages)
	w := make([][]float64, n)
	for i := range w {
		w[i] = make([]float64, n)
	}
	for _, l := range links {
		if pages[l.From].Site != pages[l.To].Site {
			w[l.From][l.To] = 1
		}
	}
	h, a = make([]float64, n), make([]float64, n)
	for i := range h {
		h[i] = 1
	}
	unit := func(x []float64) {
		var sum float64
		for _, v := range x {
			sum += v * v
		}
		for i := range x {
			if sum > 0 {
				x[i] /= math.Sqrt(sum)
			}
		}
	}
	for range rounds {
		for v := range n {
			a[v] = 0
			for u := range n {
				if pages[v].R >= s.Relevance {
					a[v] += w[u][v] * pages[v].R * h[u]
				}
			}
		}
		unit(a)
		next := make([]float64, n)
		for u := range n {
			for v := range n {
				next[u] += w[u][v] * pages[u].R * a[v]
			}
		}
		unit(next)
		h = next
	}
	return h, a
}

func TestRankIsTheDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pages, links := drawWeb(t)
		s := Default
		s.Top = len(pages)
		got, err := Rank(pages, each(links), s)
		if err != nil {
			t.Fatal(err)
		}
		h, a := dense(pages, links, s, got.Rounds)
		for name, c := range map[string]struct {
			listed []Ranked
			want   []float64
		}{"hubs": {got.Hubs, h}, "authorities": {got.Authorities, a}} {
			scores := make([]float64, len(pages))
			for i, p := range c.listed {
				scores[p.Page] = p.Score
				if i > 0 && p.Score > c.listed[i-1].Score {
					t.Errorf("%s: %v is listed behind %v", name, p, c.listed[i-1])
				}
			}
			for i := range scores {
				if math.Abs(scores[i]-c.want[i]) > 1e-9 {
					t.Errorf("%s: page %d has %v, by matrices %v", name, i, scores[i], c.want[i])
				}
			}
		}
		if got.Change >= s.Change && got.Rounds < s.Rounds {
			t.Errorf("it ended after %d rounds with a change of %v", got.Rounds, got.Change)
		}
	})
}

func TestRankDoesNotDependOnTheOrderOfLinks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pages, links := drawWeb(t)
		one, err := Rank(pages, each(links), Default)
		if err != nil {
			t.Fatal(err)
		}
		shuffled := slices.Concat(rapid.Permutation(links).Draw(t, "order"), links)
		two, err := Rank(pages, each(shuffled), Default)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(one.Hubs, two.Hubs) || !slices.Equal(one.Authorities, two.Authorities) || one.Edges != two.Edges {
			t.Errorf("%+v and, in another order and twice, %+v", one, two)
		}
	})
}

// Two hubs point at two good pages, one of them also at a page off topic; a page on the hub's own
// site and a hub off topic count for nothing.
func TestRankOnASmallWeb(t *testing.T) {
	pages := []Page{
		{Site: 1, R: .9}, // 0: hub of both
		{Site: 2, R: .9}, // 1: hub of one
		{Site: 3, R: 1},  // 2: authority of both
		{Site: 4, R: 1},  // 3: authority of one
		{Site: 5, R: .1}, // 4: off topic
		{Site: 6, R: 0},  // 5: hub off topic
		{Site: 1, R: 1},  // 6: on the first hub's site
	}
	links := []Link{{0, 2}, {0, 3}, {0, 6}, {0, 4}, {1, 2}, {1, 4}, {5, 2}, {5, 3}}
	got, err := Rank(pages, each(links), Default)
	if err != nil {
		t.Fatal(err)
	}
	order := func(r []Ranked) (pages []uint32) {
		for _, p := range r {
			pages = append(pages, p.Page)
		}
		return pages
	}
	if h := order(got.Hubs); !slices.Equal(h, []uint32{0, 1}) {
		t.Errorf("hubs %v", h)
	}
	if a := order(got.Authorities); !slices.Equal(a, []uint32{2, 3}) {
		t.Errorf("authorities %v", a)
	}
	// The principal eigenvector of [[1, 1], [1, 2]] is (1, golden ratio).
	if ratio := got.Authorities[0].Score / got.Authorities[1].Score; math.Abs(ratio-math.Phi) > 1e-8 {
		t.Errorf("the authorities stand %v to 1, want %v", ratio, math.Phi)
	}
	if got.Edges != 7 {
		t.Errorf("%d edges counted, want 7", got.Edges)
	}
}

func TestRankRefuses(t *testing.T) {
	torn := errors.New("torn")
	for _, c := range []struct {
		pages []Page
		links iter.Seq2[Link, error]
		want  string
	}{
		{[]Page{{R: math.NaN()}}, each(nil), "page 0 has the relevance NaN"},
		{[]Page{{R: 1}, {R: 1.5}}, each(nil), "page 1 has the relevance 1.5"},
		{[]Page{{R: 1}}, each([]Link{{0, 1}}), "from page 0 to page 1; there are 1 pages"},
		{nil, func(yield func(Link, error) bool) { yield(Link{}, torn) }, "torn"},
	} {
		if _, err := Rank(c.pages, c.links, Default); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
	if r, err := Rank(nil, each(nil), Default); err != nil || len(r.Hubs) != 0 {
		t.Errorf("of nothing: %+v, %v", r, err)
	}
}

// BenchmarkRank distils 10⁶ pages with 10⁷ links.
func BenchmarkRank(b *testing.B) {
	const pages, links = 1_000_000, 10_000_000
	r := rand.New(rand.NewPCG(1, 2))
	web := make([]Page, pages)
	for i := range web {
		web[i] = Page{Site: r.Uint32N(10_000), R: r.Float64()}
	}
	for b.Loop() {
		got, err := Rank(web, func(yield func(Link, error) bool) {
			r := rand.New(rand.NewPCG(3, 4))
			for range links {
				to := uint32(pages * math.Pow(r.Float64(), 3)) // some pages have many links
				if !yield(Link{r.Uint32N(pages), to}, nil) {
					return
				}
			}
		}, Default)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(got.Rounds), "rounds")
	}
}

func TestSettingsOf(t *testing.T) {
	ctl := func(pages uint64, d *schemas.Distiller) *schemas.CrawlControl {
		return &schemas.CrawlControl{Budget: &schemas.Budget{Pages: pages}, Distiller: d}
	}
	for _, c := range []struct {
		ctl   *schemas.CrawlControl
		every uint64
		want  Settings
	}{
		{ctl(0, nil), 500, Default},
		{ctl(9, nil), 1, Default},
		{ctl(4000, nil), 400, Default},
		{ctl(1e6, &schemas.Distiller{}), 500, Default},
		{ctl(40, &schemas.Distiller{Every: 7, ByHost: true, Relevance: .5, Hubs: 3}), 7,
			Settings{Relevance: .5, Change: 1e-9, Rounds: 50, Top: 100, Marked: 3, ByHost: true, MostNoted: Default.MostNoted, MostEdges: Default.MostEdges}},
	} {
		got, err := SettingsOf(c.ctl)
		if err != nil || got != c.want || Every(c.ctl) != c.every {
			t.Errorf("%v: %+v, every %d pages, %v", c.ctl, got, Every(c.ctl), err)
		}
	}
	for expected, d := range map[string]*schemas.Distiller{
		"distiller.relevance is 1.5": {Relevance: 1.5}, "distiller.relevance is NaN": {Relevance: math.NaN()}, "distiller.hubs is 101": {Hubs: 101},
	} {
		if _, err := SettingsOf(ctl(1, d)); err == nil || !strings.Contains(err.Error(), expected) {
			t.Errorf("%v, want %q", err, expected)
		}
	}
}

// TestBoundaries: they are equally far from one another in small crawls, and few in large ones.
func TestBoundaries(t *testing.T) {
	for _, c := range [][3]uint64{{499, 500, 0}, {500, 500, 500}, {19_999, 500, 19_500}, {20_500, 500, 20_000}, {22_000, 500, 22_000}, {5, 0, 5}} {
		if got := Boundary(c[0], c[1]); got != c[2] {
			t.Errorf("%d pages, every %d: %d, want %d", c[0], c[1], got, c[2])
		}
	}
}
