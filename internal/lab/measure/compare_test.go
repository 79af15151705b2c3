package measure

import (
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"
)

// darwin are the differences in height of Darwin's fifteen pairs of maize plants, in eighths of
// an inch, with which Fisher introduced both tests (The Design of Experiments, 1935, §§17, 21).
var darwin = []float64{49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48}

func TestIntervalPublished(t *testing.T) {
	// Fisher §17: mean 20.93, standard error 9.75, t = 2.148; the 5 % point for 14 degrees is 2.145.
	e := Interval(darwin)
	if math.Abs(e.Mean-20.933) > 1e-3 || math.Abs(e.Half-2.14479*9.7454) > 1e-2 || e.N != 15 {
		t.Errorf("%+v", e)
	}
}

func TestInterval(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   Estimate
	}{
		{nil, Estimate{}},
		{[]float64{3}, Estimate{Mean: 3, N: 1}},
		{[]float64{2, 2, 2}, Estimate{Mean: 2, N: 3}},
		{[]float64{1, 3}, Estimate{Mean: 2, Half: 12.706204736432095, N: 2}},                          // t(.975, 1), s/√n = 1
		{[]float64{1, 2, 3, 4, 5}, Estimate{Mean: 3, Half: 2.7764451051977987 * math.Sqrt(.5), N: 5}}, // t(.975, 4), s² = 2.5
	} {
		got := Interval(c.values)
		if got.N != c.want.N || !near(got.Mean, c.want.Mean) || math.Abs(got.Half-c.want.Half) > 1e-8 {
			t.Errorf("%v: %+v, want %+v", c.values, got, c.want)
		}
	}
}

func TestSignFlipPublished(t *testing.T) {
	// Fisher §21: of 32,768 sums 863 are at least as great, and as many at most as small.
	if p := signFlip(darwin); p != 2*863./32768 {
		t.Errorf("p = %v = %v/32768, want 1726/32768", p, p*32768)
	}
}

func TestSignFlipByHand(t *testing.T) {
	for _, c := range []struct {
		differences []float64
		want        float64
	}{
		{nil, 1},
		{[]float64{1}, 1},
		{[]float64{0, 0, 0}, 1},
		{[]float64{1, 1, 1, 1, 1, 1}, 2. / 64},
		{[]float64{.1, .2, .3, .4, .5, .6}, 2. / 64},
		{[]float64{3, 1, -1}, 6. / 8},                       // sums ±3 ±1 ±1: 5 3 3 1, twice
		{[]float64{.1, .2, -.3}, 1},                         // the observed sum is 0 but for rounding
		{[]float64{.1, .1, .1, .1, .1, .1, -.1}, 16. / 128}, // at most one sign against the rest
	} {
		if got := signFlip(c.differences); !near(got, c.want) {
			t.Errorf("%v: p = %v, want %v", c.differences, got, c.want)
		}
	}
}

// enumerate counts, each from the start, all ways to choose the signs.
func enumerate(differences []float64) float64 {
	observed, scale := 0.0, 0.0
	for _, d := range differences {
		observed += d
		scale += math.Abs(d)
	}
	extreme := 0
	for way := range 1 << len(differences) {
		sum := 0.0
		for i, d := range differences {
			sum += d * float64(1-2*(way>>i&1))
		}
		if math.Abs(sum) >= math.Abs(observed)-1e-9*scale {
			extreme++
		}
	}
	return float64(extreme) / math.Pow(2, float64(len(differences)))
}

func TestSignFlipAgainstEnumeration(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// Hundredths, so that many sums are equal.
		differences := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) float64 {
			return float64(rapid.IntRange(-20, 30).Draw(t, "hundredths")) / 100
		}), 1, 12).Draw(t, "differences")
		got, want := signFlip(differences), enumerate(differences)
		if got != want {
			t.Fatalf("%v: p = %v, enumeration %v", differences, got, want)
		}
		negated := slices.Clone(differences)
		for i := range negated {
			negated[i] = -100 * negated[i]
		}
		if p := signFlip(negated); p != got {
			t.Fatalf("%v: p = %v, of the opposite %v", differences, got, p)
		}
	})
}

func TestSignFlipSampled(t *testing.T) {
	// 30 differences of one size: the number of plus signs is binomial.
	differences := make([]float64, 30)
	for i := range differences {
		differences[i] = 1
		if i < 10 {
			differences[i] = -1
		}
	}
	b := distuv.Binomial{N: 30, P: .5}
	want := 2 * b.CDF(10)
	se := math.Sqrt(want * (1 - want) / resamples)
	if got := signFlip(differences); math.Abs(got-want) > 4*se {
		t.Errorf("p = %v, want %v ± %v", got, want, se)
	}
	if p := signFlip(differences); p != signFlip(differences) {
		t.Error("the p-value changes")
	}
}

func TestHolm(t *testing.T) {
	for _, c := range [][2][]float64{
		{{}, {}},
		{{.03}, {.03}},
		{{.01, .04, .03, .005}, {.03, .06, .06, .02}}, // .005·4, .01·3, .03·2, then .04·1 raised to the one before
		{{.5, .5, .9}, {1, 1, 1}},
		{{.02, .02}, {.04, .04}},
	} {
		got := holm(c[0])
		if !slices.EqualFunc(got, c[1], near) {
			t.Errorf("%v: %v, want %v", c[0], got, c[1])
		}
	}
	// Against its definition: H_i is rejected at α iff all smaller p are and p_i ≤ α/(m − rank).
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SliceOfN(rapid.Float64Range(0, 1), 1, 8).Draw(t, "p")
		alpha := rapid.Float64Range(0.001, 1).Draw(t, "alpha")
		corrected, sorted := holm(p), slices.Sorted(slices.Values(p))
		rejected := 0
		for rejected < len(p) && sorted[rejected] <= alpha/float64(len(p)-rejected) {
			rejected++
		}
		for i := range p {
			isRejected := rejected > 0 && p[i] <= sorted[rejected-1]
			if isRejected != (corrected[i] <= alpha) && !near(corrected[i], alpha) {
				t.Fatalf("%v at %v: %v", p, alpha, corrected)
			}
		}
	})
}

// itself: every task has a site of its own.
func itself(task string) string { return task }

func TestCompare(t *testing.T) {
	a := map[string][]float64{"t1": {.5, .7}, "t2": {.4, .4}, "t3": {.9, .7}, "t4": {.2, .2}, "t5": {.6, .6}, "t6": {.3, .5}}
	b := map[string][]float64{"t1": {.5, .5}, "t2": {.4, .4}, "t3": {.6, .6}, "t4": {.3, .3}, "t5": {.1, .3}, "t6": {.1, .1}}
	// Differences: .1 0 .2 −.1 .4 .3; their sum .9 is reached by few choices of signs.
	c, err := Compare(a, b, itself)
	if err != nil {
		t.Fatal(err)
	}
	if !near(c.Mean, .15) || c.Tasks != 6 || c.Above != 4 || c.Below != 1 || c.Low > c.Mean || c.High < c.Mean {
		t.Errorf("%+v", c)
	}
	if want := enumerate([]float64{.1, 0, .2, -.1, .4, .3}); c.P == nil || !near(*c.P, want) || c.Corrected != nil {
		t.Errorf("p = %v, want %v", c.P, want)
	}
	delete(a, "t6")
	delete(b, "t6")
	few, err := Compare(a, b, itself)
	if err != nil || few.P != nil || few.Tasks != 5 {
		t.Errorf("five tasks: %+v, %v", few, err)
	}
	other := c
	Correct([]*Effect{&few, &c, &other})
	if few.Corrected != nil || c.Corrected == nil || !near(*c.Corrected, min(1, 2**c.P)) || !near(*other.Corrected, *c.Corrected) {
		t.Errorf("corrected: %+v, %+v", few, c)
	}
	// Two tasks of one site are one witness.
	shared, err := Compare(a, b, func(task string) string { return string(task[:1]) })
	if err != nil || shared.P != nil || shared.Sites != 1 || shared.Tasks != 5 || !near(shared.Mean, few.Mean) {
		t.Errorf("one site: %+v, %v", shared, err)
	}
	for name, wrong := range map[string]map[string][]float64{
		"fewer tasks": {"t1": {1, 1}}, "other draws": {"t1": {1}, "t2": {1, 1}, "t3": {1, 1}, "t4": {1, 1}, "t5": {1, 1}},
		"another task": {"x": {1, 1}, "t2": {1, 1}, "t3": {1, 1}, "t4": {1, 1}, "t5": {1, 1}}, "none": {},
	} {
		if _, err := Compare(a, wrong, itself); err == nil || !strings.Contains(err.Error(), "task") {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := Compare(wrong, a, itself); err == nil {
			t.Errorf("%s, turned round: no error", name)
		}
	}
}
