package linkvalue

import (
	"math"
	"slices"

	"github.com/cespare/xxhash/v2"

	"forager/schemas"
)

// source is a page that was fetched, while some of its links wait.
type source struct {
	relevance        float64 // calibrated R
	relevanceOdds    float64 // logit of it
	odds, topicOdds  float64
	rank, topicRank  float64 // of these among the pages fetched, in (0,1)
	inherited, prior float64
	yield, yieldOdds float64   // the mean R expected of its links, and the logit of it
	sum              float64   // Σ R of its links that were fetched
	outcomes         []outcome // of these, by index
	waiting          []*target // in the order of its links
	behind           *behind
	url              uint64 // hash
}

// outcome is R of the target of a link that was fetched.
type outcome struct {
	Index int
	R     float64
}

func newSource(rec *schemas.LinkFound) *source {
	j := rec.GetJudgement()
	s := &source{relevance: j.GetCalibrated(), relevanceOdds: logit(j.GetCalibrated()), behind: new(behind), url: HashOf(rec.GetUrl())}
	s.odds, s.topicOdds = schemas.LogOddsOf(j)
	return s
}

// HashOf is what explanations name a page by.
func HashOf(url string) uint64 { return xxhash.Sum64String(url) }

// credit notes what a link of the source led to.
func (s *source) credit(index int, r float64) {
	at, _ := slices.BinarySearchFunc(s.outcomes, index, func(o outcome, i int) int { return o.Index - i })
	s.outcomes = slices.Insert(s.outcomes, at, outcome{index, r})
	s.sum += r
	s.expect(s.prior)
}

func (s *source) remove(t *target) {
	if i := slices.Index(s.waiting, t); i >= 0 {
		s.waiting = slices.Delete(s.waiting, i, i+1)
	}
}

// priorPages is how many fetched links a prior counts as.
const priorPages = 2

// expect sets the prior of the source, and the yield that follows from it.
func (s *source) expect(prior float64) {
	s.prior = prior
	s.yield = (priorPages*prior + s.sum) / (priorPages + float64(len(s.outcomes)))
	s.yieldOdds = logit(s.yield)
}

// reach is how far a link counts for its neighbours, in links, and scale how fast it counts less.
const reach, scale = 15, 5

// nearness is by the distance of links.
var nearness = func() (by [reach + 1]float64) {
	for d := range by {
		by[d] = math.Exp(-float64(d) / scale)
	}
	return by
}()

// near is the mean R expected of a link by the links near it; the source's yield counts as two of them.
func (s *source) near(index int) float64 {
	if len(s.outcomes) == 0 {
		return s.yield
	}
	const before = 2
	weight, sum := float64(before), before*s.yield
	at, _ := slices.BinarySearchFunc(s.outcomes, index-reach, func(o outcome, i int) int { return o.Index - i })
	for _, o := range s.outcomes[at:] {
		if o.Index > index+reach {
			break
		}
		k := nearness[max(o.Index-index, index-o.Index)]
		weight += k
		sum += k * o.R
	}
	return sum / weight
}

// ranks are the log odds of the pages fetched last.
type ranks struct{ all, topics sample }

// mostRanked pages are kept.
const mostRanked = 4096

// sample are numbers in the order of their arrival, at most mostRanked, and sorted.
type sample struct {
	last   []float64
	oldest int
	sorted []float64
}

func (s *sample) add(x float64) {
	if len(s.last) < mostRanked {
		s.last = append(s.last, x)
	} else {
		at, _ := slices.BinarySearch(s.sorted, s.last[s.oldest])
		s.sorted = slices.Delete(s.sorted, at, at+1)
		s.last[s.oldest] = x
		s.oldest = (s.oldest + 1) % mostRanked
	}
	at, _ := slices.BinarySearch(s.sorted, x)
	s.sorted = slices.Insert(s.sorted, at, x)
}

// rank is the share of numbers below x, of equal ones half.
func (s *sample) rank(x float64) float64 {
	below, _ := slices.BinarySearch(s.sorted, x)
	above, _ := slices.BinarySearchFunc(s.sorted, x, func(y, x float64) int {
		if y <= x {
			return -1
		}
		return 1
	})
	return (float64(below+above)/2 + .5) / float64(len(s.sorted)+1)
}

// add adds a page, and sets its ranks.
func (r *ranks) add(s *source) {
	r.all.add(s.odds)
	r.topics.add(s.topicOdds)
	r.set(s)
}

func (r *ranks) set(s *source) { s.rank, s.topicRank = r.all.rank(s.odds), r.topics.rank(s.topicOdds) }

// prior is the mean R expected of the links of a source of which none was fetched: linear in 1, its ranks and what it
// inherits.
type prior struct{ weights [4]float64 }

// priorStart are the weights of the prior without observations, which count as priorRidge of them.
var priorStart = [4]float64{0, .35, .15, .4}

const priorRidge = 3

func priorFeatures(s *source) [4]float64 { return [4]float64{1, s.rank, s.topicRank, s.inherited} }

func (p *prior) of(s *source) (sum float64) {
	for i, x := range priorFeatures(s) {
		sum += p.weights[i] * x
	}
	return min(max(sum, .01), .99)
}

// fit fits the weights to the sources with links that were fetched.
func (p *prior) fit(sources []*source) {
	var a [4][4]float64
	var b [4]float64
	for i := range a {
		a[i][i], b[i] = priorRidge, priorRidge*priorStart[i]
	}
	for _, s := range sources {
		n := float64(len(s.outcomes))
		if n == 0 {
			continue
		}
		x := priorFeatures(s)
		weight := n / (n + priorPages)
		for i := range x {
			for j := range x {
				a[i][j] += weight * x[i] * x[j]
			}
			b[i] += weight * x[i] * s.sum / n
		}
	}
	rows := make([][]float64, len(a))
	for i := range a {
		rows[i] = a[i][:]
	}
	solve(rows, b[:])
	p.weights = b
}
