package bayes

import "math"

// TemperLength is L of the tempered posterior: the words a page is worth at most.
const TemperLength = 100

// Model scores documents. It is safe for concurrent use.
type Model struct {
	prior       []float64 // log Pr(c); −∞ for a class without documents
	denominator []float64 // log(|T| + tokens of c)
	start       []uint32  // as in Counts
	class       []uint16
	gain        []float64 // log(1 + n(c,τ)), beside class
}

// Model takes the logarithms. Where no class has a document, all are equally likely.
func (c *Counts) Model() *Model {
	m := &Model{
		prior:       make([]float64, len(c.Documents)),
		denominator: make([]float64, len(c.Documents)),
		start:       c.Start,
		class:       c.Class,
		gain:        make([]float64, len(c.N)),
	}
	tokens := make([]uint64, len(c.Documents))
	for i, n := range c.N {
		tokens[c.Class[i]] += n
		m.gain[i] = math.Log(1 + float64(n))
	}
	var documents uint64
	for _, n := range c.Documents {
		documents += n
	}
	vocabulary := c.Vocabulary()
	for k, n := range c.Documents {
		if documents > 0 {
			m.prior[k] = math.Log(float64(n) / float64(documents))
		}
		// An empty vocabulary never meets a known word; its denominator is never used.
		m.denominator[k] = math.Log(max(1, float64(vocabulary)+float64(tokens[k])))
	}
	return m
}

// Classes returns the number of classes.
func (m *Model) Classes() int { return len(m.prior) }

// LogPrior returns log Pr(c), −∞ for a class without documents.
func (m *Model) LogPrior(class int) float64 { return m.prior[class] }

// Known reports whether a feature occurs in training.
func (m *Model) Known(feature uint32) bool {
	return int(feature)+1 < len(m.start) && m.start[feature] < m.start[feature+1]
}

// LogLikelihood sets dst, one number a class, to Σ_τ n(τ)·log θ(c,τ) over the features that
// occur in training, and returns Σ_τ n(τ) over them.
func (m *Model) LogLikelihood(dst []float64, document *Bag) (known uint64) {
	clear(dst)
	for i, f := range document.Features {
		if int(f)+1 >= len(m.start) {
			continue
		}
		lo, hi := m.start[f], m.start[f+1]
		if lo == hi {
			continue
		}
		known += uint64(document.Counts[i])
		n := float64(document.Counts[i])
		gain := m.gain[lo:hi]
		for j, k := range m.class[lo:hi] {
			dst[k] += float64(n * gain[j]) // the conversion forbids fusing: same bits on every machine
		}
	}
	for k := range dst {
		dst[k] -= float64(float64(known) * m.denominator[k])
	}
	return known
}

// Temper returns the divisor of the log likelihood of a document of that many known words.
func Temper(known uint64) float64 { return max(1, float64(known)/TemperLength) }

// Posterior sets dst to Pr(c|u), which sums to 1, given the log likelihood of u and its
// divisor: 1 for the raw posterior, Temper(known) for the tempered one. dst and likelihood may
// be the same slice.
func (m *Model) Posterior(dst, likelihood []float64, divisor float64) {
	top := math.Inf(-1)
	for k, l := range likelihood {
		dst[k] = m.prior[k] + l/divisor
		top = max(top, dst[k])
	}
	var sum float64
	for k, l := range dst {
		dst[k] = math.Exp(l - top)
		sum += dst[k]
	}
	for k := range dst {
		dst[k] /= sum
	}
}
