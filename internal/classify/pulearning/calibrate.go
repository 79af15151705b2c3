package pulearning

import (
	"context"
	"errors"
	"math"
)

// Curve maps scores to Pr(on topic) = 1/(1 + exp(−(Slope·score + Intercept))), among pages like the unlabelled
// ones.
type Curve struct{ Slope, Intercept float64 }

// Probability returns the probability for a score, in [0,1].
func (c Curve) Probability(score float64) float64 { return logistic(c.LogOdds(score)) }

// LogOdds returns the log odds of Probability.
func (c Curve) LogOdds(score float64) float64 { return c.Slope*score + c.Intercept }

// likely is the mode of the prior of the slope, a gamma distribution of shape 2, in units of the scores' standard deviation.
// It is nowhere 0, as scores rank pages even where a few held-out positives have, by chance, lower ones than the rest; and it
// favours no great one, as a crawl visits the pages of the highest scores. (Chung, Rabe-Hesketh, Dorie, Gelman and Liu 2013 keep
// estimates off a boundary by such a prior.)
const likely = 1

// Calibrate finds the curve of greatest presence-only likelihood (Ward et al. 2009, eq. 7, for two samples of
// equal weight, times the prior of the slope): a page drawn from positives and unlabelled with equal weight is one
// of the positives with probability f/(f + π), f the probability that it is on topic. Scores are held out. The slope is
// above 0 unless all scores are equal.
func Calibrate(ctx context.Context, positives, unlabelled []float64, prior float64) (Curve, error) {
	if len(positives) == 0 || len(unlabelled) == 0 {
		return Curve{}, errors.New("calibrate: positives and unlabelled pages are both needed")
	}
	level := Curve{Intercept: math.Log(prior / (1 - prior))}
	mean, unit := moments(unlabelled)
	if unit == 0 {
		return level, nil
	}
	l := presenceLikelihood{positives, unlabelled, prior, mean, unit}
	x, err := minimise(ctx, []float64{math.Log(likely), level.Intercept}, l.value, l.slope)
	if err != nil {
		return Curve{}, err
	}
	slope := math.Exp(x[0]) / unit
	return Curve{Slope: slope, Intercept: x[1] - slope*mean}, nil
}

// moments returns the mean of scores and their standard deviation.
func moments(scores []float64) (mean, unit float64) {
	for _, s := range scores {
		mean += s / float64(len(scores))
	}
	for _, s := range scores {
		unit += (s - mean) * (s - mean) / float64(len(scores))
	}
	return mean, math.Sqrt(unit)
}

// presenceLikelihood is the negative log likelihood, times the prior, of a slope whose logarithm is x[0], and an intercept x[1].
type presenceLikelihood struct {
	positives, unlabelled []float64
	prior, mean, unit     float64
}

// log returns log f and log(f + π) at the log odds z; f may be too small for a float64.
func (l *presenceLikelihood) log(z float64) (f, both float64) {
	f = -softplus(-z)
	return f, math.Log(math.Exp(f) + l.prior)
}

func (l *presenceLikelihood) value(x []float64) float64 {
	steep := math.Exp(x[0])
	sum := (steep/likely - x[0]) / float64(len(l.positives))
	for _, s := range l.positives {
		f, both := l.log(steep*(s-l.mean)/l.unit + x[1])
		sum += (both - f) / float64(len(l.positives))
	}
	for _, s := range l.unlabelled {
		_, both := l.log(steep*(s-l.mean)/l.unit + x[1])
		sum += (both - math.Log(l.prior)) / float64(len(l.unlabelled))
	}
	return sum
}

func (l *presenceLikelihood) slope(slope, x []float64) {
	steep := math.Exp(x[0])
	slope[0], slope[1] = (steep/likely-1)/float64(len(l.positives)), 0
	add := func(s, weight, own float64) {
		z := (s - l.mean) / l.unit
		f := logistic(steep*z + x[1])
		d := weight * (1 - f) * (f/(f+l.prior) - own)
		slope[0] += d * steep * z
		slope[1] += d
	}
	for _, s := range l.positives {
		add(s, 1/float64(len(l.positives)), 1)
	}
	for _, s := range l.unlabelled {
		add(s, 1/float64(len(l.unlabelled)), 0)
	}
}

// Brier estimates the mean squared error of probabilities among pages like the unlabelled ones, without a page
// that is known to be off topic: the unbiased risk of du Plessis, Niu and Sugiyama 2014, §3, with the squared
// loss,
//
//	mean over unlabelled of f² + π · mean over positives of (1 − 2f)
//
// The estimate may be negative, and is 0 then (Kiryo et al. 2017).
func Brier(positives, unlabelled []float64, prior float64) float64 {
	return max(0, unbiased(positives, unlabelled, prior))
}

func unbiased(positives, unlabelled []float64, prior float64) (risk float64) {
	for _, f := range unlabelled {
		risk += f * f / float64(len(unlabelled))
	}
	for _, f := range positives {
		risk += prior * (1 - 2*f) / float64(len(positives))
	}
	return risk
}
