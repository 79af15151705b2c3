package critic

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"forager/internal/classify/calibrate"
	"forager/schemas"
)

// TestLogOddsAreExact compares with the definition, in numbers of 2,000 bits.
func TestLogOddsAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		scores := rapid.SliceOfN(rapid.Float64Range(-600, 100), 2, 8).Draw(t, "scores")
		got := make([]float64, len(scores))
		logOdds(got, scores)
		p := make([]*big.Float, len(scores))
		for k, x := range scores {
			p[k] = exp(x)
		}
		for k := range p {
			others := new(big.Float).SetPrec(2000)
			for j, x := range p {
				if j != k {
					others.Add(others, x)
				}
			}
			ratio := new(big.Float).Quo(p[k], others)
			m := new(big.Float)
			e := ratio.MantExp(m)
			mantissa, _ := m.Float64()
			if want := math.Log(mantissa) + float64(e)*math.Ln2; math.Abs(got[k]-want) > 1e-9*max(1, math.Abs(want)) {
				t.Fatalf("log odds of class %d of %v: %v, want %v", k, scores, got[k], want)
			}
		}
	})
}

// exp is eˣ as the product of (1 + y + y²/2 + …) with itself.
func exp(x float64) *big.Float {
	const prec, halvings = 2000, 12
	y := new(big.Float).SetPrec(prec).SetFloat64(x)
	y.SetMantExp(y, -halvings)
	sum, term := big.NewFloat(1).SetPrec(prec), big.NewFloat(1).SetPrec(prec)
	for n := 1.; n < 120; n++ {
		term.Mul(term, y)
		term.Quo(term, new(big.Float).SetPrec(prec).SetFloat64(n))
		sum.Add(sum, term)
	}
	for range halvings {
		sum.Mul(sum, sum)
	}
	return sum
}

func TestLogOddsOfImpossibleClasses(t *testing.T) {
	no := math.Inf(-1)
	got := make([]float64, 3)
	logOdds(got, []float64{no, -5, no})
	if !math.IsInf(got[0], -1) || !math.IsInf(got[1], 1) || !math.IsInf(got[2], -1) {
		t.Errorf("%v", got)
	}
}

// drawn returns held-out pages of three classes, whose judge is ten times too certain, and the log loss of the
// truth.
func drawn(n int) (pages []heldPage, loss float64) {
	r := rand.New(rand.NewPCG(7, 8))
	pages = make([]heldPage, n)
	for i := range pages {
		truth := []float64{r.NormFloat64() * 2, r.NormFloat64() * 2, r.NormFloat64() * 2}
		scores, p, odds := make([]float64, 3), make([]float64, 3), make([]float64, 3)
		var sum float64
		for k, x := range truth {
			p[k], scores[k] = math.Exp(x), 10*x
			sum += p[k]
		}
		class, u := 0, r.Float64()*sum
		for u > p[class] && class < 2 {
			u -= p[class]
			class++
		}
		loss -= math.Log(p[class]/sum) / float64(n)
		logOdds(odds, scores)
		pages[i] = heldPage{fold: i % Folds, classes: []int{class}, odds: listOdds(odds)}
	}
	return pages, loss
}

func TestCurvesCorrectAnOverconfidentCritic(t *testing.T) {
	pages, truth := drawn(4000)
	c := fitCurves(3, pages)
	verdicts := make([]verdict, len(pages))
	for i, p := range pages {
		verdicts[i] = p.verdict
	}
	if m := measure(verdicts); m.ECE > .03 || m.LogLoss > truth+.01 {
		t.Errorf("held out: %+v, the truth has a log loss of %.3f", m, truth)
	}
	o := NewPrediction(3)
	copy(o.scores, []float64{30, 10, -10}) // ten times 3, 1, −1
	o.temper()
	c.apply(o)
	var sum float64
	for k, want := range []float64{.867, .117, .016} {
		sum += o.Calibrated[k]
		if math.Abs(o.Calibrated[k]-want) > .03 {
			t.Errorf("class %d: %.3f, truly %.3f", k, o.Calibrated[k], want)
		}
	}
	if math.Abs(sum-1) > 1e-12 {
		t.Errorf("sum %v", sum)
	}
}

// TestCalibrationHasNotSeenThePage: the true class of a page does not change its own calibrated posterior.
func TestCalibrationHasNotSeenThePage(t *testing.T) {
	for at := range 10 {
		before, _ := drawn(60)
		was := fitCurves(3, before)
		after, _ := drawn(60)
		after[at].classes = []int{(after[at].classes[0] + 1) % 3}
		is := fitCurves(3, after)
		if was == nil || is == nil {
			t.Fatal("no curves")
		}
		same := was.best.Shape == is.best.Shape
		for k := range was.classes {
			same = same && was.classes[k].Shape == is.classes[k].Shape
		}
		for i, s := range before[at].calibrated {
			if same && after[at].calibrated[i] != s {
				t.Errorf("page %d: %v, and as another class %v", at, before[at].calibrated, after[at].calibrated)
			}
		}
	}
}

// TestCalibratedIsNeverWorse: where curves have the higher log loss, the best of the others is used.
func TestCalibratedIsNeverWorse(t *testing.T) {
	for name, n := range map[string]int{"hardly any example": 3, "few": 12, "enough": 60} {
		m, r := train(t, sentences(n, "A/B", "A/C", "D"), Settings{})
		if r.Calibrated.LogLoss > min(r.Raw.LogLoss, r.Tempered.LogLoss)+1e-12 {
			t.Errorf("%s: calibrated %v, raw %v, tempered %v", name, r.Calibrated, r.Raw, r.Tempered)
		}
		if m.calibration.takes == schemas.Posterior_POSTERIOR_UNSPECIFIED {
			t.Errorf("%s: nothing is taken", name)
		}
	}
}

func TestMeasures(t *testing.T) {
	m := measure([]verdict{
		verdictOn([]float64{.9, .1}, []int{0}), verdictOn([]float64{.9, .1}, []int{1}),
		verdictOn([]float64{.3, .7}, []int{0, 1}), verdictOn([]float64{1, 0}, []int{1}),
	})
	want := Measures{
		Accuracy: .5, LogLoss: (-math.Log(.9) - math.Log(.1) - math.Log(.3*.7)/2 + 52*math.Ln2) / 4,
		ECE: (math.Abs(1-1.8) + .3 + 1) / 4,
	}
	if math.Abs(m.Accuracy-want.Accuracy) > 1e-12 || math.Abs(m.LogLoss-want.LogLoss) > 1e-12 || math.Abs(m.ECE-want.ECE) > 1e-12 {
		t.Errorf("%+v, want %+v", m, want)
	}
}

func TestOneClassHasNoCurves(t *testing.T) {
	if c := fitCurves(2, []heldPage{{odds: listOdds([]float64{1, -1}), classes: []int{0}}, {odds: listOdds([]float64{2, -2}), classes: []int{0}, fold: 1}}); c != nil {
		t.Errorf("%+v", c)
	}
	o := NewPrediction(2)
	copy(o.scores, []float64{1, 2})
	o.temper()
	(&calibration{takes: schemas.Posterior_POSTERIOR_CALIBRATED, classes: []*calibrate.Curve{{A: 1}, {A: 1}}}).apply(o)
	if math.Abs(o.Calibrated[0]+o.Calibrated[1]-1) > 1e-12 || o.Calibrated[1] < .7 {
		t.Errorf("without a curve of the best class: %v", o.Calibrated)
	}
}
