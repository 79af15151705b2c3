package pulearning

import (
	"context"
	"math"
)

// trusted is how many drawn pages an estimate of the prior from positives counts as much as. Those of ten likes are off by a standard
// deviation of about .15.
const trusted = 5

// answer is the label of a page that was drawn at random, with its held-out score.
type answer struct {
	score, weight float64
	on            bool
}

// answers returns the labels of the drawn pages.
func (s *Sample) answers(h *Scores) (list []answer) {
	for i, r := range s.Positives {
		if r.Drawn > 0 {
			list = append(list, answer{h.Positives[i], r.Drawn, true})
		}
	}
	for i, r := range s.Negatives {
		if r.Drawn > 0 {
			list = append(list, answer{h.Negatives[i], r.Drawn, false})
		}
	}
	return list
}

// chosen returns the scores of the positives that were not drawn; of all if there are no others.
func (s *Sample) chosen(h *Scores) (scores []float64) {
	for i, r := range s.Positives {
		if r.Drawn == 0 {
			scores = append(scores, h.Positives[i])
		}
	}
	if scores == nil {
		return h.Positives
	}
	return scores
}

// atMost is the upper limit of a .9 interval, normal approximation, of the share on topic in the population of drawn pages, whose
// estimate from positives is given.
func atMost(estimate float64, drawn []answer) float64 {
	share, n := posterior(estimate, drawn)
	return share + 1.645*math.Sqrt(share*(1-share)/(n+1))
}

// posterior returns the mean of a beta distribution of the share on topic in the population of drawn pages, and its two parameters'
// sum, the number of pages that it is worth.
func posterior(estimate float64, drawn []answer) (share, n float64) {
	on := trusted * estimate
	n = trusted
	for _, a := range drawn {
		n += a.weight
		if a.on {
			on += a.weight
		}
	}
	return on / n, n
}

// calibrateDrawn is Calibrate with answers. The prior is estimated with the curve, as the mean of f over the unlabelled pages: so
// answers about pages of another population, such as those that a crawl has selected, count for what pages of their scores are in this
// one. Their likelihood is multiplied by the presence-only one and by a beta distribution of the prior around its estimate from positives.
func calibrateDrawn(ctx context.Context, positives, unlabelled []float64, drawn []answer, estimate float64) (Curve, float64, error) {
	mean, unit := moments(unlabelled)
	if unit == 0 {
		prior, _ := posterior(estimate, drawn)
		return Curve{Intercept: math.Log(prior / (1 - prior))}, prior, nil
	}
	l := joint{presenceLikelihood{positives, unlabelled, estimate, mean, unit}, drawn}
	x, err := minimise(ctx, []float64{math.Log(likely), math.Log(estimate / (1 - estimate))}, l.value, l.slope)
	if err != nil {
		return Curve{}, 0, err
	}
	prior, _ := l.share(x)
	slope := math.Exp(x[0]) / unit
	return Curve{Slope: slope, Intercept: x[1] - slope*mean}, prior, nil
}

// joint is a presenceLikelihood, whose prior is an estimate, and drawn pages.
type joint struct {
	presenceLikelihood
	drawn []answer
}

// odds returns the log odds of a score, and its derivatives.
func (l *presenceLikelihood) odds(score float64, x []float64) (z float64, by [2]float64) {
	by = [2]float64{math.Exp(x[0]) * (score - l.mean) / l.unit, 1}
	return by[0] + x[1], by
}

// least keeps a share away from 0 and 1, where its logarithm ends.
const least = 1e-12

// share returns the mean of f over the unlabelled pages, and its derivatives.
func (l *joint) share(x []float64) (share float64, by [2]float64) {
	n := float64(len(l.unlabelled))
	for _, s := range l.unlabelled {
		z, dz := l.odds(s, x)
		f := logistic(z)
		share += f / n
		for i := range by {
			by[i] += f * (1 - f) * dz[i] / n
		}
	}
	return min(max(share, least), 1-least), by
}

// at returns the presence-only likelihood at the curve's own prior.
func (l *joint) at(prior float64) *presenceLikelihood {
	p := l.presenceLikelihood
	p.prior = prior
	return &p
}

func (l *joint) value(x []float64) float64 {
	prior, _ := l.share(x)
	sum := -trusted * (l.prior*math.Log(prior) + (1-l.prior)*math.Log1p(-prior))
	for _, a := range l.drawn {
		z, _ := l.odds(a.score, x)
		page := labelled{weight: a.weight, yes: a.on}
		v, _ := page.loss(z)
		sum += v
	}
	return l.at(prior).value(x) + sum/float64(len(l.positives))
}

func (l *joint) slope(slope, x []float64) {
	n := float64(len(l.positives))
	prior, share := l.share(x)
	p := l.at(prior)
	p.slope(slope, x)
	byPrior := p.byPrior(x) - trusted*(l.prior/prior-(1-l.prior)/(1-prior))/n
	for i := range slope {
		slope[i] += byPrior * share[i]
	}
	for _, a := range l.drawn {
		z, dz := l.odds(a.score, x)
		page := labelled{weight: a.weight, yes: a.on}
		_, d := page.loss(z)
		for i := range slope {
			slope[i] += d / n * dz[i]
		}
	}
}

// byPrior is the derivative of the value by the prior.
func (l *presenceLikelihood) byPrior(x []float64) (sum float64) {
	for _, s := range l.positives {
		z, _ := l.odds(s, x)
		sum += 1 / (logistic(z) + l.prior) / float64(len(l.positives))
	}
	for _, s := range l.unlabelled {
		z, _ := l.odds(s, x)
		sum += (1/(logistic(z)+l.prior) - 1/l.prior) / float64(len(l.unlabelled))
	}
	return sum
}
