package measure

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func near(a, b float64) bool { return math.Abs(a-b) < 1e-12 }

// By hand: a budget of 8, ended after 5 pages, 4 targets to be found.
func example() *Curve {
	return NewCurve([]Page{
		{Relevance: 1, Target: true},
		{Relevance: .5},
		{Relevance: .9, Target: true, Ignored: true},
		{Relevance: 0, Target: true},
		{Relevance: .25},
	}, 8, 4)
}

func TestCurveByHand(t *testing.T) {
	c := example()
	for _, row := range []struct {
		n                                       int
		rate, labelRate, loss, lossRate, recall float64
		found                                   int
	}{
		{0, 0, 0, 0, 0, 0, 0},
		{1, 1, 1, 0, 0, .25, 1},
		{2, .75, .5, .5, .25, .25, 1},
		{3, .75, .5, .5, .25, .25, 1},
		{4, .5, 2. / 3, 1.5, .5, .5, 2},
		{5, 1.75 / 4, .5, 2.25, 2.25 / 4, .5, 2},
		{6, 1.75 / 5, .4, 3.25, 3.25 / 5, .5, 2},
		{8, 1.75 / 7, 2. / 7, 5.25, 5.25 / 7, .5, 2},
		{99, 1.75 / 7, 2. / 7, 5.25, 5.25 / 7, .5, 2},
	} {
		if !near(c.Rate(row.n), row.rate) || !near(c.LabelRate(row.n), row.labelRate) || !near(c.Loss(row.n), row.loss) ||
			!near(c.LossRate(row.n), row.lossRate) || !near(c.Recall(row.n), row.recall) || c.Found(row.n) != row.found {
			t.Errorf("after %d pages: %v %v %v %v %v %v, want %+v", row.n, c.Rate(row.n), c.LabelRate(row.n), c.Loss(row.n),
				c.LossRate(row.n), c.Recall(row.n), c.Found(row.n), row)
		}
	}
	// Found after 1 … 8 pages: 1 1 1 2 2 2 2 2.
	if want := 13. / 4 / 8; !near(c.AUC(), want) {
		t.Errorf("AUC %v, want %v", c.AUC(), want)
	}
	if c.Pages() != 5 || c.Budget() != 8 {
		t.Errorf("%d pages of %d", c.Pages(), c.Budget())
	}
}

func TestNormalisedAUCByHand(t *testing.T) {
	for _, c := range [][4]float64{{.2, .2, .8, 0}, {.8, .2, .8, 1}, {.5, .2, .8, .5}, {.9, .2, .8, 7. / 6}, {.1, .2, .7, -.2}} {
		if n, ok := NormalisedAUC(c[0], c[1], c[2]); !ok || !near(n, c[3]) {
			t.Errorf("nAUC of %v between %v and %v: %v, want %v", c[0], c[1], c[2], n, c[3])
		}
	}
	if n, ok := NormalisedAUC(.5, .4, .4); ok {
		t.Errorf("nAUC without an oracle better than random: %v", n)
	}
}

func TestCurveOfNothing(t *testing.T) {
	for _, c := range []*Curve{{}, NewCurve(nil, 0, 0)} {
		if c.Rate(5) != 0 || c.LabelRate(5) != 0 || c.Loss(5) != 0 || c.LossRate(5) != 0 || c.Recall(5) != 0 || c.AUC() != 0 {
			t.Errorf("a crawl of nothing is worth something: %+v", c)
		}
	}
	if c := NewCurve(nil, 10, 3); c.Loss(10) != 10 || c.Rate(10) != 0 || c.AUC() != 0 {
		t.Errorf("a crawl that delivered nothing: %+v", c)
	}
	if c := NewCurve([]Page{{Relevance: 1, Target: true, Ignored: true}}, 1, 0); c.Loss(1) != 0 || c.Rate(1) != 0 || c.AUC() != 0 {
		t.Errorf("a crawl of ignored pages: %+v", c)
	}
}

// TestCurveAgainstItsDefinition sums over the pages, padded up to the budget, for every n.
func TestCurveAgainstItsDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pages := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Page {
			return Page{rapid.Float64Range(0, 1).Draw(t, "R"), rapid.Bool().Draw(t, "target"), rapid.Bool().Draw(t, "ignored")}
		}), 0, 30).Draw(t, "pages")
		budget, targets := rapid.IntRange(1, 40).Draw(t, "budget"), rapid.IntRange(30, 50).Draw(t, "targets")
		c := NewCurve(pages, budget, targets)
		padded := pages
		for len(padded) < budget {
			padded = append(padded, Page{})
		}
		auc := 0.0
		for n := 1; n <= budget; n++ {
			var counted, found, relevance, loss float64
			for _, p := range padded[:n] {
				if p.Ignored {
					continue
				}
				counted++
				relevance += p.Relevance
				loss += 1 - p.Relevance
				if p.Target {
					found++
				}
			}
			auc += found / float64(targets) / float64(budget)
			if counted > 0 && (!near(c.Rate(n), relevance/counted) || !near(c.LabelRate(n), found/counted) || !near(c.LossRate(n), loss/counted)) ||
				!near(c.Loss(n), loss) || !near(c.Recall(n), found/float64(targets)) {
				t.Fatalf("after %d pages of %+v", n, pages)
			}
		}
		if !near(c.AUC(), auc) {
			t.Fatalf("AUC %v, want %v", c.AUC(), auc)
		}
	})
}
