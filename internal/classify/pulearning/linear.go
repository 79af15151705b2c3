package pulearning

import (
	"context"
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/optimize"
)

// Row is one page: distinct features with the value of each. Pages are best given as unit vectors.
type Row struct {
	Features []uint32
	Values   []float32
	// Drawn is the weight of a page whose label was asked after it had been drawn at random from judged pages; 0 for others.
	Drawn float64
}

// Linear is a score f(x) = Bias + Σ Weights[i]·x_i.
type Linear struct {
	Weights []float64
	Bias    float64
}

// Score returns the score of a page; features that the classifier does not have are ignored.
func (l *Linear) Score(r *Row) float64 {
	f := l.Bias
	for i, feature := range r.Features {
		if int(feature) < len(l.Weights) {
			f += l.Weights[feature] * float64(r.Values[i])
		}
	}
	return f
}

// labelled is a page of a weighted classification: weight × the cross entropy of the label.
type labelled struct {
	row    *Row
	weight float64
	yes    bool
}

// loss returns the loss of the page at score f, and its derivative.
func (x *labelled) loss(f float64) (value, slope float64) {
	if x.yes {
		return x.weight * softplus(-f), -x.weight * logistic(-f)
	}
	return x.weight * softplus(f), x.weight * logistic(f)
}

// softplus is log(1 + eᶻ).
func softplus(z float64) float64 { return max(z, 0) + math.Log1p(math.Exp(-math.Abs(z))) }

// logistic is 1/(1 + e⁻ᶻ).
func logistic(z float64) float64 {
	if z < 0 {
		e := math.Exp(z)
		return e / (1 + e)
	}
	return 1 / (1 + math.Exp(-z))
}

// fit finds the score of least Σ loss + l2/2·‖Weights‖². The problem is convex; the bias is not penalised.
func fit(ctx context.Context, pages []labelled, features int, l2 float64) (*Linear, error) {
	l := &Linear{Weights: make([]float64, features)}
	read := func(x []float64) { copy(l.Weights, x); l.Bias = x[features] }
	x, err := minimise(ctx, make([]float64, features+1), func(x []float64) (sum float64) {
		read(x)
		for i := range pages {
			value, _ := pages[i].loss(l.Score(pages[i].row))
			sum += value
		}
		for _, w := range l.Weights {
			sum += l2 / 2 * w * w
		}
		return sum
	}, func(slope, x []float64) {
		read(x)
		for i, w := range l.Weights {
			slope[i] = l2 * w
		}
		slope[features] = 0
		for i := range pages {
			r := pages[i].row
			_, d := pages[i].loss(l.Score(r))
			for j, feature := range r.Features {
				slope[feature] += d * float64(r.Values[j])
			}
			slope[features] += d
		}
	})
	if err != nil {
		return nil, err
	}
	read(x)
	return l, nil
}

const (
	// steps bounds the steps of one minimisation.
	steps = 500
	// level is the largest gradient component at which a minimum is reached.
	level = 1e-7
)

// minimise runs L-BFGS from a point until the gradient vanishes, or ctx ends.
func minimise(ctx context.Context, from []float64, value func(x []float64) float64, slope func(slope, x []float64)) ([]float64, error) {
	settings := &optimize.Settings{GradientThreshold: level, MajorIterations: steps, Converger: optimize.NeverTerminate{}}
	going := func() (optimize.Status, error) {
		if err := ctx.Err(); err != nil {
			return optimize.Failure, err
		}
		return optimize.NotTerminated, nil
	}
	r, err := optimize.Minimize(optimize.Problem{Func: value, Grad: slope, Status: going}, from, settings, &optimize.LBFGS{Store: 10})
	if ctx.Err() != nil {
		return nil, fmt.Errorf("minimise: %w", ctx.Err())
	}
	if r == nil {
		return nil, fmt.Errorf("minimise: %w", err)
	}
	// Where rounding hides the gradient the line search ends earlier: an error of gonum's, at a point that is as
	// good as any near it.
	for _, v := range r.X {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, errors.Join(errors.New("minimise: there is no least value"), err)
		}
	}
	return r.X, nil
}
