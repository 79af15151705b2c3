package pulearning

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// normal draws n numbers around a mean, with standard deviation 1.
func normal(random *rand.Rand, n int, mean float64) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = mean + random.NormFloat64()
	}
	return x
}

// mixture draws n scores: a share of them as positives (around +d/2), the rest around −d/2.
func mixture(random *rand.Rand, n int, share, d float64) []float64 {
	on := int(share*float64(n) + .5)
	return append(normal(random, on, d/2), normal(random, n-on, -d/2)...)
}

// TestBestBinIsAsCloseAsItsBound: the error of the estimate never exceeds the bound of Theorem 1 of Garg et al.
// 2021 with the constants of the algorithm: the sampling error at the threshold of an estimator that is given the
// truth. With classes 4 apart half of the positives are where one page in 40,000 is negative, so the error of the
// quotient is twice the deviations of the two shares there.
func TestBestBinIsAsCloseAsItsBound(t *testing.T) {
	for _, n := range []int{50, 400, 3000} {
		for _, prior := range []float64{.05, .2, .6} {
			random := rand.New(rand.NewPCG(1, uint64(n)))
			got, err := bestBin(normal(random, n, 2), mixture(random, 3*n, prior, 4))
			if err != nil {
				t.Fatal(err)
			}
			slack := math.Sqrt(math.Log(4/confidence)/2/float64(n)) + math.Sqrt(math.Log(4/confidence)/2/float64(3*n))
			if bound := 2 * slack; math.Abs(got-prior) > bound {
				t.Errorf("%d positives, prior %g: estimate %.3f is off by more than %.3f", n, prior, got, bound)
			}
			if n == 3000 && math.Abs(got-prior) > .03 {
				t.Errorf("%d positives, prior %g: estimate %.3f", n, prior, got)
			}
		}
	}
}

// TestEqualScoresAreOneThreshold: a threshold lets all of them pass, or none.
func TestEqualScoresAreOneThreshold(t *testing.T) {
	if got, err := bestBin([]float64{1, 1}, []float64{1, 1, 1, 0}); err != nil || got != .75 {
		t.Errorf("prior %g, %v: three of four pages pass where both positives do", got, err)
	}
}

func TestBestBinDependsOnOrderOnly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		score := rapid.Float64Range(-30, 30)
		p, u := rapid.SliceOfN(score, 1, 40).Draw(t, "positives"), rapid.SliceOfN(score, 1, 40).Draw(t, "unlabelled")
		got, err := bestBin(p, u)
		if err != nil {
			t.Fatal(err)
		}
		if n := float64(len(u)); !(got >= 1/(n+1) && got <= n/(n+1)) {
			t.Fatalf("prior %g of %g pages", got, n)
		}
		// Doubling is exact: no two scores become equal.
		for _, s := range [][]float64{p, u} {
			for i := range s {
				s[i] *= 2
			}
			slices.Reverse(s)
		}
		if again, _ := bestBin(p, u); again != got {
			t.Fatalf("%g for the scores, %g for their doubles in another order", got, again)
		}
	})
}

// TestRiskIsUnbiased: over many samples the mean of the estimate without labels is the mean
// squared error with labels, within four standard errors.
func TestRiskIsUnbiased(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 3))
	const (
		prior   = .3
		repeats = 4000
	)
	f := func(s float64) float64 { return logistic(1.7*s - .4) } // any probability, not that of the truth
	var difference, square float64
	for range repeats {
		p, u := normal(random, 10, 1), make([]float64, 20)
		var loss float64
		for i := range u {
			y, s := 0., random.NormFloat64()-1
			if random.Float64() < prior {
				y, s = 1, s+2
			}
			u[i] = f(s)
			loss += (u[i] - y) * (u[i] - y) / float64(len(u))
		}
		for i := range p {
			p[i] = f(p[i])
		}
		d := unbiased(p, u, prior) - loss
		difference += d / repeats
		square += d * d / repeats
	}
	if e := math.Sqrt(square / repeats); math.Abs(difference) > 4*e {
		t.Errorf("the estimate is off by %.4f on average, its standard error is %.4f", difference, e)
	}
	if Brier([]float64{1}, []float64{0}, .5) != 0 {
		t.Error("a risk below 0 was not cut")
	}
}

// TestCautiousLowersWhatFewPositivesShow: an estimate is never raised, a higher one stays higher, and with many positives it is kept.
func TestCautiousLowersWhatFewPositivesShow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 10_000).Draw(t, "positives")
		low, high := rapid.Float64Range(.001, .999).Draw(t, "a"), rapid.Float64Range(.001, .999).Draw(t, "b")
		low, high = min(low, high), max(low, high)
		got, higher := cautious(low, n), cautious(high, n)
		if got > low || got > higher || got < cautious(low, n-1) || got < min(low, usual) {
			t.Fatalf("%g of %d positives becomes %g, %g becomes %g", low, n, got, high, higher)
		}
		if low-cautious(low, n*1000*worth) > .001 {
			t.Fatalf("%g is lowered to %g", low, cautious(low, n*1000*worth))
		}
	})
}

// TestCalibrateFindsTheTruth: of two normal classes at ±1 the log odds are 2s + log(π/(1−π)).
func TestCalibrateFindsTheTruth(t *testing.T) {
	for _, prior := range []float64{.1, .5, .8} {
		random := rand.New(rand.NewPCG(4, 5))
		c, err := Calibrate(t.Context(), normal(random, 20_000, 1), mixture(random, 20_000, prior, 2), prior)
		if err != nil {
			t.Fatal(err)
		}
		// The standard errors are below .05 (from 20 repetitions with other seeds).
		if want := math.Log(prior / (1 - prior)); math.Abs(c.Slope-2) > .2 || math.Abs(c.Intercept-want) > .2 {
			t.Errorf("prior %g: slope %.3f, intercept %.3f, want 2 and %.3f", prior, c.Slope, c.Intercept, want)
		}
	}
	c, err := Calibrate(t.Context(), []float64{1, 1}, []float64{1, 1, 1}, .25)
	if err != nil || c.Slope != 0 || math.Abs(c.Probability(7)-.25) > 1e-12 {
		t.Errorf("all equal: %+v, %v", c, err)
	}
}

// TestScoresOfTheWrongSignStillRank: the curve rises a little where the few positives have the lowest scores.
func TestScoresOfTheWrongSignStillRank(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		score := rapid.Float64Range(-10, 10)
		p, u := rapid.SliceOfN(score, 1, 12).Draw(t, "positives"), rapid.SliceOfN(score, 2, 40).Draw(t, "unlabelled")
		if slices.Max(u)-slices.Min(u) < 1 {
			u = append(u, -10, 10)
		}
		prior := rapid.Float64Range(.02, .5).Draw(t, "prior")
		c, err := Calibrate(t.Context(), p, u, prior)
		if err != nil || !(c.Slope > 0) || math.IsNaN(c.Probability(0)) {
			t.Fatalf("%+v, %v", c, err)
		}
		if low := c.Probability(-10); !(low < c.Probability(10)) {
			t.Fatalf("%+v: probability %g at -10, %g at 10", c, low, c.Probability(10))
		}
	})
}

func TestSlopeOfTheLikelihood(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		score := rapid.Float64Range(-3, 3)
		l := presenceLikelihood{
			rapid.SliceOfN(score, 1, 9).Draw(t, "positives"), rapid.SliceOfN(score, 1, 9).Draw(t, "unlabelled"),
			rapid.Float64Range(.05, .95).Draw(t, "prior"), .3, 1.5,
		}
		x := []float64{score.Draw(t, "slope"), score.Draw(t, "intercept")}
		slopeByDifferences(t, l.value, l.slope, x, func(float64) float64 { return 1e-6 })
	})
}

// slopeByDifferences compares the slope of a function at x with differences of its values, within a tolerance.
func slopeByDifferences(t *rapid.T, value func([]float64) float64, slope func(dst, x []float64), x []float64, within func(want float64) float64) {
	got := make([]float64, len(x))
	slope(got, x)
	for i := range x {
		const h = 1e-5
		up, down := slices.Clone(x), slices.Clone(x)
		up[i] += h
		down[i] -= h
		if want := (value(up) - value(down)) / (2 * h); math.Abs(want-got[i]) > within(want) {
			t.Fatalf("slope %d is %g, by differences %g", i, got[i], want)
		}
	}
}

// TestFitIsLevel: at the minimum of the risk its gradient, computed here independently, is 0.
func TestFitIsLevel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const features, l2 = 4, .01
		var pages []labelled
		for i := range rapid.IntRange(2, 12).Draw(t, "pages") {
			r := &Row{Features: []uint32{0, 1, 2, 3}}
			for range features {
				r.Values = append(r.Values, float32(rapid.IntRange(-4, 4).Draw(t, "value")))
			}
			pages = append(pages, labelled{r, rapid.Float64Range(.05, 1).Draw(t, "weight"), i%2 == 0})
		}
		l, err := fit(t.Context(), pages, features, l2)
		if err != nil {
			t.Fatal(err)
		}
		slope := make([]float64, features+1)
		for f, w := range l.Weights {
			slope[f] = l2 * w
		}
		for _, x := range pages {
			d := 1 / (1 + math.Exp(-l.Score(x.row)))
			if x.yes {
				d--
			}
			for f := range features {
				slope[f] += x.weight * d * float64(x.row.Values[f])
			}
			slope[features] += x.weight * d
		}
		for f, d := range slope {
			if math.Abs(d) > 1e-5 {
				t.Fatalf("slope %g in direction %d", d, f)
			}
		}
	})
}

const words = 60

// page draws a page: common words, and those of its kind, which it shares with some of the other.
func page(random *rand.Rand, on bool) Row {
	seen := make(map[uint32]bool)
	for range 12 {
		f := uint32(random.IntN(20))
		switch {
		case random.Float64() < .4:
		case on:
			f = 20 + uint32(random.IntN(25))
		default:
			f = 35 + uint32(random.IntN(25))
		}
		seen[f] = true
	}
	var r Row
	for f := range uint32(words) {
		if seen[f] {
			r.Features = append(r.Features, f)
			r.Values = append(r.Values, float32(1/math.Sqrt(float64(len(seen)))))
		}
	}
	return r
}

// world is a sample in which a share of the unlabelled pages is on topic; on has which.
func world(seed uint64, positives, unlabelled int, prior float64) (s *Sample, on []bool) {
	random := rand.New(rand.NewPCG(6, seed))
	s = new(Sample)
	for range positives {
		s.Positives = append(s.Positives, page(random, true))
	}
	for i := range unlabelled {
		on = append(on, float64(i%100) < 100*prior)
		s.Unlabelled = append(s.Unlabelled, page(random, on[i]))
	}
	return s, on
}

func TestLearnFindsTheTopic(t *testing.T) {
	for _, prior := range []float64{.1, .4} {
		s, _ := world(1, 60, 600, prior)
		m, err := Learn(t.Context(), s, Settings{Features: words})
		if err != nil {
			t.Fatal(err)
		}
		// 2·slack of 60 positives and 600 pages is .47; what separates as well as this does far better.
		if want := cautious(prior, len(s.Positives)); math.Abs(m.Prior-want) > .1 {
			t.Errorf("prior %.3f, want %.3f", m.Prior, want)
		}
		naive, err := (&Settings{Features: words, L2: defaultL2}).separate(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		var mine, theirs, loss, square, mean float64
		fresh, truth := world(2, 1, 1000, prior)
		for i := range fresh.Unlabelled {
			x := &fresh.Unlabelled[i]
			p := m.Probability(m.Score(x))
			mean += p / float64(len(truth))
			if !truth[i] {
				p = 1 - p
			}
			loss -= math.Log(p) / float64(len(truth))
			square += (1 - p) * (1 - p) / float64(len(truth))
			mine += right(m.Score(x) > -m.Intercept/m.Slope, truth[i])
			theirs += right(naive.Score(x) > 0, truth[i])
		}
		if prior > .3 && mine < theirs || mine < 940 {
			t.Errorf("prior %g: %g of 1000 pages judged rightly, %g with the unlabelled taken for negative", prior, mine, theirs)
		}
		if loss > .2 || math.Abs(mean-prior) > .1 {
			t.Errorf("prior %g: log loss %.3f, mean probability %.3f", prior, loss, mean)
		}
		// The estimate of the error without labels is unbiased. The standard errors are √(.25/60)·π of the
		// positives' mean and below .02 of the pages' means.
		f := func(scores []float64) (p []float64) {
			for _, s := range scores {
				p = append(p, m.Probability(s))
			}
			return p
		}
		if got := Brier(f(m.HeldOut.Positives), f(m.HeldOut.Unlabelled), prior); math.Abs(got-square) > 3*.065*prior+.04 {
			t.Errorf("prior %g: squared error %.3f without labels, %.3f with them", prior, got, square)
		}
	}
}

func right(yes, truth bool) float64 {
	if yes == truth {
		return 1
	}
	return 0
}

// TestHeldOutScoresHaveNotSeenThePage: they are those of a model of the other folds.
func TestHeldOutScoresHaveNotSeenThePage(t *testing.T) {
	s, _ := world(3, 20, 60, .3)
	s.Negatives = s.Unlabelled[50:]
	s.Unlabelled = s.Unlabelled[:50]
	o := Settings{Features: words, Prior: .3}
	m, err := Learn(t.Context(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	if m.Prior != .3 {
		t.Errorf("prior %g, it was given as .3", m.Prior)
	}
	if err := o.complete(s); err != nil {
		t.Fatal(err)
	}
	for fold := range Folds {
		l, err := o.discard(t.Context(), &Sample{others(s.Positives, fold), others(s.Unlabelled, fold), others(s.Negatives, fold)}, .3)
		if err != nil {
			t.Fatal(err)
		}
		for i := fold; i < len(s.Negatives); i += Folds {
			if got, want := m.HeldOut.Negatives[i], l.Score(&s.Negatives[i]); got != want {
				t.Errorf("negative %d has %g, a model without it %g", i, got, want)
			}
		}
		for i := fold; i < len(s.Positives); i += Folds {
			if got, want := m.HeldOut.Positives[i], l.Score(&s.Positives[i]); got != want {
				t.Errorf("positive %d has %g, a model without it %g", i, got, want)
			}
		}
	}
	again, err := Learn(t.Context(), s, Settings{Features: words, Prior: .3})
	if err != nil || !slices.Equal(again.Weights, m.Weights) || again.Bias != m.Bias || again.Curve != m.Curve {
		t.Errorf("the same sample gave another model (%v)", err)
	}
}

// TestNegativesAreHeeded: words of pages marked as off topic are evidence against a page, in both classifiers.
func TestNegativesAreHeeded(t *testing.T) {
	s, _ := world(4, 30, 200, .3)
	mark := Row{Features: []uint32{25}, Values: []float32{1}} // a word of the topic
	o := Settings{Features: words, L2: defaultL2, Rounds: 1}
	marked := *s
	marked.Negatives = slices.Repeat([]Row{mark}, 40)
	for name, classifier := range map[string]func(context.Context, *Sample) (*Linear, error){
		"separate": o.separate, "discard": func(ctx context.Context, s *Sample) (*Linear, error) { return o.discard(ctx, s, .3) },
	} {
		before, err := classifier(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		after, err := classifier(t.Context(), &marked)
		if err != nil {
			t.Fatal(err)
		}
		if b, a := before.Score(&mark), after.Score(&mark); a >= b-1 {
			t.Errorf("%s: a page marked 40 times went from %.3f to %.3f", name, b, a)
		}
	}
}

func TestLearnRefuses(t *testing.T) {
	whole, _ := world(5, 6, 20, .3)
	for name, s := range map[string]*Sample{
		"few positives":  {Positives: whole.Positives[:4], Unlabelled: whole.Unlabelled},
		"few unlabelled": {Positives: whole.Positives, Unlabelled: whole.Unlabelled[:3]},
		"bad feature":    {Positives: whole.Positives, Unlabelled: append(slices.Clone(whole.Unlabelled), Row{Features: []uint32{words}, Values: []float32{1}})},
		"torn row":       {Positives: whole.Positives, Unlabelled: whole.Unlabelled, Negatives: []Row{{Features: []uint32{1}}}},
	} {
		if m, err := Learn(t.Context(), s, Settings{Features: words}); err == nil {
			t.Errorf("%s: learnt %v", name, m.Curve)
		}
	}
	if _, err := bestBin(nil, []float64{1}); err == nil {
		t.Error("a prior without positives")
	}
	if _, err := Calibrate(t.Context(), nil, []float64{1}, .5); err == nil {
		t.Error("a curve without positives")
	}
	// Equal pages contain no information, and the model has none.
	same := &Sample{Positives: slices.Repeat(whole.Positives[:1], 6), Unlabelled: slices.Repeat(whole.Positives[:1], 9)}
	m, err := Learn(t.Context(), same, Settings{Features: words})
	if err != nil || math.IsNaN(m.Probability(m.Score(&whole.Positives[0]))) {
		t.Errorf("pages that are all alike: %v, %v", m, err)
	}
}
