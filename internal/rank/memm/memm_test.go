package memm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/diff/fd"
	"pgregory.net/rapid"

	"forager/internal/rank/localgraph"
)

func drawObservation(t *rapid.T, features int) *Observation {
	o := &Observation{Index: rapid.SliceOfNDistinct(rapid.Uint32Range(0, uint32(features-1)), 0, features, rapid.ID).Draw(t, "features")}
	o.Value = rapid.SliceOfN(rapid.OneOf(rapid.Just(1.), rapid.Float64Range(-2, 2)), len(o.Index), len(o.Index)).Draw(t, "values")
	return o
}

func drawSettings(t *rapid.T) Settings {
	return Settings{
		States: rapid.IntRange(2, 4).Draw(t, "states"), Features: rapid.IntRange(1, 4).Draw(t, "features"),
		Edges: rapid.Bool().Draw(t, "edges"), Variance: rapid.SampledFrom([]float64{.5, 10, math.Inf(1)}).Draw(t, "variance"),
	}
}

func drawModel(t *rapid.T) *Model {
	s := drawSettings(t)
	n := s.parameters()
	return &Model{s, rapid.SliceOfN(rapid.Float64Range(-2, 2), n, n).Draw(t, "weights")}
}

// drawSequences draws sequences that have observations in common.
func drawSequences(t *rapid.T, s Settings) []Sequence {
	seen := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) *Observation { return drawObservation(t, s.Features) }), 1, 5).Draw(t, "observations")
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Sequence {
		var q Sequence
		for range rapid.IntRange(1, 4).Draw(t, "length") {
			q.States = append(q.States, rapid.IntRange(0, s.States-1).Draw(t, "state"))
			q.Observations = append(q.Observations, rapid.SampledFrom(seen).Draw(t, "seen"))
		}
		return q
	}), 1, 5).Draw(t, "sequences")
}

// probability of a next state straight from eq. 2: every feature function is evaluated.
func (m *Model) probability(next, previous int, o *Observation) float64 {
	s := m.settings
	weight := func(feature, row, state int) float64 { return m.weights[s.at(feature, row)+state] }
	exponent := func(state int) float64 {
		sum := weight(-1, 0, state) + weight(-1, 1+previous, state)
		for f := range s.Features {
			if i := slices.Index(o.Index, uint32(f)); i >= 0 {
				sum += weight(f, 0, state) * o.Value[i]
				if s.Edges {
					sum += weight(f, 1+previous, state) * o.Value[i]
				}
			}
		}
		return sum
	}
	var z float64
	for state := range s.States {
		z += math.Exp(exponent(state))
	}
	return math.Exp(exponent(next)) / z
}

// TestInferenceIsEnumeration: over all paths of states, marginal beliefs are the sum of the probabilities of
// those that end in a state, Viterbi's the largest.
func TestInferenceIsEnumeration(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawModel(t)
		k := m.settings.States
		n := rapid.IntRange(1, 4).Draw(t, "pages")
		var seen []*Observation
		var marginal, viterbi Belief
		for range n {
			o := drawObservation(t, m.settings.Features)
			seen = append(seen, o)
			marginal, viterbi = m.Marginal(marginal, o), m.Viterbi(viterbi, o)
		}
		sums, best := make([]float64, k), make([]float64, k)
		paths := int(math.Pow(float64(k), float64(n)))
		for path := range paths {
			p, previous := 1., m.settings.start()
			for _, o := range seen {
				next := path % k
				path /= k
				p *= m.probability(next, previous, o)
				previous = next
			}
			sums[previous] += p
			best[previous] = max(best[previous], p)
		}
		var all float64
		for _, p := range best {
			all += p
		}
		for s := range k {
			if math.Abs(marginal[s]-sums[s]) > 1e-9 {
				t.Errorf("marginal of T%d: %v, by enumeration %v", s, marginal, sums)
			}
			if math.Abs(viterbi[s]-best[s]/all) > 1e-9 {
				t.Errorf("Viterbi of T%d: %v, by enumeration %v", s, viterbi, best)
			}
		}
	})
}

// TestGradient compares the value with what it is defined as, and the gradient with finite differences.
func TestGradient(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawModel(t)
		sequences := drawSequences(t, m.settings)
		steps, err := check(sequences, m.settings)
		if err != nil {
			t.Fatal(err)
		}
		o := newObjective(sequences, m.settings, steps)
		got := make([]float64, len(m.weights))
		o.gradient(got, m.weights)
		value := 0.
		for _, w := range m.weights {
			value += w * w / (2 * m.settings.Variance)
		}
		for _, q := range sequences {
			previous := m.settings.start()
			for i, next := range q.States {
				value -= math.Log(m.probability(next, previous, q.Observations[i]))
				previous = next
			}
		}
		if v := o.value(m.weights); math.Abs(v-value/float64(steps)) > 1e-9*max(1, math.Abs(v)) {
			t.Fatalf("value %v, by its definition %v", v, value/float64(steps))
		}
		want := fd.Gradient(nil, o.value, m.weights, &fd.Settings{Formula: fd.Central})
		for i := range want {
			if math.Abs(got[i]-want[i]) > 1e-6 {
				t.Fatalf("component %d is %v, by differences %v", i, got[i], want[i])
			}
		}
	})
}

// random sequences whose states follow from what is seen.
func made(seed uint64, n, features int) []Sequence {
	r := rand.New(rand.NewPCG(seed, 1))
	var all []Sequence
	for range n {
		var q Sequence
		state := 4
		for range 2 + r.IntN(8) {
			state = max(0, state-r.IntN(2))
			o := &Observation{}
			for f := range features {
				if r.Float64() < .1+.5*float64((f+state)%5/4) {
					o.Index, o.Value = append(o.Index, uint32(f)), append(o.Value, 1)
				}
			}
			q.States, q.Observations = append(q.States, state), append(q.Observations, o)
		}
		all = append(all, q)
	}
	return all
}

// TestTrainFindsTheMaximum: no step in any direction makes the objective better, and what was learnt foretells
// states of sequences that were not seen.
func TestTrainFindsTheMaximum(t *testing.T) {
	for _, edges := range []bool{false, true} {
		s := Default(20)
		s.Edges = edges
		sequences := made(1, 400, 20)
		m, report, err := Train(t.Context(), sequences, s)
		if err != nil {
			t.Fatal(err)
		}
		if report.Gradient > 1e-5 || report.Iterations < 5 || report.LogLikelihood < math.Log(.2) || report.LogLikelihood >= 0 {
			t.Errorf("%+v", report)
		}
		steps, _ := check(sequences, s)
		o := newObjective(sequences, s, steps)
		least := o.value(m.weights)
		r := rand.New(rand.NewPCG(2, 2))
		for range 50 {
			other := slices.Clone(m.weights)
			for i := range other {
				other[i] += .01 * r.NormFloat64()
			}
			if v := o.value(other); v < least {
				t.Errorf("a step aside makes it better: %v, %v", v, least)
			}
		}
		right, all := 0, 0
		for _, q := range made(3, 100, 20) {
			var b Belief
			for i, o := range q.Observations {
				b = m.Marginal(b, o)
				if all++; slices.Index(b, slices.Max(b)) == q.States[i] {
					right++
				}
			}
		}
		if share := float64(right) / float64(all); share < .6 {
			t.Errorf("edges %t: %.2f of the states are foretold", edges, share)
		}
	}
}

func TestTrainIsTheSameOnAnyMachine(t *testing.T) {
	sequences := made(1, 600, 20)
	one, _, err := Train(t.Context(), sequences, Default(20))
	if err != nil {
		t.Fatal(err)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	again, _, err := Train(t.Context(), sequences, Default(20))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(one.weights, again.weights) {
		t.Error("one processor finds other weights")
	}
}

func TestTrainRefuses(t *testing.T) {
	seen := &Observation{}
	good := []Sequence{{States: []int{1}, Observations: []*Observation{seen}}}
	for want, c := range map[string]struct {
		sequences []Sequence
		settings  Settings
	}{
		"1 states":               {good, Settings{States: 1, Variance: 1}},
		"variance 0":             {good, Settings{States: 2}},
		"variance NaN":           {good, Settings{States: 2, Variance: math.NaN()}},
		"no page in 0":           {nil, Default(1)},
		"state 7 of 5":           {[]Sequence{{States: []int{7}, Observations: []*Observation{seen}}}, Default(1)},
		"1 states and 0":         {[]Sequence{{States: []int{1}}}, Default(1)},
		"feature 3 of 1":         {[]Sequence{{States: []int{1}, Observations: []*Observation{{[]uint32{3}, []float64{1}}}}}, Default(1)},
		"observation is NaN":     {[]Sequence{{States: []int{1}, Observations: []*Observation{{[]uint32{0}, []float64{math.NaN()}}}}}, Default(1)},
		"1 indices and 0 values": {[]Sequence{{States: []int{1}, Observations: []*Observation{{Index: []uint32{0}}}}}, Default(1)},
	} {
		if _, _, err := Train(t.Context(), c.sequences, c.settings); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestPriorities(t *testing.T) {
	near, far, sure := Belief{.5, .3, .2}, Belief{.2, .3, .5}, Belief{.5, .4, .1}
	if d := near.Discount(.5); math.Abs(d-(.5+.15+.05)) > 1e-12 || d <= far.Discount(.5) {
		t.Errorf("discounts %v, %v", d, far.Discount(.5))
	}
	if near.Lexicographic() <= far.Lexicographic() || sure.Lexicographic() <= near.Lexicographic() {
		t.Error("the lexicographic order is another")
	}
	// It is that of the rounded vectors.
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.SliceOfN(rapid.Float64Range(0, 1), 5, 5)
		a, b := Belief(value.Draw(t, "a")), Belief(value.Draw(t, "b"))
		rounded := func(b Belief) (out []float64) {
			for _, p := range b {
				out = append(out, math.Min(1023, math.Floor(p*1024)))
			}
			return out
		}
		x, y := a.Lexicographic(), b.Lexicographic()
		if want := slices.Compare(rounded(a), rounded(b)); want < 0 != (x < y) || want > 0 != (x > y) || x < 0 || x > 1 {
			t.Errorf("%v and %v: %v, %v", a, b, x, y)
		}
	})
}

// TestSample: walks go down the layers, visit no page twice and have lengths within the bounds.
func TestSample(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const n = 40
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		children, parents := make(map[uint32][]uint32), make(map[uint32][]uint32)
		for u := range uint32(n) {
			for range 4 {
				if v := r.Uint32N(n); !slices.Contains(children[u], v) {
					children[u], parents[v] = append(children[u], v), append(parents[v], u)
				}
			}
		}
		g, err := localgraph.Build([]uint32{0}, localgraph.Known(func(v uint32) []uint32 { return parents[v] }), localgraph.Default)
		if err != nil {
			t.Fatal(err)
		}
		walks, err := Sample(g, func(u uint32) []uint32 { return children[u] }, Walks{Number: 30, Tries: 20, Shortest: 2, Longest: 5, Seed: 1})
		if err != nil {
			if strings.Contains(err.Error(), "hardly any path") {
				return
			}
			t.Fatal(err)
		}
		lowest := g.Lowest()
		for _, walk := range walks {
			if len(walk) < 2 || len(walk) > 5 {
				t.Fatalf("a walk of %d pages", len(walk))
			}
			seen := make(map[uint32]bool)
			for i, s := range walk {
				if seen[s.Page] || s.State != lowest[s.Page] || i > 0 && (s.State > walk[i-1].State || !slices.Contains(children[walk[i-1].Page], s.Page)) {
					t.Fatalf("%v at page %d", walk, i)
				}
				seen[s.Page] = true
			}
		}
		again, err := Sample(g, func(u uint32) []uint32 { return children[u] }, Walks{Number: 30, Tries: 20, Shortest: 2, Longest: 5, Seed: 1})
		if err != nil || !reflect.DeepEqual(walks, again) {
			t.Fatalf("other walks (%v)", err)
		}
	})
	lonely, err := localgraph.Build([]uint32{0}, localgraph.Known(func(uint32) []uint32 { return nil }), localgraph.Default)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Sample(lonely, func(uint32) []uint32 { return nil }, DefaultWalks); err == nil || !strings.Contains(err.Error(), "hardly any path leads on") {
		t.Errorf("%v", err)
	}
}

// BenchmarkTrain has the size of the paper's trainings: 10,000 sequences.
func BenchmarkTrain(b *testing.B) {
	for _, edges := range []bool{false, true} {
		b.Run(fmt.Sprintf("edges=%t", edges), func(b *testing.B) {
			sequences := made(1, 10_000, 500)
			s := Default(500)
			s.Edges = edges
			for b.Loop() {
				_, report, err := Train(b.Context(), sequences, s)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(report.Iterations), "iterations")
			}
		})
	}
}
