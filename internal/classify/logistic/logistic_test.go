package logistic

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// problem draws documents of a few classes over a few features, as unit vectors. Every class has one: otherwise
// the optimum of the intercepts is at infinity.
func problem(t *rapid.T) (examples []Example, classes, features int) {
	classes, features = rapid.IntRange(1, 5).Draw(t, "classes"), rapid.IntRange(1, 8).Draw(t, "features")
	for i := range rapid.IntRange(classes, 40).Draw(t, "examples") {
		var x Example
		var length float64
		for f := range features {
			if v := rapid.IntRange(0, 4).Draw(t, "value"); v > 0 {
				x.Features, x.Values = append(x.Features, uint32(f)), append(x.Values, float32(v))
				length += float64(v * v)
			}
		}
		for i := range x.Values {
			x.Values[i] /= float32(math.Sqrt(length))
		}
		x.Classes = rapid.SliceOfNDistinct(rapid.IntRange(0, classes-1), 1, min(2, classes), rapid.ID).Draw(t, "of")
		if i < classes && !slices.Contains(x.Classes, i) {
			x.Classes = append(x.Classes, i)
		}
		examples = append(examples, x)
	}
	return examples, classes, features
}

// loss is the objective as in the paper, over dense weights and without code of the package.
func loss(examples []Example, weights [][]float64, bias []float64, l2 float64) float64 {
	var sum, norm float64
	for _, x := range examples {
		var z float64
		scores := slices.Clone(bias)
		for k := range scores {
			for i, f := range x.Features {
				scores[k] += float64(x.Values[i]) * weights[f][k]
			}
			z += math.Exp(scores[k])
		}
		for _, k := range x.Classes {
			sum -= math.Log(math.Exp(scores[k])/z) / float64(len(x.Classes))
		}
	}
	for _, row := range weights {
		for _, w := range row {
			norm += w * w
		}
	}
	return sum/float64(len(examples)) + l2/2*norm
}

// optimum descends by numerical derivatives and halved steps until there is no improvement.
func optimum(examples []Example, classes, features int, l2 float64) float64 {
	numbers := make([]float64, (features+1)*classes)
	at := func(numbers []float64) float64 {
		weights := make([][]float64, features)
		for f := range weights {
			weights[f] = numbers[f*classes : (f+1)*classes]
		}
		return loss(examples, weights, numbers[features*classes:], l2)
	}
	best, step := at(numbers), 1.
	for range 150 {
		gradient := make([]float64, len(numbers))
		for i := range numbers {
			moved := slices.Clone(numbers)
			moved[i] += 1e-5
			up := at(moved)
			moved[i] -= 2e-5
			gradient[i] = (up - at(moved)) / 2e-5
		}
		step *= 4
		for ; step > 1e-9; step /= 2 {
			moved := slices.Clone(numbers)
			for i, g := range gradient {
				moved[i] -= step * g
			}
			if l := at(moved); l < best {
				numbers, best = moved, l
				break
			}
		}
	}
	return best
}

// TestFitComesCloseToTheOptimum: nine tenths of the possible improvement are reached, on problems so small that
// single steps matter.
func TestFitComesCloseToTheOptimum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		examples, classes, features := problem(t)
		const l2 = .02
		m, err := Fit(t.Context(), examples, Settings{Classes: classes, Features: features, L2: l2, Epochs: 3000 / len(examples) * 10, Batch: 4, Workers: 1})
		if err != nil {
			t.Fatal(err)
		}
		weights := make([][]float64, features)
		for f := range weights {
			for _, w := range m.weights[f*classes : (f+1)*classes] {
				weights[f] = append(weights[f], float64(w))
			}
		}
		begin := make([][]float64, features)
		for f := range begin {
			begin[f] = make([]float64, classes)
		}
		start := loss(examples, begin, make([]float64, classes), l2)
		got, want := loss(examples, weights, m.bias, l2), optimum(examples, classes, features, l2)
		if got > want+.1*(start-want)+.01 {
			t.Fatalf("the objective is %.4f, it begins at %.4f and can be %.4f", got, start, want)
		}
	})
}

func TestFitDoesNotDependOnWorkers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		examples, classes, features := problem(t)
		s := Settings{Classes: classes, Features: features, Batch: rapid.IntRange(1, 9).Draw(t, "batch"), Seed: 3}
		var first *Model
		for _, s.Workers = range []int{1, 2, 3, 7} {
			m, err := Fit(t.Context(), examples, s)
			if err != nil {
				t.Fatal(err)
			}
			if first == nil {
				first = m
			}
			if !slices.Equal(m.weights, first.weights) || !slices.Equal(m.bias, first.bias) {
				t.Fatalf("%d workers make another model", s.Workers)
			}
		}
	})
}

// A large λ makes scale vanish again and again, which must not change the weights.
func TestRescaling(t *testing.T) {
	examples := []Example{
		{Row{[]uint32{0}, []float32{1}}, []int{0}}, {Row{[]uint32{1}, []float32{1}}, []int{1}},
	}
	m, err := Fit(t.Context(), examples, Settings{Classes: 2, Features: 2, L2: .1, Epochs: 20000, Rate: 2, Batch: 2, Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	weights := [][]float64{{float64(m.weights[0]), float64(m.weights[1])}, {float64(m.weights[2]), float64(m.weights[3])}}
	if got, want := loss(examples, weights, m.bias, .1), optimum(examples, 2, 2, .1); got > want+1e-3 {
		t.Fatalf("the objective is %.5f, it can be %.5f", got, want)
	}
}

func TestPosteriorSumsToOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		examples, classes, features := problem(t)
		m, err := Fit(t.Context(), examples, Settings{Classes: classes, Features: features, Workers: 1})
		if err != nil {
			t.Fatal(err)
		}
		p := make([]float64, classes)
		unknown := Row{Features: []uint32{uint32(features), math.MaxUint32}, Values: []float32{1, 1}}
		for _, r := range []*Row{&examples[0].Row, {}, &unknown} {
			m.Pack().Scores(p, r)
			softmax(p)
			var sum float64
			for _, x := range p {
				sum += x
			}
			if math.Abs(sum-1) > 1e-12 {
				t.Fatalf("posteriors %v of %v sum to %g", p, r, sum)
			}
		}
	})
}

func TestFitRefuses(t *testing.T) {
	good := Example{Row{[]uint32{0}, []float32{1}}, []int{0}}
	nan := float32(math.NaN())
	for name, c := range map[string]struct {
		examples []Example
		s        Settings
		want     string
	}{
		"no examples":        {nil, Settings{Classes: 1, Features: 1}, "no examples"},
		"no classes":         {[]Example{good}, Settings{Features: 1}, "0 classes"},
		"no class":           {[]Example{good, {Row: good.Row}}, Settings{Classes: 1, Features: 1}, "example 1: it has no class"},
		"class too large":    {[]Example{{good.Row, []int{1}}}, Settings{Classes: 1, Features: 1}, "class 1 of 1"},
		"feature too large":  {[]Example{{Row{[]uint32{4}, []float32{1}}, []int{0}}}, Settings{Classes: 1, Features: 4}, "feature 4 of 4"},
		"values do not pair": {[]Example{{Row{[]uint32{0}, nil}, []int{0}}}, Settings{Classes: 1, Features: 1}, "1 features, 0 values"},
		"not a number":       {[]Example{{Row{[]uint32{0}, []float32{nan}}, []int{0}}}, Settings{Classes: 1, Features: 1}, "NaN"},
		"negative rate":      {[]Example{good}, Settings{Classes: 1, Features: 1, Rate: -1}, "rate -1"},
	} {
		if _, err := Fit(t.Context(), c.examples, c.s); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want an error with %q", name, err, c.want)
		}
	}
}

func TestPackedPredictsAlmostTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		examples, classes, features := problem(t)
		m, err := Fit(t.Context(), examples, Settings{Classes: classes, Features: features, Workers: 1})
		if err != nil {
			t.Fatal(err)
		}
		p := m.Pack()
		if err := p.Check(); err != nil {
			t.Fatal(err)
		}
		want, got := make([]float64, classes), make([]float64, classes)
		rows := []*Row{{}, {Features: []uint32{uint32(features), math.MaxUint32}, Values: []float32{1, 1}}}
		for i := range examples {
			rows = append(rows, &examples[i].Row)
		}
		for _, r := range rows {
			scores(want, m, r)
			p.Scores(got, r)
			for k := range want {
				if math.Abs(got[k]-want[k]) > 1e-3 {
					t.Fatalf("score %g of class %d of %v, unpacked %g", got[k], k, r, want[k])
				}
			}
		}
		for f := range features {
			for k := range classes {
				if w := float64(m.weights[f*classes+k]); math.Abs(p.Weight(uint32(f), k)-w) > float64(p.Scale[f]) {
					t.Fatalf("weight %g of feature %d for class %d, unpacked %g", p.Weight(uint32(f), k), f, k, w)
				}
			}
		}
	})
}

func TestPackedCheck(t *testing.T) {
	inf := float32(math.Inf(1))
	for _, p := range []*Packed{
		{}, {Bias: []float64{0}, Scale: []float32{1}}, {Bias: []float64{math.NaN()}},
		{Bias: []float64{0}, Scale: []float32{inf}, Weights: []int16{1}}, {Bias: []float64{0}, Scale: []float32{-1}, Weights: []int16{1}},
	} {
		if p.Check() == nil {
			t.Errorf("%+v passes", p)
		}
	}
}

// scores computes the scores of a document by the weights themselves.
func scores(dst []float64, m *Model, r *Row) {
	copy(dst, m.bias)
	for i, f := range r.Features {
		for k := range dst {
			if at := int(f)*m.classes + k; at < len(m.weights) {
				dst[k] += float64(r.Values[i]) * float64(m.weights[at])
			}
		}
	}
}
