package memm

import (
	"fmt"
	"math"
	"runtime"
	"sync"

	"gonum.org/v1/gonum/optimize"
)

// Sequence is a path to a target as it was seen: the state of each page and what was observed there.
type Sequence struct {
	States       []int
	Observations []*Observation // as long as States
}

// Report says how a training went.
type Report struct {
	// LogLikelihood is the mean log p(s_t|s_{t−1},o_t) a step of the training sequences.
	LogLikelihood float64
	// Iterations of L-BFGS and the largest component of the gradient at its end, a step.
	Iterations int
	Gradient   float64
}

// gradientEnd ends the iteration: the largest component of the gradient of the mean objective.
const gradientEnd = 1e-6

// closeEnough is a gradient at which a line search that finds nothing better is an end, not an error.
const closeEnough = 1e-3

// maxIterations of L-BFGS: without a prior the weights of sequences that can be told apart grow for ever.
const maxIterations = 500

// Train fits a model to sequences; at least one of them has a page.
func Train(sequences []Sequence, s Settings) (*Model, *Report, error) {
	steps, err := check(sequences, s)
	if err != nil {
		return nil, nil, err
	}
	o := &objective{settings: s, sequences: sequences, steps: float64(steps)}
	problem := optimize.Problem{Func: o.value, Grad: o.gradient}
	result, err := optimize.Minimize(problem, make([]float64, s.parameters()), &optimize.Settings{
		GradientThreshold: gradientEnd, MajorIterations: maxIterations, Converger: optimize.NeverTerminate{},
	}, &optimize.LBFGS{})
	if result == nil {
		return nil, nil, fmt.Errorf("fit the model: %w", err)
	}
	m := &Model{settings: s, weights: result.X}
	r := &Report{LogLikelihood: -o.loss(m.weights, nil) / o.steps, Iterations: result.MajorIterations}
	gradient := make([]float64, len(m.weights))
	o.gradient(gradient, m.weights)
	for _, v := range gradient {
		r.Gradient = max(r.Gradient, math.Abs(v))
	}
	if err != nil && r.Gradient > closeEnough {
		return nil, nil, fmt.Errorf("fit the model: stopped at a gradient of %g: %w", r.Gradient, err)
	}
	return m, r, nil
}

// check counts the steps.
func check(sequences []Sequence, s Settings) (steps int, err error) {
	if err := s.check(); err != nil {
		return 0, err
	}
	for i, q := range sequences {
		if len(q.States) != len(q.Observations) {
			return 0, fmt.Errorf("sequence %d has %d states and %d observations", i, len(q.States), len(q.Observations))
		}
		for t, state := range q.States {
			if state < 0 || state >= s.States {
				return 0, fmt.Errorf("sequence %d, page %d has state %d of %d", i, t, state, s.States)
			}
			if err := s.checkObservation(q.Observations[t]); err != nil {
				return 0, fmt.Errorf("sequence %d, page %d: %w", i, t, err)
			}
		}
		steps += len(q.States)
	}
	if steps == 0 {
		return 0, fmt.Errorf("there is no page in %d training sequences", len(sequences))
	}
	return steps, nil
}

// objective is what training makes as small as it can: the negative log-likelihood with the prior, a step.
type objective struct {
	settings  Settings
	sequences []Sequence
	steps     float64
}

func (o *objective) value(weights []float64) float64 {
	return (o.loss(weights, nil) + o.prior(weights)) / o.steps
}

func (o *objective) gradient(dst, weights []float64) {
	clear(dst)
	o.loss(weights, dst)
	for i, w := range weights {
		dst[i] = (dst[i] + w/o.settings.Variance) / o.steps
	}
}

func (o *objective) prior(weights []float64) float64 {
	var sum float64
	for _, w := range weights {
		sum += w * w
	}
	return sum / (2 * o.settings.Variance)
}

// chunk is the number of sequences whose sums are made together.
const chunk = 256

// loss returns −Σ log p(s_t|s_{t−1},o_t) and adds its gradient to grad, where that is not nil.
func (o *objective) loss(weights, grad []float64) float64 {
	n := (len(o.sequences) + chunk - 1) / chunk
	losses, grads := make([]float64, n), make([][]float64, n)
	var wg sync.WaitGroup
	next := make(chan int)
	for range min(n, runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for i := range next {
				if grad != nil {
					grads[i] = make([]float64, len(weights))
				}
				losses[i] = o.settings.chunkLoss(o.sequences[i*chunk:min(len(o.sequences), (i+1)*chunk)], weights, grads[i])
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
	var loss float64
	for i := range n {
		loss += losses[i]
		for k, v := range grads[i] {
			grad[k] += v
		}
	}
	return loss
}

func (s Settings) chunkLoss(sequences []Sequence, weights, grad []float64) (loss float64) {
	k := s.States
	row := make([]float64, k)
	for _, q := range sequences {
		previous := s.start()
		for t, state := range q.States {
			o := q.Observations[t]
			s.transition(row, weights, previous, o)
			loss -= row[state]
			if grad != nil {
				for i := range row {
					row[i] = math.Exp(row[i])
				}
				row[state]--
				s.spread(grad, row, previous, o)
			}
			previous = state
		}
	}
	return loss
}

// spread adds the error of each next state to the weights that made it.
func (s Settings) spread(grad, errors []float64, previous int, o *Observation) {
	add := func(at int, v float64) {
		for i, e := range errors {
			grad[at+i] += e * v
		}
	}
	add(s.at(-1, 0), 1)
	add(s.at(-1, 1+previous), 1)
	for i, f := range o.Index {
		add(s.at(int(f), 0), o.Value[i])
		if s.Edges {
			add(s.at(int(f), 1+previous), o.Value[i])
		}
	}
}
