package linkvalue

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// TestExplains: the parts of a value add up to it, and one from a link is the greatest among the links.
func TestExplains(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := New(true)
		for _, rec := range crawl(t, 0, 60) {
			r.Observe(rec)
		}
		for v, w := range r.waiting {
			x, ok := r.Explain(v)
			if !ok {
				t.Fatalf("%s is not explained", v)
			}
			var odds, behind float64
			for k, p := range x.Parts {
				if p.Feature == "" {
					t.Fatalf("feature %d has no name", k)
				}
				odds, behind = odds+p.Relevance, behind+p.Behind
				for i := range w.edges {
					e := &w.edges[i]
					if k < meanYield && (e.ofLink()[k] > p.Value || e.from.url == p.From && e.ofLink()[k] != p.Value) {
						t.Fatalf("%s of %s is %v from %d, a link has %v", p.Feature, v, p.Value, p.From, e.ofLink()[k])
					}
				}
			}
			if math.Abs(x.Relevance-sigmoid(odds)) > 1e-9 || math.Abs(x.Behind-math.Exp(min(behind, 3))) > 1e-9 {
				t.Fatalf("%s has %v and %v behind; the parts make %v and %v", v, x.Relevance, x.Behind, sigmoid(odds), math.Exp(behind))
			}
			if got := worth(x.Relevance, x.Behind); got != r.valueOf(w) {
				t.Fatalf("%s has the value %v, explained as %v", v, r.valueOf(w), got)
			}
		}
		if _, ok := r.Explain("unknown"); ok {
			t.Fatal("an unknown URL is explained")
		}
	})
}
