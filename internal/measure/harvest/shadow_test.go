package harvest

import (
	"math"
	"runtime"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// placed draws pages of some policies; scores are few, so that there are ties.
func placed(t *rapid.T) []Placed {
	order := rapid.Custom(func(t *rapid.T) Order {
		return Order{
			Out: rapid.IntRange(0, 9).Draw(t, "out") == 0, Tier: rapid.Uint32Range(0, 1).Draw(t, "tier"),
			Score: float64(rapid.IntRange(-3, 3).Draw(t, "score")),
		}
	})
	n := rapid.IntRange(0, 230).Draw(t, "pages")
	pages := make([]Placed, n)
	for i := range pages {
		pages[i] = Placed{
			Policy: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "policy"), Used: order.Draw(t, "used"), Shadow: order.Draw(t, "shadow"),
			Relevance: float64(rapid.IntRange(0, 8).Draw(t, "R")) / 8,
		}
	}
	return pages
}

// compared compares all pages.
func compared(pages []Placed, cut float64) ShadowComparison {
	c := NewComparer(cut)
	for _, p := range pages {
		c.Add(p)
	}
	return c.Result()
}

// TestComparersDoNotGrow: what is held of ten times as many pages is the same.
func TestComparersDoNotGrow(t *testing.T) {
	held := func(pages int) uint64 {
		var before, after runtime.MemStats
		c := NewComparer(.5)
		runtime.GC()
		runtime.ReadMemStats(&before)
		for i := range pages {
			c.Add(Placed{Policy: []string{"a", "b"}[i%2], Relevance: float64(i%7) / 8, Used: Order{Score: float64(i % 5)}})
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		if n := c.Result().Pages; n < pages-2*blockLeast {
			t.Errorf("%d of %d pages are compared", n, pages)
		}
		return after.HeapAlloc - min(before.HeapAlloc, after.HeapAlloc)
	}
	few, many := held(2_000), held(20_000)
	t.Logf("%d and %d bytes", few, many)
	if many > few+64<<10 {
		t.Errorf("%d bytes of 2,000 pages, %d of 20,000", few, many)
	}
}

// before reports that a is placed higher than b.
func (a Order) before(b Order) bool {
	if a.Out || b.Out {
		return !a.Out && b.Out
	}
	return a.Tier < b.Tier || a.Tier == b.Tier && a.Score > b.Score
}

// topByLots is the mean R of the best k of a block with ties broken at random: each of the tied pages has the same
// chance.
func topByLots(block []Placed, of func(Placed) Order, k int) float64 {
	var sum float64
	for _, p := range block {
		above, agreeing := 0, 0
		for _, q := range block {
			if of(q).before(of(p)) {
				above++
			} else if !of(p).before(of(q)) {
				agreeing++
			}
		}
		seats := min(max(k-above, 0), agreeing)
		sum += p.Relevance * float64(seats) / float64(agreeing)
	}
	return sum / float64(k)
}

func TestOrdersAreComparedWithinBlocks(t *testing.T) {
	used, shadow := func(p Placed) Order { return p.Used }, func(p Placed) Order { return p.Shadow }
	rapid.Check(t, func(t *rapid.T) {
		pages := placed(t)
		got := compared(pages, .5)
		var n, pairs int
		var out, all, topUsed, topShadow, right float64
		for _, name := range []string{"a", "b"} {
			of := slices.DeleteFunc(slices.Clone(pages), func(p Placed) bool { return p.Policy != name })
			for len(of) >= 20 {
				block := of[:min(100, len(of))]
				of = of[len(block):]
				size := float64(len(block))
				n += len(block)
				topUsed += size * topByLots(block, used, len(block)/4)
				topShadow += size * topByLots(block, shadow, len(block)/4)
				for _, p := range block {
					all += p.Relevance
					if p.Shadow.Out {
						out++
					}
					for _, q := range block {
						if p.Relevance < .5 || q.Relevance >= .5 {
							continue
						}
						pairs++
						if p.Shadow.before(q.Shadow) {
							right++
						} else if !q.Shadow.before(p.Shadow) {
							right += .5
						}
					}
				}
			}
		}
		want := ShadowComparison{
			Pages: n, Pairs: pairs, Out: out / float64(max(1, n)), Harvest: all / float64(max(1, n)), HarvestUsed: topUsed / float64(max(1, n)),
			HarvestShadow: topShadow / float64(max(1, n)), AUCShadow: right / float64(max(1, pairs)),
			AUCUsed: got.AUCUsed, Shared: got.Shared, Correlation: got.Correlation, Ranked: got.Ranked,
		}
		near := func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }
		if got.Pages != want.Pages || got.Pairs != want.Pairs || !near(got.Out, want.Out) || !near(got.Harvest, want.Harvest) ||
			!near(got.HarvestUsed, want.HarvestUsed) || !near(got.HarvestShadow, want.HarvestShadow) || !near(got.AUCShadow, want.AUCShadow) {
			t.Fatalf("%+v, want %+v", got, want)
		}
		if got.Shared < 0 || got.Shared > 1+1e-9 || math.Abs(got.Correlation) > 1+1e-9 {
			t.Fatalf("%+v", got)
		}
	})
}

// TestAnOrderAgainstItself: compared with itself an order is equal in everything, compared with its opposite in nothing.
func TestAnOrderAgainstItself(t *testing.T) {
	pages := make([]Placed, 100)
	for i := range pages {
		at := Order{Score: float64(i)}
		pages[i] = Placed{Used: at, Shadow: at, Relevance: float64(i) / 100}
	}
	if c := compared(pages, .5); c.Shared != 1 || c.Correlation < 1-1e-12 || c.AUCShadow != 1 || c.AUCUsed != 1 || c.HarvestShadow != c.HarvestUsed || c.HarvestUsed != .87 {
		t.Errorf("the same order: %+v", c)
	}
	for i := range pages {
		pages[i].Shadow.Score = -float64(i)
	}
	if c := compared(pages, .5); c.Shared != 0 || c.Correlation > -1+1e-12 || c.AUCShadow != 0 {
		t.Errorf("the opposite: %+v", c)
	}
	for i := range pages {
		pages[i].Shadow = Order{Out: true}
	}
	if c := compared(pages, .5); c.Out != 1 || c.Ranked != 0 || c.AUCShadow != .5 || math.Abs(c.HarvestShadow-c.Harvest) > 1e-12 || math.Abs(c.Shared-.25) > 1e-12 {
		t.Errorf("a shadow that leaves out everything: %+v", c)
	}
}
