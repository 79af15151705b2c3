package why

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"forager/schemas"
)

// TestList: the lists are those of all URLs, asked one by one: the best in the order of their places, the oldest in that of their discovery, each
// with its cause.
func TestList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawCauses(t)
		urls, flying := make(map[string]bool), make(map[string]bool)
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			c.act(t, urls, flying)
		}
		x, err := List(c.store, c.ctl, 0, c.now)
		if err != nil || !x.Exact {
			t.Fatalf("%+v, %v", x, err)
		}
		placed, waiting := []*Answer{}, 0
		for u := range urls {
			a := c.ask(u, 1)
			if a.State == Queued || a.State == Waiting {
				waiting++
			}
			if len(a.Places) > 0 && a.Places[0].In {
				placed = append(placed, a)
			}
		}
		if len(x.Best) != min(len(placed), MostBest) || len(x.Oldest) != min(waiting, MostBest) {
			t.Fatalf("%d best, %d oldest, of %d with places and %d that wait", len(x.Best), len(x.Oldest), len(placed), waiting)
		}
		slices.SortFunc(placed, func(a, b *Answer) int { return cmp.Compare(a.Places[0].Before, b.Places[0].Before) })
		for i, e := range x.Best {
			if want := placed[i]; e.URL != want.URL || e.Score != want.Places[0].Score || e.Tries != want.Tries || e.Cause != want.Cause {
				t.Fatalf("the best %d is %+v, want %+v", i, e, want)
			}
		}
		for _, e := range x.Oldest {
			if a := c.ask(e.URL, 1); e.Cause == "" || e.Cause != a.Cause || e.Depth != a.Depth {
				t.Fatalf("%+v, asked %+v", e, a)
			}
		}
	})
}

// TestListTheOldest: the oldest are in the order of their discovery, without those that are visited or excluded.
func TestListTheOldest(t *testing.T) {
	c := newCrawl(t, func(ctl *schemas.CrawlControl) { ctl.Excludes = &schemas.Excludes{Urls: []string{"out$"}} })
	c.seed(page("a", "first"), page("b", "second"), page("a", "out"), page("c", "third"))
	gone := c.dispatch(1)
	x, err := List(c.store, c.ctl, 0, c.now)
	if err != nil {
		t.Fatal(err)
	}
	want := slices.DeleteFunc([]string{page("a", "first"), page("b", "second"), page("c", "third")}, func(u string) bool { return u == gone[0] })
	var got []string
	for _, e := range x.Oldest {
		got = append(got, e.URL)
	}
	if !slices.Equal(got, want) {
		t.Errorf("oldest %v, want %v", got, want)
	}
}
