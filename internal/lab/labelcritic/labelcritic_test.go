package labelcritic

import (
	"fmt"
	"math"
	"testing"

	"forager/internal/classify/critic"
	"forager/internal/classify/taxonomy"
	"forager/schemas"
)

func TestParse(t *testing.T) {
	for name, want := range map[string]Rates{
		"perfect": {1, 0}, "errors 0.85/0.10": {.85, .1}, "errors 1/0": {1, 0},
		"errors": {}, "errors 0.1/0.85": {}, "errors 2/0": {}, "errors .5/-1": {}, "errors 0.85/0.10x": {}, "errors NaN/0": {}, "bayes": {},
	} {
		if got, err := Parse(name); got != want || (err == nil) != (want != Rates{}) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// TestRates: over many pages the rates are those asked for, and calibrated R is the share of targets among the pages with that verdict.
func TestRates(t *testing.T) {
	const pages = 40_000
	target := func(url string) bool { return url < "http://a.test/2" } // 10000 to 19999 and 1, 10, 100 …
	for name, focus := range map[string]string{"perfect": "svg", "errors 0.85/0.10": "Arts", "errors 0.6/0.3": "svg"} {
		rates, err := Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		n, taken, right := map[bool]float64{}, map[bool]float64{}, map[float64]float64{}
		all := map[float64]float64{}
		targets := 0.
		for i := range pages {
			if target(fmt.Sprintf("http://a.test/%d", i)) {
				targets++
			}
		}
		c := New(focus, target, targets/pages, rates)
		weights, err := critic.Weigh(c, taxonomy.Marking{Good: []string{focus}})
		if err != nil {
			t.Fatal(err)
		}
		for i := range pages {
			p := &schemas.Page{Url: fmt.Sprintf("http://a.test/%d", i)}
			j, err := critic.Judge(t.Context(), c, p, weights)
			if err != nil || j.GetRaw() != j.GetTempered() || j.GetRaw() != 0 && j.GetRaw() != 1 || j.GetBestIsFocus() != (j.GetRaw() == 1) {
				t.Fatalf("%s: %v, %v", name, j, err)
			}
			is := target(p.Url)
			n[is]++
			taken[is] += j.GetRaw()
			all[j.GetCalibrated()]++
			if is {
				right[j.GetCalibrated()]++
			}
		}
		if r := (Rates{taken[true] / n[true], taken[false] / n[false]}); math.Abs(r.True-rates.True) > .01 || math.Abs(r.False-rates.False) > .01 {
			t.Errorf("%s: rates %+v", name, r)
		}
		for calibrated := range all {
			if share := right[calibrated] / all[calibrated]; math.Abs(share-calibrated) > .02 {
				t.Errorf("%s: %.3f of the pages with a calibrated R of %.3f are targets", name, share, calibrated)
			}
		}
	}
}
