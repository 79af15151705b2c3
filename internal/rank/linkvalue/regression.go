package linkvalue

import (
	"math"
	"slices"
)

// vector has a number for each feature.
type vector [features]float64

// Features of a URL; see the package's documentation. Those before meanYield are the greatest among the links to it, the others of all links together.
const (
	bestYield = iota
	near
	rank
	topicRank
	anchor
	relevance
	meanYield
	agreement
	sources
	tried
	order
	meanRank
	meanOdds
	path
	ofWords
	constant
	features
)

// Names are those of the features in explanations.
var Names = [features]string{
	bestYield: "yield", near: "near", rank: "rank", topicRank: "topic-rank", anchor: "anchor", relevance: "relevance", meanYield: "mean-yield",
	agreement: "agreement", sources: "sources", tried: "tried", order: "order", meanRank: "mean-rank", meanOdds: "mean-odds", path: "path", ofWords: "words",
	constant: "constant",
}

// Weights without observations, of the R of a URL and of what is behind it.
var (
	valueStart = vector{
		bestYield: 3, near: 1.5, rank: .5, topicRank: .25, anchor: 1, relevance: .5, meanYield: 1, agreement: 1, tried: -.7, order: -2, meanRank: 1,
		path: 2.5, ofWords: 3, constant: -2.5,
	}
	behindStart = vector{anchor: 1, order: -1, constant: -1.5}
)

// littleReward is the mean R of pages below which the order in which URLs were found has little weight.
const littleReward = .02

// ofLink returns the features of a URL by one link.
func (e *edge) ofLink() [meanYield]float64 {
	return [meanYield]float64{e.from.yield, e.from.near(e.index), e.from.rank, e.from.topicRank, e.anchor, e.from.relevance}
}

// features returns those of a URL, all but the constant 0 for one without links.
func (r *Ranker) features(t *target) (x vector) {
	x[constant] = 1
	if len(t.edges) == 0 {
		return x
	}
	mean := r.rewards.mean()
	n, base, least := float64(len(t.edges)), logit(mean), math.Inf(1)
	for i, e := range t.edges {
		of := e.ofLink()
		for k, value := range of {
			if i == 0 || value > x[k] {
				x[k] = value
			}
		}
		x[meanYield] += of[bestYield] / n
		x[agreement] += e.from.yieldOdds - base
		x[meanRank] += of[rank] / n
		x[meanOdds] += e.from.relevanceOdds / 4 / n
		least = min(least, float64(len(e.from.outcomes)))
	}
	x[agreement] = squash(x[agreement] / 4 / math.Sqrt(n))
	x[sources] = math.Log(n)
	x[tried] = math.Log1p(least)
	if r.urls {
		x[path], x[ofWords] = r.parts.path(t.url, mean, base), r.parts.words(t.url, mean, base)
	}
	x[order] = math.Log1p(float64(t.number)) / 5 * mean / (mean + littleReward)
	return x
}

const (
	// mostExamples pages, the last ones, are learned from.
	mostExamples = 2000
	// steps of Newton's method at most, none of which changes a weight by more than mostStep; leastStep ends it, and so many halvings of a step do.
	steps, mostStep, leastStep, halvings = 4, 2, 1e-3, 10
)

// ridge returns the number of pages that the start of a weight counts as.
func ridge(feature int) float64 {
	switch feature {
	case path, ofWords: // small numbers, of which some webs need a weight unlike the start
		return 2
	case constant:
		return .1
	}
	return 10
}

// examples are the pages fetched last.
type examples struct {
	x      []vector
	r      []float64
	behind []*behind
	oldest int
}

// add adds a page that was fetched.
func (e *examples) add(x *vector, r float64, b *behind) {
	if len(e.x) < mostExamples {
		e.x, e.r, e.behind = append(e.x, *x), append(e.r, r), append(e.behind, b)
		return
	}
	e.x[e.oldest], e.r[e.oldest], e.behind[e.oldest] = *x, r, b
	e.oldest = (e.oldest + 1) % mostExamples
}

// regression is a generalised linear model with a Gaussian prior around start.
type regression struct {
	start, weights vector
	// mean is what is expected with a linear predictor, and its derivative; integral that of the mean.
	mean     func(z float64) (mean, slope float64)
	integral func(z, mean float64) float64
}

// logistic is for R, in (0,1).
func logistic(start vector) regression {
	return regression{start, start, func(z float64) (mean, slope float64) {
		p := sigmoid(z)
		return p, p * (1 - p)
	}, func(z, _ float64) float64 { return max(z, 0) + math.Log1p(math.Exp(-math.Abs(z))) }}
}

// exponential is for numbers of pages, at most about 20.
func exponential(start vector) regression {
	const most = 3
	return regression{start, start, func(z float64) (mean, slope float64) {
		n := math.Exp(min(z, most))
		return n, n
	}, func(z, mean float64) float64 { return mean * (1 + max(0, z-most)) }}
}

func (g *regression) of(x *vector) float64 {
	mean, _ := g.mean(dot(&g.weights, x))
	return mean
}

// fit goes some steps of Newton's method from the weights so far toward the best ones for observations y. Steps to a greater loss are halved: beyond
// its bound the mean of exponential is flatter than its slope, and whole steps may go back and forth.
func (g *regression) fit(xs []vector, y []float64) {
	at := make([]point, len(xs))
	loss := g.loss(xs, y, at)
	for range steps {
		step := g.step(xs, y, at)
		most := max(slices.Max(step[:]), -slices.Min(step[:]))
		before, least, share := g.weights, loss, min(1, mostStep/most)
		for n := 0; ; n++ {
			for i, d := range step {
				g.weights[i] = before[i] + share*d
			}
			if most < leastStep {
				return
			}
			if loss = g.loss(xs, y, at); loss <= least {
				break
			}
			if n == halvings {
				g.weights = before
				return
			}
			share /= 2
		}
	}
}

// point is the mean of an observation, and its derivative.
type point struct{ mean, slope float64 }

// loss returns that of the weights, and sets at for step.
func (g *regression) loss(xs []vector, y []float64, at []point) (loss float64) {
	for i, w := range g.weights {
		loss += ridge(i) / 2 * (w - g.start[i]) * (w - g.start[i])
	}
	for n := range xs {
		z := dot(&g.weights, &xs[n])
		mean, slope := g.mean(z)
		at[n] = point{mean, slope}
		loss += g.integral(z, mean) - y[n]*z
	}
	return loss
}

// step returns that of Newton's method.
func (g *regression) step(xs []vector, y []float64, at []point) vector {
	var a [features][features]float64
	var b vector
	for i := range a {
		a[i][i], b[i] = ridge(i), ridge(i)*(g.start[i]-g.weights[i])
	}
	// Four observations at once, in their order, take half the time: the matrix is read and written less often.
	var none vector
	for n := 0; n < len(at); n += 4 {
		x := [4]*vector{&none, &none, &none, &none}
		var off, by [4]float64
		for k := range min(4, len(at)-n) {
			p := at[n+k]
			x[k], off[k], by[k] = &xs[n+k], y[n+k]-p.mean, max(p.slope, 1e-3)
		}
		x0, x1, x2, x3 := x[0], x[1], x[2], x[3]
		for i := range b {
			b[i] = b[i] + off[0]*x0[i] + off[1]*x1[i] + off[2]*x2[i] + off[3]*x3[i]
			c0, c1, c2, c3 := by[0]*x0[i], by[1]*x1[i], by[2]*x2[i], by[3]*x3[i]
			row := &a[i]
			for j := range i + 1 {
				row[j] = row[j] + c0*x0[j] + c1*x1[j] + c2*x2[j] + c3*x3[j]
			}
		}
	}
	rows := make([][]float64, features)
	for i := range a {
		rows[i] = a[i][:]
		for j := range i {
			a[j][i] = a[i][j]
		}
	}
	solve(rows, b[:])
	return b
}

// solve sets b to the solution of a·x = b, for a positive definite matrix, which it overwrites.
func solve(a [][]float64, b []float64) {
	for i, pivot := range a {
		for k, row := range a {
			if k == i {
				continue
			}
			by := row[i] / pivot[i]
			for j := i; j < len(row); j++ {
				row[j] -= by * pivot[j]
			}
			b[k] -= by * b[i]
		}
	}
	for i := range b {
		b[i] /= a[i][i]
	}
}

func dot(a, b *vector) (sum float64) {
	for i, x := range a {
		sum += x * b[i]
	}
	return sum
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// logit returns the log odds of a probability, which is taken for one in [.005,.995].
func logit(p float64) float64 {
	p = min(max(p, .005), .995)
	return math.Log(p / (1 - p))
}
