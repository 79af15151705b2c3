package critic

import (
	"math"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"
	"gonum.org/v1/gonum/floats"

	"forager/internal/classify/bayes"
	"forager/internal/classify/calibrate"
	"forager/internal/platform/modelfile"
	"forager/schemas"
)

// calibration computes calibrated posteriors: each class has a curve over its tempered log odds; the values are
// normalised to the sum 1; and one more curve corrects the probability of the best class, while the others share
// the rest.
type calibration struct {
	// takes is POSTERIOR_CALIBRATED where there are curves; otherwise the posterior that is used unchanged.
	takes   schemas.Posterior
	classes []*calibrate.Curve
	best    *calibrate.Curve // nil where nothing could be fitted
}

// apply sets o.Calibrated.
func (c *calibration) apply(o *Prediction) {
	switch c.takes {
	case schemas.Posterior_POSTERIOR_RAW:
		copy(o.Calibrated, o.Raw)
	case schemas.Posterior_POSTERIOR_TEMPERED:
		copy(o.Calibrated, o.Tempered)
	default:
		oddsWithin(o.Calibrated, o.scores, o.exponentials)
		byClass(o.Calibrated, o.Calibrated, c.classes)
		correctBest(o.Calibrated, c.best)
	}
}

// logOdds sets dst, another slice, to the log odds of each class, given log posteriors up to a constant. It is
// exact where posteriors round to 0 or 1, as for long pages also the tempered ones do.
func logOdds(dst, scores []float64) {
	bayes.Exponentials(dst, scores)
	oddsWithin(dst, scores, dst)
}

// oddsWithin is logOdds, given also the exponentials of the scores as multiples of the highest; dst may be the
// same slice as the exponentials.
func oddsWithin(dst, scores, exponentials []float64) {
	first, second := math.Inf(-1), math.Inf(-1) // the two highest
	best := 0
	for k, x := range scores {
		if x > first {
			first, second, best = x, first, k
		} else if x > second {
			second = x
		}
	}
	var others float64 // except the best, as a multiple of it
	for k, x := range exponentials {
		if k != best {
			others += x
		}
	}
	sum := 1 + others
	logSum := math.Log(sum)
	for k, x := range scores {
		// log Pr(c) − log(1 − Pr(c)), both as multiples of the best. The second logarithm of an unlikely class is
		// computed by a series, which is faster; the error is below p⁵/5.
		e := exponentials[k]
		p := e / sum
		if p < 0x1p-11 {
			dst[k] = x - first - logSum + p*(1+p*(1./2+p*(1./3+p/4)))
		} else {
			dst[k] = x - first - math.Log(sum-e)
		}
	}
	dst[best] = -math.Log(others)
	if others == 0 { // compared with the best all others vanish: the second represents them
		dst[best] = first - second
	}
}

// byClass sets dst to the values of the curves at the log odds, normalised to 1. The two may be the same slice.
func byClass(dst, odds []float64, curves []*calibrate.Curve) {
	var sum float64
	for k, x := range odds {
		dst[k] = curves[k].Probability(x)
		sum += dst[k]
	}
	for k := range dst {
		dst[k] /= sum
	}
}

// correctBest gives the best class the probability of the curve c; nil changes nothing.
func correctBest(p []float64, c *calibrate.Curve) {
	if c == nil {
		return
	}
	best := floats.MaxIdx(p)
	was := p[best]
	is := c.Probability(odds(was))
	for k := range p {
		p[k] *= (1 - is) / (1 - was)
	}
	p[best] = is
}

// fitCurves fits a calibration to the scores of held-out pages, and sets the calibrated posteriors of each page by
// curves that have not seen it. It returns nil where a class has no page of its own, or no other page.
func fitCurves(classes int, pages []heldPage) *calibration {
	c := &calibration{takes: schemas.Posterior_POSTERIOR_CALIBRATED, classes: make([]*calibrate.Curve, classes)}
	fitted := make([]*calibrate.Fitted, classes)
	columns := columnsOf(classes, pages)
	each(classes, func(k int) {
		if f, err := calibrate.Fit(columns.of(k)); err == nil {
			fitted[k], c.classes[k] = f, f.Curve
		}
	})
	if slices.Contains(fitted, nil) {
		return nil
	}
	c.best = fitBest(pages, whole, c.classes)
	var without [Folds]*calibrate.Curve
	var ofFold [Folds][]*calibrate.Curve // of the classes
	for fold := range Folds {
		for _, f := range fitted {
			ofFold[fold] = append(ofFold[fold], f.Without[fold])
		}
	}
	each(Folds, func(fold int) { without[fold] = fitBest(pages, fold, ofFold[fold]) })
	each(len(pages), func(i int) {
		p := &pages[i]
		posteriors := p.by(ofFold[p.fold])
		correctBest(posteriors, without[p.fold])
		if p.full != nil {
			p.full.Calibrated = posteriors
		}
		p.calibrated, p.verdict = shares(posteriors, leastCalibrated), verdictOn(posteriors, p.classes)
	})
	return c
}

// whole is a fold without pages.
const whole = -1

// fitBest fits the curve of the best class to the pages outside a fold, as judged by the curves of the classes,
// which have not seen the fold either. It returns nil where the best class is right for every page, or for none.
func fitBest(pages []heldPage, fold int, curves []*calibrate.Curve) *calibrate.Curve {
	column := make([]calibrate.Page, 0, len(pages))
	for i := range pages {
		p := &pages[i]
		if p.fold == fold {
			continue
		}
		posteriors := p.by(curves)
		best := floats.MaxIdx(posteriors)
		column = append(column, calibrate.Page{Score: odds(posteriors[best]), Right: slices.Contains(p.classes, best), Fold: p.fold})
	}
	f, err := calibrate.Fit(column)
	if err != nil {
		return nil
	}
	return f.Curve
}

// by returns the posteriors of a page by curves, with sum 1.
func (p *heldPage) by(curves []*calibrate.Curve) []float64 {
	posteriors := p.odds.all(len(curves))
	byClass(posteriors, posteriors, curves)
	return posteriors
}

func odds(p float64) float64 { return math.Log(p / (1 - p)) }

func (c *calibration) encode(e *modelfile.Encoder) {
	e.Uint(uint64(c.takes))
	if c.takes != schemas.Posterior_POSTERIOR_CALIBRATED {
		return
	}
	for _, curve := range c.classes {
		encodeCurve(e, curve)
	}
	if c.best == nil {
		e.Uint(0)
		return
	}
	e.Uint(1)
	encodeCurve(e, c.best)
}

func encodeCurve(e *modelfile.Encoder, c *calibrate.Curve) {
	e.Uint(uint64(c.Shape))
	if c.Shape == calibrate.Sigmoid {
		e.Float(c.A)
		e.Float(c.B)
		return
	}
	e.Uint(uint64(len(c.X)))
	for i := range c.X {
		e.Float(c.X[i])
		e.Float(c.Y[i])
	}
}

func decodeCalibration(d *modelfile.Decoder, classes int) *calibration {
	c := &calibration{takes: schemas.Posterior(d.Uint("calibration", uint64(schemas.Posterior_POSTERIOR_CALIBRATED)))}
	if c.takes == schemas.Posterior_POSTERIOR_UNSPECIFIED {
		d.Fail("calibration by no posterior")
	}
	if c.takes != schemas.Posterior_POSTERIOR_CALIBRATED {
		return c
	}
	for range classes {
		curve := decodeCurve(d)
		if d.Err() != nil {
			return c
		}
		c.classes = append(c.classes, curve)
	}
	if d.Uint("whether there is a curve of the best class", 1) == 1 {
		c.best = decodeCurve(d)
	}
	return c
}

func decodeCurve(d *modelfile.Decoder) *calibrate.Curve {
	c := &calibrate.Curve{Shape: calibrate.Shape(d.Uint("shape of a curve", uint64(calibrate.Isotonic)))}
	if c.Shape == calibrate.Sigmoid {
		c.A, c.B = d.Float("slope"), d.Float("intercept")
	} else {
		for range d.Len("points of a curve", 16) {
			c.X, c.Y = append(c.X, d.Float("score")), append(c.Y, d.Float("probability"))
		}
	}
	if err := c.Check(); err != nil && d.Err() == nil {
		d.Fail("%v", err)
	}
	return c
}

// each calls f for 0 to n − 1, on all processors.
func each(n int, f func(i int)) {
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := range n {
		g.Go(func() error { f(i); return nil })
	}
	_ = g.Wait()
}
