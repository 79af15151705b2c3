package linkvalue

import "math"

// vector has a number for each feature.
type vector [features]float64

// Features of a URL; see the package's documentation.
const (
	constant = iota
	bestYield
	meanYield
	bestNear
	meanNear
	bestRank
	meanRank
	bestTopicRank
	meanTopicRank
	bestAnchor
	meanAnchor
	bestRelevance
	meanRelevance
	sources
	tried
	order
	features
)

// start are the weights without observations.
var start = vector{
	constant: -3, bestYield: 3, meanYield: 1, bestNear: 1.5, bestRank: .5, bestTopicRank: .25, bestAnchor: 1, bestRelevance: .5,
	tried: -.7, order: -3,
}

// features returns those of a URL with sources.
func (r *Ranker) features(t *target) (x vector) {
	x[constant] = 1
	if len(t.edges) == 0 {
		return x
	}
	share := 1 / float64(len(t.edges))
	x[bestAnchor], x[tried] = math.Inf(-1), math.Inf(1)
	both := func(of int, value float64) {
		x[of] = max(x[of], value)
		x[of+1] += share * value
	}
	for _, e := range t.edges {
		both(bestYield, e.from.yield())
		both(bestNear, e.from.near(e.index))
		both(bestRank, e.from.rank)
		both(bestTopicRank, e.from.topicRank)
		both(bestAnchor, e.anchor)
		both(bestRelevance, e.from.relevance)
		x[tried] = min(x[tried], float64(len(e.from.outcomes)))
	}
	x[sources] = math.Log(float64(len(t.edges)))
	x[tried] = math.Log1p(x[tried])
	x[order] = math.Log1p(float64(t.number)) / 5
	return x
}

const (
	// mostExamples pages, the last ones, are learned from.
	mostExamples = 2000
	// ridge is the number of pages that the start counts as, for each weight but the constant.
	ridge, constantRidge = 10, .1
	// steps of Newton's method at most, none of which changes a weight by more than mostStep; leastStep ends it.
	steps, mostStep, leastStep = 4, 2, 1e-3
)

// regression is a logistic regression with a Gaussian prior around start.
type regression struct {
	weights vector
	x       []vector
	y       []float64
	oldest  int
}

func newRegression() regression { return regression{weights: start} }

// add adds a page that was fetched, with its R.
func (g *regression) add(x *vector, y float64) {
	if len(g.x) < mostExamples {
		g.x, g.y = append(g.x, *x), append(g.y, y)
		return
	}
	g.x[g.oldest], g.y[g.oldest] = *x, y
	g.oldest = (g.oldest + 1) % mostExamples
}

// fit goes some steps from the weights so far toward the best ones.
func (g *regression) fit() {
	for range steps {
		var a [features][features]float64
		var b vector
		for i := range a {
			by := float64(ridge)
			if i == constant {
				by = constantRidge
			}
			a[i][i], b[i] = by, by*(start[i]-g.weights[i])
		}
		for n := range g.x {
			x := &g.x[n]
			p := sigmoid(dot(&g.weights, x))
			curvature := max(p*(1-p), 1e-3)
			for i := range x {
				b[i] += (g.y[n] - p) * x[i]
				cx := curvature * x[i]
				for j := range i + 1 {
					a[i][j] += cx * x[j]
				}
			}
		}
		rows := make([][]float64, features)
		for i := range a {
			for j := range i {
				a[j][i] = a[i][j]
			}
			rows[i] = a[i][:]
		}
		solve(rows, b[:])
		var most float64
		for i, step := range b {
			g.weights[i] += min(max(step, -mostStep), mostStep)
			most = max(most, math.Abs(step))
		}
		if most < leastStep {
			return
		}
	}
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
