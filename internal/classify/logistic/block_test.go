package logistic

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// draw makes documents of many classes over a few features, which some have twice.
func draw(n, classes, features int) []Example {
	r := rand.New(rand.NewPCG(1, 2))
	examples := make([]Example, n)
	for i := range examples {
		x := &examples[i]
		x.Classes = []int{i % classes}
		for range 1 + r.IntN(6) {
			f := r.IntN(features)
			if r.IntN(2) == 0 {
				f = i % classes % features
			}
			x.Features, x.Values = append(x.Features, uint32(f)), append(x.Values, float32(r.Float64()/2))
		}
	}
	return examples
}

// plain descends the gradient of one batch after another over dense weights, and averages them as they are: what
// blocks come to without their inner products.
func plain(examples []Example, s Settings) (weights [][]float64, bias []float64) {
	f := &fitting{Settings: s, examples: examples}
	blocks := f.divide()
	table := func() [][]float64 {
		t := make([][]float64, s.Features+1)
		for i := range t {
			t[i] = make([]float64, s.Classes)
		}
		return t
	}
	w, sum, steps, seen := table(), table(), 0., 0
	batch := func(of []int, average bool) {
		gradient := table()
		for _, i := range of {
			x := &examples[i]
			p := slices.Clone(w[s.Features])
			for j, f := range x.Features {
				for k := range p {
					p[k] += float64(x.Values[j]) * w[f][k]
				}
			}
			softmax(p)
			p[x.Classes[0]]--
			for k, r := range p {
				gradient[s.Features][k] += r * interceptRate
				for j, f := range x.Features {
					gradient[f][k] += r * float64(x.Values[j])
				}
			}
		}
		rate := s.Rate / (1 + s.Rate*s.L2*float64(seen))
		seen += len(of)
		for f := range w {
			for k := range w[f] {
				if f < s.Features {
					w[f][k] *= 1 - rate*s.L2*float64(len(of))
				}
				if w[f][k] -= rate * gradient[f][k]; average {
					sum[f][k] += w[f][k]
				}
			}
		}
		if average {
			steps++
		}
	}
	for epoch := range s.Epochs {
		shuffle(blocks, s.Seed+uint64(epoch))
		for i, b := range blocks {
			shuffle(b.order, s.Seed+uint64(epoch*len(blocks)+i))
			for of := range slices.Chunk(b.order, s.Batch) {
				numbers := make([]int, len(of))
				for at, x := range of {
					numbers[at] = b.examples[x]
				}
				batch(numbers, 2*epoch >= s.Epochs)
			}
		}
	}
	for f := range sum {
		for k := range sum[f] {
			sum[f][k] /= steps
		}
	}
	return sum[:s.Features], sum[s.Features]
}

// TestBlocksAreBatchesOneAfterAnother compares fits by blocks, by any number of workers, with plain descent; in
// the second setting the scale of the weights vanishes within a block.
func TestBlocksAreBatchesOneAfterAnother(t *testing.T) {
	examples := draw(300, 70, 40)
	for _, s := range []Settings{
		{Classes: 70, Features: 40, L2: 1e-3, Rate: 2, Batch: 7, Epochs: 3},
		{Classes: 70, Features: 40, L2: .1, Rate: 2, Batch: 4, Epochs: 2},
	} {
		s.Workers = 1
		m, err := Fit(t.Context(), examples, s)
		if err != nil {
			t.Fatal(err)
		}
		weights, bias := plain(examples, s)
		for f := range weights {
			for k, want := range weights[f] {
				if got := float64(m.weights[f*s.Classes+k]); math.Abs(got-want) > 1e-4*(1+math.Abs(want)) {
					t.Fatalf("%+v: the weight of feature %d for class %d is %g, want %g", s, f, k, got, want)
				}
			}
		}
		for k, want := range bias {
			if math.Abs(m.bias[k]-want) > 1e-4 {
				t.Fatalf("%+v: the intercept of class %d is %g, want %g", s, k, m.bias[k], want)
			}
		}
		s.Workers = 3
		if again, err := Fit(t.Context(), examples, s); err != nil || !slices.Equal(again.weights, m.weights) || !slices.Equal(again.bias, m.bias) {
			t.Errorf("%+v: 3 workers make another model, %v", s, err)
		}
	}
}
