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

// steep is the standard deviation of the prior of the slope, relative to the standard deviation of the scores: the
// weakly informative 2.5 of Gelman, Jakulin, Pittau and Su 2008. Otherwise ten positives that are all above most
// of the rest would make a step of it.
const steep = 2.5

// Calibrate finds the curve of greatest presence-only likelihood (Ward et al. 2009, eq. 7, for two samples of
// equal weight, times the prior of the slope): a page drawn from positives and unlabelled with equal weight is one
// of the positives with probability f/(f + π), f the probability that it is on topic. Scores are held out. Scores
// of the wrong sign give the slope 0.
func Calibrate(ctx context.Context, positives, unlabelled []float64, prior float64) (Curve, error) {
	if len(positives) == 0 || len(unlabelled) == 0 {
		return Curve{}, errors.New("calibrate: positives and unlabelled pages are both needed")
	}
	// In units of the scores' standard deviation.
	var mean, square float64
	for _, s := range unlabelled {
		mean += s / float64(len(unlabelled))
	}
	for _, s := range unlabelled {
		square += (s - mean) * (s - mean) / float64(len(unlabelled))
	}
	level := Curve{Intercept: math.Log(prior / (1 - prior))}
	unit := math.Sqrt(square)
	if unit == 0 {
		return level, nil
	}
	l := presence{positives, unlabelled, prior, mean, unit, 1 / (steep * steep * float64(len(positives)))}
	x, err := minimise(ctx, []float64{0, level.Intercept}, l.value, l.slope)
	if err != nil {
		return Curve{}, err
	}
	if x[0] <= 0 {
		return level, nil
	}
	return Curve{Slope: x[0] / unit, Intercept: x[1] - x[0]*mean/unit}, nil
}

// presence is the negative log likelihood of a slope x[0] and an intercept x[1].
type presence struct {
	positives, unlabelled []float64
	prior, mean, unit     float64
	held                  float64 // ½·held·slope² is added
}

// log returns log f and log(f + π) at the log odds z; f may be too small for a float64.
func (l *presence) log(z float64) (f, both float64) {
	f = -softplus(-z)
	return f, math.Log(math.Exp(f) + l.prior)
}

func (l *presence) value(x []float64) float64 {
	sum := l.held / 2 * x[0] * x[0]
	for _, s := range l.positives {
		f, both := l.log(x[0]*(s-l.mean)/l.unit + x[1])
		sum += (both - f) / float64(len(l.positives))
	}
	for _, s := range l.unlabelled {
		_, both := l.log(x[0]*(s-l.mean)/l.unit + x[1])
		sum += (both - math.Log(l.prior)) / float64(len(l.unlabelled))
	}
	return sum
}

func (l *presence) slope(slope, x []float64) {
	slope[0], slope[1] = l.held*x[0], 0
	add := func(s, weight, own float64) {
		z := (s - l.mean) / l.unit
		f := logistic(x[0]*z + x[1])
		d := weight * (1 - f) * (f/(f+l.prior) - own)
		slope[0] += d * z
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
