package logistic

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"
)

// interceptRate is the step of the intercepts beside that of the weights: they move with every
// example, a weight only with its feature's (Bottou 2012, §5.2, does it likewise).
const interceptRate = .1

// Row is one document: distinct features, and the value of each beside it.
type Row struct {
	Features []uint32
	Values   []float32
}

// Example is a document and what it is about.
type Example struct {
	Row
	// Classes it belongs to, at least one; with several, each has an equal share of it.
	Classes []int
}

// Settings say how a model is fitted. The zero value of a number stands for its default.
type Settings struct {
	// Classes and Features are the shape of the model; both at least 1.
	Classes, Features int
	// L2 is λ of mean loss + λ/2·‖W‖²; 0 = 0.01 / examples. The intercepts are not held back.
	L2 float64
	// Epochs is how often every example is looked at; 0 = 10. The weights are averaged over
	// the second half of them.
	Epochs int
	// Rate is the first step; 0 = 4. Step t is Rate / (1 + Rate·L2·examples seen).
	Rate float64
	// Batch is the number of examples that are judged by the same weights; 0 = 16.
	Batch int
	// Seed of the order of the examples.
	Seed uint64
	// Workers share the work; 0 = the processors. The model does not depend on it.
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
		s.Rate = 4
	}
	if s.Epochs == 0 {
		s.Epochs = 10
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

// fitting is the state of one fit. The true weights are scale × weights: holding all of them
// back at once is one multiplication (Bottou, Stochastic Gradient Descent Tricks, 2012, §5.1).
// sums holds what the average needs: at any time Σ of the true weights over the steps that
// are averaged = carried × weights + sums (the same paper, §5.3).
type fitting struct {
	Settings
	examples  []Example
	weights   []float32 // feature-major: Classes numbers a feature
	sums      []float32
	scale     float64
	carried   float64
	averaged  float64 // steps that are averaged
	bias      []float64
	biasSums  []float64
	seen      uint64
	residuals []float64 // of a batch: Pr(c|u) − target
}

// Fit finds the weights. An error names the example that cannot be used. The same examples in
// the same order with the same settings give the same bits, with any number of workers.
func Fit(examples []Example, s Settings) (*Model, error) {
	if err := s.complete(examples); err != nil {
		return nil, err
	}
	f := &fitting{
		Settings: s, examples: examples, scale: 1,
		weights: make([]float32, s.Classes*s.Features), sums: make([]float32, s.Classes*s.Features),
		bias: make([]float64, s.Classes), biasSums: make([]float64, s.Classes),
		residuals: make([]float64, s.Batch*s.Classes),
	}
	order := make([]int, len(examples))
	for i := range order {
		order[i] = i
	}
	for epoch := range s.Epochs {
		shuffle(order, s.Seed+uint64(epoch))
		for lo := 0; lo < len(order); lo += s.Batch {
			f.step(order[lo:min(lo+s.Batch, len(order))], epoch*2 >= s.Epochs)
		}
	}
	return f.model(), nil
}

// step moves the weights by the gradient of a batch.
func (f *fitting) step(batch []int, average bool) {
	f.each(func(worker int) {
		for b := worker; b < len(batch); b += f.Workers {
			f.judge(b, &f.examples[batch[b]])
		}
	})
	rate := f.Rate / (1 + f.Rate*f.L2*float64(f.seen))
	f.seen += uint64(len(batch))
	f.scale *= 1 - rate*f.L2*float64(len(batch))
	if average {
		f.averaged++
	}
	// A weight moves by −rate/scale × residual × value; its past steps in the average are
	// put right, so that carried × the new weight is what it would be without the move.
	by, back := rate/f.scale, f.carried
	f.each(func(worker int) { f.move(batch, worker, by, back) })
	for b := range batch {
		for k := range f.bias {
			f.bias[k] -= rate * interceptRate * f.residuals[b*f.Classes+k]
		}
	}
	if average {
		f.carried += f.scale
		for k, w := range f.bias {
			f.biasSums[k] += w
		}
	}
	if f.scale < 1e-6 {
		f.rescale()
	}
}

// each runs a part of the work on every worker.
func (f *fitting) each(part func(worker int)) {
	if f.Workers == 1 {
		part(0)
		return
	}
	var wg sync.WaitGroup
	for worker := range f.Workers {
		wg.Go(func() { part(worker) })
	}
	wg.Wait()
}

// judge sets the residuals of example b of the batch.
func (f *fitting) judge(b int, x *Example) {
	p := f.residuals[b*f.Classes : (b+1)*f.Classes]
	clear(p)
	for i, feature := range x.Features {
		v := float64(x.Values[i])
		row := f.weights[int(feature)*f.Classes:][:len(p)]
		for k, w := range row {
			p[k] += float64(v * float64(w))
		}
	}
	for k := range p {
		p[k] = p[k]*f.scale + f.bias[k]
	}
	softmax(p)
	share := 1 / float64(len(x.Classes))
	for _, k := range x.Classes {
		p[k] -= share
	}
}

// move changes the weights of the features that belong to a worker: the sum over the batch is
// always taken in its order.
func (f *fitting) move(batch []int, worker int, by, back float64) {
	for b, i := range batch {
		x := &f.examples[i]
		residual := f.residuals[b*f.Classes : (b+1)*f.Classes]
		for j, feature := range x.Features {
			if int(feature)%f.Workers != worker {
				continue
			}
			v := by * float64(x.Values[j])
			row := f.weights[int(feature)*f.Classes:][:len(residual)]
			if back == 0 {
				for k, r := range residual {
					row[k] -= float32(v * r)
				}
				continue
			}
			sums := f.sums[int(feature)*f.Classes:][:len(residual)]
			for k, r := range residual {
				d := float64(v * r)
				row[k] -= float32(d)
				sums[k] += float32(d * back)
			}
		}
	}
}

// rescale makes scale 1 again before it vanishes.
func (f *fitting) rescale() {
	for i := range f.weights {
		f.weights[i] = float32(float64(f.weights[i]) * f.scale)
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

// shuffle orders by a generator of its own (SplitMix64, Fisher–Yates), so that the order is the
// same in every version of Go.
func shuffle(order []int, seed uint64) {
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
