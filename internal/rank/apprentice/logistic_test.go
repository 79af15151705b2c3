package apprentice

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"forager/schemas"
)

// newLogistic returns a learner that has learnt nothing, for features of the family
// linkfeature.Offsets.
func newLogistic(s Proximal) *Logistic {
	settings := DefaultLogistic()
	settings.Logistic = s
	return &Logistic{settings: settings}
}

// TestLogisticByHand computes two steps of the paper's algorithm: rate 1, λ1 = .25, λ2 = .5.
func TestLogisticByHand(t *testing.T) {
	c := newLogistic(Proximal{Rate: 1, L1: .25, L2: .5})
	if err := c.SetCut(.5); err != nil {
		t.Fatal(err)
	}
	// All weights are 0, so p = ½ and g = −½ for the bias, −1 for a feature that comes twice.
	learnt(t, c, leap{features("chess", -1, 1, "home", 0, 2), 1})
	// z = g, n = g²: chess z −.5, n .25: w = (.5 − .25)/(1 + .5 + .5); home z −1, n 1: w = (1 − .25)/(1 + 1 + .5).
	// The bias has no λ: .5/1.5.
	m := c.Model()
	chess, home, bias := .25/2, .75/2.5, .5/1.5
	for _, x := range []struct {
		features []*schemas.Feature
		odds     float64
	}{
		{nil, bias}, {features("chess", -1, 1), bias + chess}, {features("home", 0, 3), bias + 3*home}, {features("chess", 1, 1, "go", 0, 1), bias},
	} {
		if got, want := m.Score(x.features), 1/(1+math.Exp(-x.odds)); math.Abs(got-want) > 1e-11 {
			t.Errorf("%v: %v, want %v", x.features, got, want)
		}
	}
	// A low leap with chess alone: g = p; σ = √(.25 + g²) − .5.
	learnt(t, c, leap{features("chess", -1, 1), 0})
	g := 1 / (1 + math.Exp(-bias-chess))
	z := -.5 + g - (math.Sqrt(.25+g*g)-.5)*chess
	w := 0.
	if math.Abs(z) > .25 {
		w = -(z - math.Copysign(.25, z)) / (1 + math.Sqrt(.25+g*g) + .5)
	}
	zb := -.5 + g - (math.Sqrt(.25+g*g)-.5)*bias
	b := -zb / (1 + math.Sqrt(.25+g*g))
	if got, want := c.Model().Score(features("chess", -1, 1)), 1/(1+math.Exp(-b-w)); math.Abs(got-want) > 1e-11 {
		t.Errorf("after a low leap: %v, want %v", got, want)
	}
	if f := c.Model().Facts(); f.Leaps != 2 || f.Low != 1 || f.High != 1 || f.Features != 2 || f.Cut != .5 {
		t.Errorf("facts %+v", f)
	}
}

var genProximal = rapid.Custom(func(t *rapid.T) Proximal {
	return Proximal{
		Rate: rapid.SampledFrom([]float64{.01, .1, 1, 10}).Draw(t, "rate"),
		L1:   rapid.SampledFrom([]float64{0, .1, 1, 1000}).Draw(t, "l1"),
		L2:   rapid.SampledFrom([]float64{0, .1, 1, 1000}).Draw(t, "l2"),
	}
})

// TestLogisticIncrementalIsFromScratch: whatever the batches, and whatever is stored and read
// between them, the same bytes and the same scores.
func TestLogisticIncrementalIsFromScratch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set := genProximal.Draw(t, "settings")
		first := rapid.SliceOfN(genLeap, 1, 10).Draw(t, "first training set")
		rest := rapid.SliceOfN(genLeap, 0, 20).Draw(t, "the rest")
		all := newLogistic(set)
		learnt(t, all, first...)
		all.FixCut()
		learnt(t, all, rest...)

		var c Learner = newLogistic(set)
		step := func(model bool) {
			switch rapid.IntRange(0, 3).Draw(t, "then") {
			case 0:
				if model {
					c.Model()
				}
			case 1:
				var err error
				if c, err = OpenFor(c.Marshal(), all.Settings()); err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, l := range first {
			learnt(t, c, l)
			step(false)
		}
		c.Model()
		for _, l := range rest {
			learnt(t, c, l)
			step(true)
		}
		if string(c.Marshal()) != string(all.Marshal()) {
			t.Fatal("other bytes")
		}
		a, b := all.Model(), c.Model()
		again, err := Unmarshal(c.Marshal())
		if err != nil {
			t.Fatal(err)
		}
		for range 5 {
			l := genLeap.Draw(t, "link")
			if x, y, z := a.Score(l.features), b.Score(l.features), again.Score(l.features); x != y || x != z || !(x >= 0 && x <= 1) {
				t.Fatalf("scores %v, %v, %v", x, y, z)
			}
		}
	})
}

// TestLogisticIsTheUpdateOfThePaper compares with the algorithm written down over a map.
func TestLogisticIsTheUpdateOfThePaper(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set := genProximal.Draw(t, "settings")
		leaps := rapid.SliceOfN(genLeap, 1, 40).Draw(t, "leaps")
		c := newLogistic(set)
		if err := c.SetCut(.5); err != nil {
			t.Fatal(err)
		}
		learnt(t, c, leaps...)
		z, n := make(map[string]float64), make(map[string]float64)
		const bias = ""
		weight := func(key string) float64 {
			l1, l2 := set.L1, set.L2
			if key == bias {
				l1, l2 = 0, 0
			}
			if math.Abs(z[key]) <= l1 {
				return 0
			}
			return -(z[key] - math.Copysign(l1, z[key])) / ((1+math.Sqrt(n[key]))/set.Rate + l2)
		}
		type input struct {
			key string
			x   float64
		}
		inputs := func(l leap) []input {
			all := []input{{bias, 1}}
			for _, f := range l.features {
				all = append(all, input{fmt.Sprint(f.Term, " ", f.Offset), float64(f.Count)})
			}
			return all
		}
		predict := func(all []input) float64 {
			sum := 0.
			for _, x := range all {
				sum += weight(x.key) * x.x
			}
			return 1 / (1 + math.Exp(-sum))
		}
		for _, l := range leaps {
			all := inputs(l)
			p := predict(all)
			for _, x := range all {
				g := (p - 0) * x.x
				if l.r >= .5 {
					g = (p - 1) * x.x
				}
				w := weight(x.key)
				z[x.key] += g - (math.Sqrt(n[x.key]+g*g)-math.Sqrt(n[x.key]))/set.Rate*w
				n[x.key] += g * g
			}
		}
		m := c.Model()
		for range 5 {
			l := genLeap.Draw(t, "link")
			if got, want := m.Score(l.features), predict(inputs(l)); math.Abs(got-want) > 1e-7 {
				t.Fatalf("score %v, want %v", got, want)
			}
		}
	})
}

// TestLogisticStaysFinite feeds it the largest counts there are.
func TestLogisticStaysFinite(t *testing.T) {
	c := newLogistic(Proximal{Rate: 10})
	for i := range 200 {
		learnt(t, c, leap{features("a", 0, math.MaxUint32, "b", i%3, 1), float64(i % 2)})
		if i == 1 {
			c.FixCut()
		}
	}
	m := c.Model()
	for _, f := range [][]*schemas.Feature{nil, features("a", 0, math.MaxUint32), features("b", 0, 1)} {
		if p := m.Score(f); !(p >= 0 && p <= 1) {
			t.Errorf("score %v", p)
		}
	}
	if _, err := unmarshalLogistic(c.Marshal()); err != nil {
		t.Error(err)
	}
	if all := c.Strongest(0, 1); len(all) != 1 || all[0].High != math.MaxUint32 && all[0].Low != math.MaxUint32 && all[0].Term == "a" {
		t.Errorf("strongest %+v", all)
	}
}

func TestLogisticCuts(t *testing.T) {
	c := newLogistic(defaultProximal)
	learnt(t, c, leap{features("a", 0, 1), .3}, leap{features("a", 0, 1), .7})
	if m := c.Model(); m.Facts().Cut != .5 || m.Facts().High != 1 {
		t.Errorf("facts %+v", m.Facts())
	}
	if err := c.SetCut(.5); err != nil {
		t.Error(err)
	}
	before := string(c.Marshal())
	for _, cut := range []float64{0, .7, .05} {
		if err := c.SetCut(cut); err == nil {
			t.Errorf("it takes the cut %v for what it has learnt", cut)
		}
	}
	if string(c.Marshal()) != before {
		t.Error("a cut that was refused changed something")
	}
}

func TestSettings(t *testing.T) {
	bayes, logistic := &schemas.Learning{}, &schemas.Learning{Learner: schemas.Learner_LEARNER_LOGISTIC}
	for _, l := range []*schemas.Learning{bayes, logistic} {
		s, err := SettingsOf(l)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := SettingsOf(s.Learning(l)); err != nil || again != s {
			t.Errorf("%v became %v, %v", s, again, err)
		}
		file := New(s).Marshal()
		if _, err := OpenFor(file, s); err != nil {
			t.Error(err)
		}
		other := DefaultLogistic()
		other.Logistic.Rate = .3
		if _, err := OpenFor(file, other); err == nil || !strings.Contains(err.Error(), s.String()) || !strings.Contains(err.Error(), "rate 0.3") {
			t.Errorf("%v is taken for %v: %v", s, other, err)
		}
	}
	for want, l := range map[string]*schemas.Logistic{
		"rate is 11": {Rate: 11}, "rate is NaN": {Rate: math.NaN()}, "l1 is -1": {L1: -1}, "l2 is +Inf": {L2: math.Inf(1)},
	} {
		if _, err := SettingsOf(&schemas.Learning{Learner: schemas.Learner_LEARNER_LOGISTIC, Logistic: l}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if _, err := SettingsOf(&schemas.Learning{Learner: 9}); err == nil {
		t.Error("learner 9 is known")
	}
}

func FuzzUnmarshalLogistic(f *testing.F) { fuzzFiles(f, logisticKind, newLogistic(defaultProximal)) }
