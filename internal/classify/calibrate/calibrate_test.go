package calibrate

import (
	"cmp"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func pages(t *rapid.T) []Page {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Page {
		return Page{float64(rapid.IntRange(-20, 20).Draw(t, "score")) / 4, rapid.Bool().Draw(t, "right"), rapid.IntRange(0, Folds-1).Draw(t, "fold"), rapid.IntRange(0, 3).Draw(t, "count")}
	}), 1, 60).Draw(t, "pages")
}

func everything(pages []Page) []point {
	pages = slices.Clone(pages)
	slices.SortFunc(pages, func(a, b Page) int { return cmp.Compare(a.Score, b.Score) })
	return gather(pages, func(Page) bool { return true })
}

// The isotonic regression of y is, at i, the maximum over j ≤ i of the minimum over k ≥ i of the
// mean of y[j..k] (Barlow et al. 1972).
func TestPoolIsTheMinimaxMean(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		points := everything(pages(t))
		var pooled []float64
		for at, i := 0, 0; i < len(points); at++ {
			block := pool(points, point.mean)[at]
			for n := 0.; n < block.n; i++ {
				n += points[i].n
				pooled = append(pooled, block.mean())
			}
		}
		for i := range points {
			want := math.Inf(-1)
			for j := range points[:i+1] {
				least := math.Inf(1)
				for k := i; k < len(points); k++ {
					least = min(least, total(points[j:k+1]).mean())
				}
				want = max(want, least)
			}
			if math.Abs(pooled[i]-want) > 1e-12 {
				t.Fatalf("%g at point %d of %v, want %g", pooled[i], i, points, want)
			}
		}
		if err := isotonic(points).Check(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestSigmoidIsAMinimum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		points := everything(pages(t))
		c := sigmoid(points)
		all := total(points)
		f := fit{points: points, high: (all.right + 1) / (all.right + 2), low: 1 / (all.n - all.right + 2), unit: 1}
		at := f.loss(c.A, c.B)
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "steps"), 0))
		for range 50 {
			a, b := c.A+r.NormFloat64()*.3, c.B+r.NormFloat64()*.3
			if a >= 0 && c.A > 0 && f.loss(a, b) < at-1e-6 {
				t.Fatalf("loss %g at (%g, %g), but %g at (%g, %g)", at, c.A, c.B, f.loss(a, b), a, b)
			}
		}
	})
}

func TestProbabilitiesNeverFall(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := pages(t)
		f, err := Fit(all)
		if err != nil {
			if !strings.Contains(err.Error(), "both kinds") {
				t.Fatal(err)
			}
			return
		}
		c := f.Curve
		for _, c := range append(f.Without[:], c) {
			if err := c.Check(); err != nil {
				t.Fatal(err)
			}
		}
		last := 0.
		for _, score := range []float64{math.NaN(), math.Inf(-1), -1000, -5, -1, -.1, 0, .3, 2, 5, 1000, math.Inf(1)} {
			p := c.Probability(score)
			if !(p > 0 && p < 1 && p >= last) {
				t.Fatalf("Pr = %g at %g after %g", p, score, last)
			}
			last = p
		}
		again, err := Fit(rapid.Permutation(all).Draw(t, "another order"))
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(again, f) {
			t.Fatalf("another order of pages makes %+v of %+v", again.Curve, f.Curve)
		}
	})
}

// A line ends where the next one begins, in spite of rounding.
func TestLinesMeet(t *testing.T) {
	meet := func(t interface{ Fatalf(string, ...any) }, all []Page) {
		c := isotonic(everything(all))
		for i, x := range c.X {
			before, at, after := c.Probability(math.Nextafter(x, -1000)), c.Probability(x), c.Probability(math.Nextafter(x, 1000))
			if !(before <= at && at <= c.Y[i] && c.Y[i] <= after) {
				t.Fatalf("Pr = %v, %v, %v before, at and after (%v, %v)", before, at, after, x, c.Y[i])
			}
		}
	}
	meet(t, []Page{{Score: 0, Count: 3}, {Score: 5, Right: true, Count: 2}, {Score: -2.75, Right: true}}) // .3 + (5/6 - .3) > 5/6
	rapid.Check(t, func(t *rapid.T) { meet(t, pages(t)) })
}

// A fold's curve is the curve of the other folds; a page that counts twice is two pages.
func TestFoldsAreLeftOut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := pages(t)
		f, err := Fit(all)
		if err != nil {
			return
		}
		for fold := range Folds {
			var others []Page
			for _, p := range all {
				n := max(1, p.Count)
				if p.Count = 0; p.Fold != fold {
					others = append(others, slices.Repeat([]Page{p}, n)...)
				}
			}
			if len(others) == 0 {
				continue
			}
			fit := map[Shape]func([]point) *Curve{Sigmoid: sigmoid, Isotonic: isotonic}[f.Curve.Shape]
			for _, score := range []float64{-5, -1, 0, 2.5, 9} {
				if got, want := f.Without[fold].Probability(score), fit(everything(others)).Probability(score); math.Abs(got-want) > 1e-9 {
					t.Fatalf("without fold %d: %g at %g, want %g", fold, got, score, want)
				}
			}
		}
	})
}

// Pages are drawn from a known curve: the fitted one must be close to it, with the better shape.
func TestFitFindsTheCurve(t *testing.T) {
	for name, truth := range map[string]func(float64) float64{
		"sigmoid":         func(x float64) float64 { return 1 / (1 + math.Exp(-(.4*x - 1))) },
		"stairs":          func(x float64) float64 { return map[bool]float64{false: .2, true: .7}[x > 1] },
		"over-confident":  func(x float64) float64 { return 1 / (1 + math.Exp(-x/8)) },
		"nothing to find": func(float64) float64 { return .3 },
	} {
		r := rand.New(rand.NewPCG(1, 2))
		var all []Page
		for i := range 20000 {
			x := r.NormFloat64() * 6
			all = append(all, Page{Score: x, Right: r.Float64() < truth(x), Fold: i % Folds})
		}
		f, err := Fit(all)
		if err != nil {
			t.Fatal(err)
		}
		c := f.Curve
		if name == "stairs" && c.Shape != Isotonic {
			t.Errorf("%s: shape %d", name, c.Shape)
		}
		var off, n float64
		for x := -10.; x <= 10; x += .5 {
			off += math.Abs(c.Probability(x) - truth(x))
			n++
		}
		if off/n > .02 {
			t.Errorf("%s: off by %.3f on average", name, off/n)
		}
	}
}

func TestFitRefuses(t *testing.T) {
	for want, pages := range map[string][]Page{
		"0 of 0 pages":               nil,
		"2 of 2 pages":               {{Score: 1, Right: true}, {Score: 2, Right: true, Fold: 1}},
		"page 1 is not a number":     {{Score: 1, Right: true}, {Score: math.NaN()}},
		"0 of 1 pages are of the cl": {{Score: 1}},
		"page 0 is in fold 5":        {{Score: 1, Fold: Folds}},
	} {
		if _, err := Fit(pages); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", pages, err, want)
		}
	}
}

func TestCheck(t *testing.T) {
	nan := math.NaN()
	for _, c := range []Curve{
		{A: -1}, {A: nan}, {B: nan}, {Shape: Isotonic}, {Shape: 7},
		{Shape: Isotonic, X: []float64{1}, Y: []float64{.5, .6}},
		{Shape: Isotonic, X: []float64{1, 1}, Y: []float64{.5, .6}},
		{Shape: Isotonic, X: []float64{1, 2}, Y: []float64{.6, .5}},
		{Shape: Isotonic, X: []float64{1, 2}, Y: []float64{.6, 1}},
		{Shape: Isotonic, X: []float64{nan, 2}, Y: []float64{.6, .7}},
	} {
		if c.Check() == nil {
			t.Errorf("%+v passes", c)
		}
	}
}
