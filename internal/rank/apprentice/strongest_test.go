package apprentice

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"forager/schemas"
)

// The leaps of TestByHand: 4 features, 4 tokens below the cut and 4 above, so that the
// denominators are equal.
func TestStrongestByHand(t *testing.T) {
	c := count(t,
		leap{features("chess", -1, 1, "home", 0, 2), 0},
		leap{features("home", 0, 1), .25},
		leap{features("chess", -1, 2, "go", 0, 1), .75},
		leap{features("chess", 0, 1), 1},
	)
	want := []Tally{
		{"home", 0, 3, 0, math.Log(1. / 4)},
		{"chess", 0, 0, 1, math.Log(2)},
		{"go", 0, 0, 1, math.Log(2)},
		{"chess", -1, 1, 2, math.Log(3. / 2)},
	}
	if d := cmp.Diff(want, c.Strongest(0, 0), cmpopts.EquateApprox(0, 1e-9)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]Tally{want[0]}, c.Strongest(3, 1), cmpopts.EquateApprox(0, 1e-9)); d != "" {
		t.Error(d)
	}
	if all := NewCounts().Strongest(0, 0); len(all) != 0 {
		t.Errorf("an empty model has %v", all)
	}
}

// A link with one feature has the score of the feature's weight, and no feature is left out.
func TestWeightsAreThoseThatScore(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c, known := NewCounts(), make(map[[2]any]bool)
		for range rapid.IntRange(1, 30).Draw(rt, "leaps") {
			term, offset := rapid.SampledFrom([]string{"a", "b", "a very long term indeed"}).Draw(rt, "term"), rapid.IntRange(-3, 3).Draw(rt, "offset")
			known[[2]any{term, int32(offset)}] = true
			learnt(rt, c, leap{features(term, offset, rapid.IntRange(1, 5).Draw(rt, "n")), rapid.Float64Range(0, 1).Draw(rt, "r")})
		}
		m := c.Model()
		all := c.Strongest(0, 0)
		if len(all) != len(known) || len(all) != m.Facts().Features {
			rt.Fatalf("%d features, want %d", len(all), len(known))
		}
		for _, f := range all {
			got := m.Score([]*schemas.Feature{{Term: f.Term, Offset: f.Offset, Count: 1}})
			if want := sigmoid(m.prior + f.Weight); got != want {
				rt.Fatalf("%+v: scores %v, want %v", f, got, want)
			}
		}
	})
}
