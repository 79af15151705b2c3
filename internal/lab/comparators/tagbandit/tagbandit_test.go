package tagbandit

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"forager/internal/rank/policy"
	"forager/schemas"
)

// pathsOf are the tag paths of the links of the pages of a test, by their targets.
var pathsOf = make(map[string]map[string][]uint32)

func recordedPaths(url string) map[string][]uint32 { return pathsOf[url] }

func delivered(u string, raw float64, links ...*schemas.Link) *schemas.LinkFound {
	of := make(map[string][]uint32)
	for _, l := range links {
		of[l.GetUrl()] = l.GetTagPath()
	}
	pathsOf[u] = of
	return &schemas.LinkFound{Url: u, Outcome: schemas.Outcome_OUTCOME_DELIVERED, Judgement: &schemas.Judgement{Raw: raw}, Links: links}
}

func seeds(urls ...string) *schemas.LinkFound {
	rec := &schemas.LinkFound{Outcome: schemas.Outcome_OUTCOME_SEEDS}
	for _, u := range urls {
		rec.Links = append(rec.Links, &schemas.Link{Url: u})
	}
	return rec
}

// TestCosine on paths by hand: pairs 1–5 are "html", "html body", "body div", "div div", "div a".
func TestCosine(t *testing.T) {
	sum := vectorOf([]uint32{1, 2, 3, 4, 5})
	for _, c := range []struct {
		path []uint32
		want float64
	}{
		{[]uint32{1, 2, 3, 4, 5}, 1},
		{[]uint32{1, 2, 3, 5}, 4 / math.Sqrt(4*5)},
		{[]uint32{1, 2, 6, 7}, 2 / math.Sqrt(4*5)},
		{[]uint32{8}, 0},
		{nil, 0},
		{[]uint32{1, 2, 3, 4, 4, 5}, (4 + 2) / math.Sqrt(5*8)},
	} {
		if got := cosine(vectorOf(c.path), sum); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%v: %v, want %v", c.path, got, c.want)
		}
	}
	if cosine(nil, nil) != 1 {
		t.Error("two empty paths differ")
	}
}

// TestDrawsFromTheLargestBound: one page after the other, two groups, from which pages are drawn by UCB1.
func TestDrawsFromTheLargestBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var links []*schemas.Link
		of := make(map[string]int)
		paths := [][]uint32{{1, 2, 3}, {7, 8, 9}}
		for i := range rapid.IntRange(2, 20).Draw(t, "links") {
			u := fmt.Sprintf("http://h.test/%d", i)
			of[u] = i % 2
			links = append(links, &schemas.Link{Url: u, TagPath: paths[i%2]})
		}
		r := New(rapid.Uint64().Draw(t, "seed"), 1, recordedPaths)
		r.Observe(seeds("http://h.test/"))
		changed := r.Observe(delivered("http://h.test/", 1, links...))
		var pages, reward, left [2]float64
		for _, g := range of {
			left[g]++
		}
		for n := 0; n < len(links); n++ {
			if len(changed) != 1 || r.Score(changed[0], new(policy.Source)) != drawnScore {
				t.Fatalf("after %d pages it draws %v", n, changed)
			}
			u := changed[0]
			bound := func(g int) float64 {
				if pages[g] == 0 {
					return math.Inf(1)
				}
				return reward[g]/pages[g] + math.Sqrt(2*math.Log(float64(n))/pages[g])
			}
			g := of[u]
			if other := 1 - g; left[other] > 0 && bound(other) > bound(g)+1e-12 {
				t.Fatalf("%s of group %d was drawn: bounds %v and %v", u, g, bound(g), bound(other))
			}
			raw := rapid.SampledFrom([]float64{0, .3, 1}).Draw(t, "R")
			pages[g], reward[g], left[g] = pages[g]+1, reward[g]+raw, left[g]-1
			delete(of, u)
			changed = r.Observe(delivered(u, raw))
		}
		if len(changed) != 0 || len(of) != 0 {
			t.Fatalf("at the end %v are drawn, %v are left", changed, of)
		}
	})
}

func three() *schemas.LinkFound {
	var links []*schemas.Link
	for _, name := range []string{"a", "b", "c"} {
		links = append(links, &schemas.Link{Url: name, TagPath: []uint32{1}})
	}
	return delivered("start", 0, links...)
}

// TestGivesUp a page that others are fetched before again and again, and comes back to it.
func TestGivesUp(t *testing.T) {
	r := New(1, 1, recordedPaths)
	r.Observe(seeds("start"))
	first := r.Observe(three())[0]
	for i := range patience {
		if changed := r.Observe(delivered(fmt.Sprint(i), 0)); i < patience-1 && len(changed) != 0 {
			t.Fatalf("after %d pages: %v", i+1, changed)
		} else if i == patience-1 && (len(changed) != 2 || changed[0] != first || r.drawn[0] != changed[1]) {
			t.Fatalf("at the end of its patience: %v", changed)
		}
	}
	if r.Score(first, new(policy.Source)) != 0 {
		t.Error("it was not given up")
	}
	r.Observe(delivered(r.drawn[0], 0))
	if r.drawn[0] == first {
		t.Error("it is drawn before a page that was not")
	}
	if r.Observe(delivered(r.drawn[0], 0)); len(r.drawn) != 1 || r.drawn[0] != first {
		t.Errorf("at the end %v is drawn", r.drawn)
	}
	if r.Observe(&schemas.LinkFound{Url: first, Outcome: schemas.Outcome_OUTCOME_CLIENT_ERROR}); len(r.drawn) != 0 || r.pages != 2 {
		t.Errorf("%v drawn, %d pages", r.drawn, r.pages)
	}
}

// TestRedirectsKeepTheTurn: where a page that was drawn leads to another one, that is next, and rewards the same group.
func TestRedirectsKeepTheTurn(t *testing.T) {
	r := New(1, 1, recordedPaths)
	r.Observe(seeds("start"))
	first := r.Observe(three())[0]
	if got := r.Observe(&schemas.LinkFound{Url: first, Outcome: schemas.Outcome_OUTCOME_REDIRECTED, Redirect: "d"}); !slices.Equal(got, []string{"d"}) || !slices.Equal(r.drawn, got) {
		t.Fatalf("changed: %v, drawn: %v", got, r.drawn)
	}
	r.Observe(delivered("d", 1, &schemas.Link{Url: first, TagPath: []uint32{9}}))
	if g := r.groups[0]; g.reward != 1 || g.pages != 1 || len(r.groups) != 1 {
		t.Errorf("%d groups, the first has %+v", len(r.groups), g)
	}
}

// TestDrawsAsManyAsAreInFlight, each once.
func TestDrawsAsManyAsAreInFlight(t *testing.T) {
	r := New(1, 2, recordedPaths)
	r.Observe(seeds("start"))
	drawn := r.Observe(three())
	if len(drawn) != 2 || drawn[0] == drawn[1] {
		t.Fatalf("drawn: %v", drawn)
	}
	if got := r.Observe(delivered(drawn[1], 0)); len(got) != 1 || slices.Contains(drawn, got[0]) {
		t.Errorf("then: %v", got)
	}
	if got := r.Score("start", &policy.Source{Seed: true}); got <= drawnScore {
		t.Errorf("a seed scores %v", got)
	}
}

// BenchmarkLargeGroup: a page of a group in which so many wait.
func BenchmarkLargeGroup(b *testing.B) {
	for _, n := range []int{10_000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			r := New(1, 16, recordedPaths)
			for i := range n {
				r.enter(fmt.Sprintf("https://example.org/pages/%d", i), func() int { return r.group(nil) })
			}
			r.draw()
			b.ReportAllocs()
			for b.Loop() {
				u := r.drawn[0]
				r.Observe(delivered(u, .5, &schemas.Link{Url: u + "/more"}))
			}
		})
	}
}
