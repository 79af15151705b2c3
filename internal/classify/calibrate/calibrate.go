package calibrate

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
)

// Folds is the number of parts in which Fit compares the shapes.
const Folds = 5

// Shape is the form of a curve.
type Shape uint8

const (
	// Sigmoid is Pr = 1/(1 + exp(−(A·score + B))).
	Sigmoid Shape = iota
	// Isotonic is linear between the points (X[i], Y[i]) and constant beyond the ends.
	Isotonic
)

// Curve is a monotone map from scores (log odds, any finite number) to probabilities in (0,1).
type Curve struct {
	Shape Shape
	A, B  float64   // Sigmoid; A ≥ 0
	X, Y  []float64 // Isotonic; X rises, Y does not fall
}

// Page is a held-out page as seen by one class.
type Page struct {
	// Score is the log odds of the class; infinities are cut to ±Limit.
	Score float64
	// Right reports whether the page is of the class.
	Right bool
	// Fold is the part the page belongs to, 0 to Folds − 1.
	Fold int
	// Count is the number of pages with these same values; 0 = 1.
	Count int
}

func (p Page) count() float64 { return float64(max(1, p.Count)) }

// Limit is the largest absolute value of log odds.
const Limit = 700

// Fitted are the curves of a class.
type Fitted struct {
	// Curve is fitted to all pages.
	Curve *Curve
	// Without are curves of the same shape, each fitted to the pages of the other folds: those that judge the
	// pages of the fold, which they have not seen. Where the other folds have no page, Curve itself.
	Without [Folds]*Curve
}

// Fit finds the curves of a class. It is an error if there is no page of the class or no other page, if a score is
// not a number, or if a fold is out of range.
func Fit(pages []Page) (*Fitted, error) {
	for i, p := range pages {
		if math.IsNaN(p.Score) {
			return nil, fmt.Errorf("calibrate: the score of page %d is not a number", i)
		}
		if p.Fold < 0 || p.Fold >= Folds {
			return nil, fmt.Errorf("calibrate: page %d is in fold %d of %d", i, p.Fold, Folds)
		}
	}
	pages = slices.Clone(pages)
	slices.SortFunc(pages, inOrder)
	points := gather(pages, func(Page) bool { return true })
	if all := total(points); all.right == 0 || all.right == all.n {
		return nil, fmt.Errorf("calibrate: %.0f of %.0f pages are of the class, both kinds are needed", all.right, all.n)
	}
	fit := [2]func([]point) *Curve{Sigmoid: sigmoid, Isotonic: isotonic}
	var (
		without [2][Folds]*Curve
		losses  [2]float64
	)
	for fold := range Folds {
		train := gather(pages, func(p Page) bool { return p.Fold != fold })
		if len(train) == 0 {
			continue
		}
		for shape := range fit {
			c := fit[shape](train)
			without[shape][fold] = c
			for _, p := range pages {
				if p.Fold == fold {
					losses[shape] -= p.count() * logOf(c.Probability(p.Score), p.Right)
				}
			}
		}
	}
	shape := Sigmoid
	if losses[Isotonic] < losses[Sigmoid] {
		shape = Isotonic
	}
	f := &Fitted{Curve: fit[shape](points), Without: without[shape]}
	for fold, c := range f.Without {
		if c == nil {
			f.Without[fold] = f.Curve
		}
	}
	return f, nil
}

// inOrder is a total order of pages, so that sums over them round equally.
func inOrder(a, b Page) int {
	kind := 0
	if a.Right != b.Right {
		kind = 1
		if b.Right {
			kind = -1
		}
	}
	return cmp.Or(cmp.Compare(cut(a.Score), cut(b.Score)), cmp.Compare(a.Fold, b.Fold), kind, cmp.Compare(a.count(), b.count()))
}

func logOf(p float64, right bool) float64 {
	if !right {
		p = 1 - p
	}
	return math.Log(max(p, 1e-300))
}

// Probability returns the probability of the class at a score. A score that is not a number counts as −Limit.
func (c *Curve) Probability(score float64) float64 {
	score = cut(score)
	if c.Shape == Sigmoid {
		return min(max(1/(1+math.Exp(-(c.A*score+c.B))), 1e-12), 1-1e-12)
	}
	i := sort.SearchFloat64s(c.X, score)
	switch {
	case i == 0:
		return c.Y[0]
	case i == len(c.X):
		return c.Y[i-1]
	}
	share := (score - c.X[i-1]) / (c.X[i] - c.X[i-1])
	// Rounding may put the value above the end of the line, where the next one begins lower.
	return min(c.Y[i-1]+share*(c.Y[i]-c.Y[i-1]), c.Y[i])
}

// Check returns an error if a curve that was read from a file is invalid.
func (c *Curve) Check() error {
	switch c.Shape {
	case Sigmoid:
		if !(c.A >= 0) || math.IsInf(c.A, 0) || math.IsNaN(c.B) || math.IsInf(c.B, 0) {
			return fmt.Errorf("sigmoid with slope %g and intercept %g", c.A, c.B)
		}
		return nil
	case Isotonic:
		if len(c.X) == 0 || len(c.X) != len(c.Y) {
			return fmt.Errorf("isotonic curve with %d scores and %d probabilities", len(c.X), len(c.Y))
		}
		for i := range c.X {
			if !(math.Abs(c.X[i]) <= Limit) || !(c.Y[i] > 0 && c.Y[i] < 1) || i > 0 && !(c.X[i] > c.X[i-1] && c.Y[i] >= c.Y[i-1]) {
				return fmt.Errorf("isotonic curve is broken at point %d: (%g, %g)", i, c.X[i], c.Y[i])
			}
		}
		return nil
	}
	return errors.New("a curve of no known shape")
}

func cut(score float64) float64 {
	if math.IsNaN(score) {
		return -Limit
	}
	return min(max(score, -Limit), Limit)
}

// point is all pages of one score, or a block of adjacent points.
type point struct {
	score    float64 // their mean
	n, right float64
}

func (p point) share() float64 { return (p.right + .5) / (p.n + 1) }

func (p point) with(q point) point {
	n := p.n + q.n
	return point{(p.score*p.n + q.score*q.n) / n, n, p.right + q.right}
}

func total(points []point) (all point) {
	for _, p := range points {
		all.n += p.n
		all.right += p.right
	}
	return all
}

// gather merges the pages, in ascending order, that want accepts to one point for each score.
func gather(pages []Page, want func(Page) bool) []point {
	var points []point
	for _, p := range pages {
		if !want(p) {
			continue
		}
		score := cut(p.Score)
		if last := len(points) - 1; last < 0 || points[last].score != score {
			points = append(points, point{score: score})
		}
		at := &points[len(points)-1]
		at.n += p.count()
		if p.Right {
			at.right += p.count()
		}
	}
	return points
}

func (p point) mean() float64 { return p.right / p.n }

// isotonic returns the isotonic regression with smoothed blocks.
func isotonic(points []point) *Curve {
	c := &Curve{Shape: Isotonic}
	for _, b := range pool(pool(points, point.mean), point.share) {
		c.X, c.Y = append(c.X, b.score), append(c.Y, b.share())
	}
	return c
}

// pool joins adjacent points until their values ascend (pool adjacent violators).
func pool(points []point, value func(point) float64) []point {
	var blocks []point
	for _, p := range points {
		blocks = append(blocks, p)
		for n := len(blocks); n > 1 && value(blocks[n-2]) >= value(blocks[n-1]); n-- {
			blocks = append(blocks[:n-2], blocks[n-2].with(blocks[n-1]))
		}
	}
	return blocks
}
