package memm

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/optimize"

	"forager/internal/platform/progress"
)

// Sequence is an observed path to a target: the state of each page and the observation there.
type Sequence struct {
	States       []int
	Observations []*Observation // same length as States
}

// Report describes a training.
type Report struct {
	// LogLikelihood is the mean log p(s_t|s_{t−1},o_t) per step of the training sequences.
	LogLikelihood float64
	// Iterations of L-BFGS, and the largest component of the gradient at its end, per step.
	Iterations int
	Gradient   float64
}

// gradientEnd ends the iteration: the largest component of the gradient of the mean objective.
const gradientEnd = 1e-6

// closeEnough is the gradient below which a failed line search is an end, not an error.
const closeEnough = 1e-3

// maxIterations of L-BFGS: without a prior the weights of separable sequences grow without bound.
const maxIterations = 500

// Train fits a model to sequences; at least one of them must have a page. Steps may share an Observation: they cost as much
// as one. An error of the context ends the training.
func Train(ctx context.Context, sequences []Sequence, s Settings) (*Model, *Report, error) {
	steps, err := check(sequences, s)
	if err != nil {
		return nil, nil, err
	}
	o := newObjective(sequences, s, steps)
	problem := optimize.Problem{Func: o.value, Grad: o.gradient}
	ctx, end := progress.Start(ctx, "fitting the model", maxIterations)
	defer end()
	result, err := optimize.Minimize(problem, make([]float64, s.parameters()), &optimize.Settings{
		GradientThreshold: gradientEnd, MajorIterations: maxIterations, Converger: optimize.NeverTerminate{}, Recorder: iterations{ctx},
	}, &optimize.LBFGS{})
	if result == nil || ctx.Err() != nil {
		return nil, nil, fmt.Errorf("fit the model: %w", err)
	}
	m := &Model{settings: s, weights: result.X}
	r := &Report{Iterations: result.MajorIterations}
	r.LogLikelihood = -o.loss(m.weights) / o.steps
	o.at = nil // the gradient without the prior
	o.evaluate(m.weights)
	r.Gradient = floats.Norm(o.grad, math.Inf(1))
	if err != nil && r.Gradient > closeEnough {
		return nil, nil, fmt.Errorf("fit the model: stopped at a gradient of %g: %w", r.Gradient, err)
	}
	return m, r, nil
}

// iterations counts the iterations of a minimisation, and ends it with its context.
type iterations struct{ ctx context.Context }

func (iterations) Init() error { return nil }

// Record is called for every evaluation and every iteration.
func (i iterations) Record(_ *optimize.Location, op optimize.Operation, _ *optimize.Stats) error {
	if op != optimize.MajorIteration {
		return i.ctx.Err()
	}
	return progress.Add(i.ctx, 1)
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

// objective is the function that is minimised: the negative log-likelihood with the prior, per step. Its gradient is
// computed with it, as the minimiser needs both at nearly every point.
type objective struct {
	settings Settings
	samples  []*sample
	steps    float64
	// The last evaluation.
	at, grad []float64
	found    float64
	sums     []chunkSum
}

// sample is one observation with the number of times that it was made on each transition.
type sample struct {
	seen *Observation
	from []transitions
}

// transitions from one state.
type transitions struct {
	previous int
	next     []float64 // by next state
	all      float64
}

// chunk is the number of observations whose sums are made together.
const chunk = 64

// chunkSum is the part of a chunk in −Σ log p(s_t|s_{t−1},o_t) and in its gradient.
type chunkSum struct {
	loss float64
	grad []float64
}

// newObjective groups sequences by their observations: walks over one graph repeat them.
func newObjective(sequences []Sequence, s Settings, steps int) *objective {
	o := &objective{settings: s, steps: float64(steps), grad: make([]float64, s.parameters())}
	known := make(map[*Observation]*sample)
	for _, q := range sequences {
		previous := s.start()
		for t, seen := range q.Observations {
			l := known[seen]
			if l == nil {
				l = &sample{seen: seen}
				known[seen] = l
				o.samples = append(o.samples, l)
			}
			l.add(previous, q.States[t], s.States)
			previous = q.States[t]
		}
	}
	for range (len(o.samples) + chunk - 1) / chunk {
		o.sums = append(o.sums, chunkSum{grad: make([]float64, len(o.grad))})
	}
	return o
}

func (l *sample) add(previous, next, states int) {
	i := slices.IndexFunc(l.from, func(f transitions) bool { return f.previous == previous })
	if i < 0 {
		i = len(l.from)
		l.from = append(l.from, transitions{previous: previous, next: make([]float64, states)})
	}
	l.from[i].next[next]++
	l.from[i].all++
}

func (o *objective) value(weights []float64) float64 {
	o.evaluate(weights)
	return o.found
}

func (o *objective) gradient(dst, weights []float64) {
	o.evaluate(weights)
	copy(dst, o.grad)
}

// evaluate computes value and gradient, unless weights are those of the last call.
func (o *objective) evaluate(weights []float64) {
	if o.at != nil && slices.Equal(o.at, weights) {
		return
	}
	loss := o.loss(weights)
	for i, w := range weights {
		loss += w * w / (2 * o.settings.Variance)
		o.grad[i] = (o.grad[i] + w/o.settings.Variance) / o.steps
	}
	o.at, o.found = append(o.at[:0], weights...), loss/o.steps
}

// loss returns −Σ log p(s_t|s_{t−1},o_t) and leaves its gradient in o.grad.
func (o *objective) loss(weights []float64) float64 {
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := range o.sums {
		g.Go(func() error {
			samples := o.samples[i*chunk : min(len(o.samples), (i+1)*chunk)]
			o.settings.sum(&o.sums[i], samples, weights)
			return nil
		})
	}
	_ = g.Wait() // none fails
	var loss float64
	clear(o.grad)
	for _, s := range o.sums {
		loss += s.loss
		floats.Add(o.grad, s.grad)
	}
	return loss
}

// sum computes the sums of some observations. The part of an observation that does not depend on the previous state is computed
// once for all of them.
func (s Settings) sum(to *chunkSum, samples []*sample, weights []float64) {
	to.loss = 0
	clear(to.grad)
	common, row, all := make([]float64, s.States), make([]float64, s.States), make([]float64, s.States)
	for _, l := range samples {
		s.state(common, weights, l.seen)
		clear(all)
		for _, f := range l.from {
			copy(row, common)
			s.edge(row, weights, f.previous, l.seen)
			normalise(row)
			for i, p := range row {
				to.loss -= f.next[i] * p
				row[i] = f.all*math.Exp(p) - f.next[i]
			}
			floats.Add(all, row)
			s.spreadEdge(to.grad, row, f.previous, l.seen)
		}
		s.spreadState(to.grad, all, l.seen)
	}
}

// spreadState adds the error of each next state to the gradient of the weights of L2.
func (s Settings) spreadState(grad, errors []float64, o *Observation) {
	floats.Add(s.row(grad, -1, 0), errors)
	for i, f := range o.Index {
		floats.AddScaled(s.row(grad, int(f), 0), o.Value[i], errors)
	}
}

// spreadEdge adds it to that of L1.
func (s Settings) spreadEdge(grad, errors []float64, previous int, o *Observation) {
	floats.Add(s.row(grad, -1, 1+previous), errors)
	if !s.Edges {
		return
	}
	for i, f := range o.Index {
		floats.AddScaled(s.row(grad, int(f), 1+previous), o.Value[i], errors)
	}
}
