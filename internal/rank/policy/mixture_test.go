package policy

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"forager/schemas"
)

func mixtureOf(t testing.TB, keep float64, seed uint64) *Mixture {
	t.Helper()
	m, err := NewMixture(&schemas.Mixture{Keep: keep}, seed)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func all(int) bool { return true }

// TestCreditByTheFormula compares the arms with the sums of the recurrence: a = 1 + Σ keep^(pages since) · R.
func TestCreditByTheFormula(t *testing.T) {
	type page struct {
		arm int
		r   float64
	}
	gen := rapid.Custom(func(t *rapid.T) page {
		return page{rapid.IntRange(-1, 2).Draw(t, "arm"), rapid.Float64Range(0, 1).Draw(t, "R")}
	})
	rapid.Check(t, func(t *rapid.T) {
		keep := rapid.SampledFrom([]float64{0, .5, .99, 1}).Draw(t, "keep")
		m := mixtureOf(&testing.T{}, keep, 1)
		if keep == 0 {
			keep = .99
		}
		pages := rapid.SliceOfN(gen, 0, 50).Draw(t, "pages")
		arms := []Arm{NewArm(), NewArm(), NewArm()}
		for _, p := range pages {
			m.Credit(arms, p.arm, p.r)
		}
		for i, a := range arms {
			want := NewArm()
			for n, p := range pages {
				if p.arm == i {
					weight := math.Pow(keep, float64(len(pages)-1-n))
					want.Alpha += weight * p.r
					want.Beta += weight * (1 - p.r)
					want.Credited++
					want.Reward += p.r
				}
			}
			if math.Abs(a.Alpha-want.Alpha) > 1e-9 || math.Abs(a.Beta-want.Beta) > 1e-9 || a.Alpha < 1 || a.Beta < 1 ||
				a.Credited != want.Credited || math.Abs(a.Reward-want.Reward) > 1e-9 {
				t.Fatalf("arm %d of %v: %+v, want %+v", i, pages, a, want)
			}
		}
	})
}

// TestChoiceIsByThompsonSampling compares how often an arm is drawn with Pr(x₀ > x₁), by
// integration of the two Beta densities on a grid.
func TestChoiceIsByThompsonSampling(t *testing.T) {
	for _, c := range []struct{ a, b Arm }{
		{Arm{Alpha: 1, Beta: 1}, Arm{Alpha: 1, Beta: 1}},
		{Arm{Alpha: 3, Beta: 2}, Arm{Alpha: 2, Beta: 3}},
		{Arm{Alpha: 1, Beta: 40}, Arm{Alpha: 1.5, Beta: 30}},
		{Arm{Alpha: 50, Beta: 51}, Arm{Alpha: 4, Beta: 2}},
	} {
		const steps, draws = 4000, 20_000
		density := func(x float64, a Arm) float64 { return math.Pow(x, a.Alpha-1) * math.Pow(1-x, a.Beta-1) }
		var below, wins, massA float64
		for i := range steps {
			x := (float64(i) + .5) / steps
			below += density(x, c.b)
			wins += density(x, c.a) * (below - density(x, c.b)/2)
			massA += density(x, c.a)
		}
		want := wins / massA / below
		m, first := mixtureOf(t, 0, 9), 0
		for n := range uint64(draws) {
			if arm, ok := m.Choose([]Arm{c.a, c.b}, n, all); ok && arm == 0 {
				first++
			}
		}
		got := float64(first) / draws
		if deviation := math.Sqrt(want * (1 - want) / draws); math.Abs(got-want) > 4*deviation+1e-3 {
			t.Errorf("%+v is drawn %.4f of the time, want %.4f", c, got, want)
		}
	}
}

// TestChoiceFollowsFromItsArguments: the same seed, arms and ordinal give the same arm; another
// seed gives other ones, and a closed arm leaves the numbers of the others as they are.
func TestChoiceFollowsFromItsArguments(t *testing.T) {
	arms := []Arm{NewArm(), NewArm(), NewArm()}
	draw := func(seed uint64, open func(int) bool) (chosen []int) {
		for n := range uint64(300) {
			arm, ok := mixtureOf(t, 0, seed).Choose(arms, n, open)
			if !ok {
				t.Fatal("nothing was chosen")
			}
			chosen = append(chosen, arm)
		}
		return chosen
	}
	one := draw(1, all)
	if !slices.Equal(one, draw(1, all)) || slices.Equal(one, draw(2, all)) {
		t.Error("choices do not follow from the seed")
	}
	without := draw(1, func(arm int) bool { return arm != 1 })
	for n, arm := range without {
		if arm == 1 || one[n] != 1 && one[n] != arm {
			t.Fatalf("dispatch %d: arm %d, and %d where arm 1 is closed", n, one[n], arm)
		}
	}
	if _, ok := mixtureOf(t, 0, 1).Choose(arms, 0, func(int) bool { return false }); ok {
		t.Error("a closed arm was chosen")
	}
}

// TestMixtureLeavesABadArm: over pages whose relevance is the arm's own, nearly all requests come
// to be those of the good arm, and after they change places, to be those of the other.
func TestMixtureLeavesABadArm(t *testing.T) {
	m, arms, good := mixtureOf(t, 0, 4), []Arm{NewArm(), NewArm()}, 0
	for n := range uint64(2000) {
		if n == 1000 {
			if arms[0].Chosen < 850 {
				t.Errorf("the good arm was chosen %d times of 1,000", arms[0].Chosen)
			}
			good, arms[1].Chosen = 1, 0
		}
		arm, _ := m.Choose(arms, n, all)
		arms[arm].Chosen++
		r := .1
		if arm == good {
			r = .6
		}
		m.Credit(arms, arm, r)
	}
	if arms[1].Chosen < 700 {
		t.Errorf("the arm that became the good one was chosen %d times of 1,000", arms[1].Chosen)
	}
}

func TestBadMixtures(t *testing.T) {
	for _, keep := range []float64{-1, 1.1, math.NaN(), math.Inf(1)} {
		if _, err := NewMixture(&schemas.Mixture{Keep: keep}, 0); err == nil || !strings.Contains(err.Error(), "keep") {
			t.Errorf("keep %v: %v", keep, err)
		}
	}
	if m, err := NewMixture(nil, 0); m != nil || err != nil {
		t.Errorf("no mixture: %v, %v", m, err)
	}
}
