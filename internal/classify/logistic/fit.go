package logistic

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"

	"forager/internal/platform/progress"
)

// Epochs returns the default number of times that each of n examples is fitted: three, and up to ten for few examples.
func Epochs(n int) int { return min(max(15_000/max(n, 1), 3), 10) }

// interceptRate is the step of the intercepts relative to that of the weights: they move with every example, a
// weight only with its feature's (as in Bottou 2012, §5.2).
const interceptRate = .1

// Row is one document: distinct features with the value of each.
type Row struct {
	Features []uint32
	Values   []float32
}

// Example is a document with its classes.
type Example struct {
	Row
	// Classes it belongs to, at least one; with several, each has an equal share of it.
	Classes []int
}

// Settings of Fit. The zero value of a number is its default.
type Settings struct {
	// Classes and Features are the shape of the model; both at least 1.
	Classes, Features int
	// L2 is λ of mean loss + λ/2·‖W‖²; 0 = 0.01 / examples. The intercepts are not penalised.
	L2 float64
	// Epochs is how often every example is fitted; 0 = Epochs(examples). The weights are averaged over
	// the second half of them.
	Epochs int
	// Rate is the first step; 0 = 8. Step t is Rate / (1 + Rate·L2·examples seen).
	Rate float64
	// Batch is the number of examples that are scored by the same weights; 0 = 16.
	Batch int
	// Seed of the order of the examples.
	Seed uint64
	// Workers is the number of goroutines; 0 = the processors. The model does not depend on it.
	Workers int
}

func (s *Settings) complete(examples []Example) error {
	if len(examples) == 0 {
		return errors.New("fit: no examples")
	}
	if s.Classes < 1 || s.Features < 1 {
		return fmt.Errorf("fit: %d classes and %d features", s.Classes, s.Features)
	}
	for i := range examples {
		if err := s.check(&examples[i]); err != nil {
			return fmt.Errorf("fit: example %d: %w", i, err)
		}
	}
	if s.L2 == 0 {
		s.L2 = .01 / float64(len(examples))
	}
	if s.Rate == 0 {
		s.Rate = 8
	}
	if s.Epochs == 0 {
		s.Epochs = Epochs(len(examples))
	}
	if s.Batch == 0 {
		s.Batch = 16
	}
	if s.Workers == 0 {
		s.Workers = runtime.GOMAXPROCS(0)
	}
	if !(s.L2 > 0 && s.Rate > 0 && s.Epochs > 0 && s.Batch > 0 && s.Workers > 0) {
		return fmt.Errorf("fit: l2 %g, rate %g, epochs %d, batch %d, workers %d: all must be above 0", s.L2, s.Rate, s.Epochs, s.Batch, s.Workers)
	}
	return nil
}

func (s *Settings) check(x *Example) error {
	if len(x.Classes) == 0 {
		return errors.New("it has no class")
	}
	for _, k := range x.Classes {
		if k < 0 || k >= s.Classes {
			return fmt.Errorf("class %d of %d", k, s.Classes)
		}
	}
	if len(x.Features) != len(x.Values) {
		return fmt.Errorf("%d features, %d values", len(x.Features), len(x.Values))
	}
	for i, f := range x.Features {
		if int(f) >= s.Features {
			return fmt.Errorf("feature %d of %d", f, s.Features)
		}
		if v := float64(x.Values[i]); math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("feature %d has the value %g", f, v)
		}
	}
	return nil
}

// fitting is the state of one fit. The true weights are scale × weights, so that the penalty on all of them is one
// multiplication (Bottou, Stochastic Gradient Descent Tricks, 2012, §5.1). sums is for the average: at any time Σ
// of the true weights over the steps that are averaged = carried × weights + sums (the same paper, §5.3).
type fitting struct {
	Settings
	examples []Example
	weights  []float32 // feature-major: Classes numbers a feature
	sums     []float32
	scale    float64
	carried  float64
	averaged float64 // steps that are averaged
	bias     []float64
	biasSums []float64
	seen     uint64
	tables
}

// Fit finds the weights. The error names an example that is invalid, or is that of ctx. The same examples in the
// same order with the same settings give the same bits, with any number of workers. Each example of each epoch is
// a unit of progress.
func Fit(ctx context.Context, examples []Example, s Settings) (*Model, error) {
	if err := s.complete(examples); err != nil {
		return nil, err
	}
	f := &fitting{
		Settings: s, examples: examples, scale: 1,
		weights: make([]float32, s.Classes*s.Features), sums: make([]float32, s.Classes*s.Features),
		bias: make([]float64, s.Classes), biasSums: make([]float64, s.Classes),
	}
	blocks := f.divide()
	for epoch := range s.Epochs {
		shuffle(blocks, s.Seed+uint64(epoch))
		for i, b := range blocks {
			shuffle(b.order, s.Seed+uint64(epoch*len(blocks)+i))
			f.fit(b, epoch*2 >= s.Epochs)
			if err := progress.Add(ctx, int64(len(b.order))); err != nil {
				return nil, err
			}
		}
	}
	return f.model(), nil
}

// step moves the weights by the gradient of a batch, given by rows of the tables.
func (f *fitting) step(b *block, batch []int, average bool) {
	rate := f.Rate / (1 + f.Rate*f.L2*float64(f.seen))
	f.seen += uint64(len(batch))
	for _, i := range batch {
		f.judge(i, f.examples[b.examples[i]].Classes)
	}
	f.scale *= 1 - rate*f.L2*float64(len(batch))
	if average {
		f.averaged++
	}
	// A weight moves by −rate/scale × residual × value; its past steps in the average are corrected, so that
	// carried × the new weight is what it would be without the move.
	by, back := rate/f.scale, f.carried
	for _, i := range batch {
		moves, past := f.moves.row(i), f.past.row(i)
		for k, r := range f.residuals(i) {
			f.bias[k] -= rate * interceptRate * r
			moves[k], past[k] = float32(-by*r), float32(by*back*r)
		}
	}
	if average {
		f.carried += f.scale
		for k, w := range f.bias {
			f.biasSums[k] += w
		}
	}
}

// judge sets the residuals of a row: Pr(c|u) − target.
func (f *fitting) judge(i int, classes []int) {
	p := f.residuals(i)
	for k, score := range f.scores.row(i) {
		p[k] = float64(float64(score)*f.scale) + f.bias[k]
	}
	softmax(p)
	share := 1 / float64(len(classes))
	for _, k := range classes {
		p[k] -= share
	}
}

// rescale sets scale to 1 again before it underflows.
func (f *fitting) rescale() {
	for _, numbers := range [][]float32{f.weights, f.scores.numbers, f.moves.numbers} {
		for i := range numbers {
			numbers[i] = float32(float64(numbers[i]) * f.scale)
		}
	}
	f.carried /= f.scale
	f.scale = 1
}

func (f *fitting) model() *Model {
	m := &Model{classes: f.Classes, weights: f.sums, bias: f.biasSums}
	for i, s := range f.sums {
		m.weights[i] = float32((f.carried*float64(f.weights[i]) + float64(s)) / f.averaged)
	}
	for k := range m.bias {
		m.bias[k] /= f.averaged
	}
	return m
}

// shuffle shuffles by a generator of its own (SplitMix64, Fisher–Yates), so that the order is the same in every
// version of Go.
func shuffle[E any](order []E, seed uint64) {
	state := seed*0x9e3779b97f4a7c15 + 1
	for i := len(order) - 1; i > 0; i-- {
		state += 0x9e3779b97f4a7c15
		z := state
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		j := int((z ^ z>>31) % uint64(i+1))
		order[i], order[j] = order[j], order[i]
	}
}

func softmax(p []float64) {
	top := math.Inf(-1)
	for _, x := range p {
		top = max(top, x)
	}
	var sum float64
	for k, x := range p {
		p[k] = math.Exp(x - top)
		sum += p[k]
	}
	for k := range p {
		p[k] /= sum
	}
}
