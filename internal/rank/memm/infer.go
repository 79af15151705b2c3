package memm

import "math"

// Belief is the distribution of the state of the last page of a path: α of eq. 4 as probabilities (Marginal), or δ of eq. 6
// (Viterbi) scaled to the sum 1, which keeps their order. Its length is k; nil is the beginning of a path.
type Belief []float64

// Marginal extends a path by one page: α(s',t) = Σ_s α(s,t−1) p(s'|s,o).
func (m *Model) Marginal(before Belief, o *Observation) Belief {
	return m.step(before, o, func(sum, p float64) float64 { return sum + p })
}

// Viterbi extends a path by one page: δ(s',t) = max_s δ(s,t−1) p(s'|s,o).
func (m *Model) Viterbi(before Belief, o *Observation) Belief {
	return m.step(before, o, math.Max)
}

func (m *Model) step(before Belief, o *Observation, join func(a, b float64) float64) Belief {
	k := m.settings.States
	next, row := make(Belief, k), make([]float64, k)
	if before == nil {
		m.settings.transition(row, m.weights, m.settings.start(), o)
		for i, v := range row {
			next[i] = math.Exp(v)
		}
		return next
	}
	common := make([]float64, k)
	m.settings.state(common, m.weights, o)
	for s, p := range before {
		copy(row, common)
		m.settings.edge(row, m.weights, s, o)
		normalise(row)
		for i, v := range row {
			next[i] = join(next[i], p*math.Exp(v))
		}
	}
	var sum float64
	for _, v := range next {
		sum += v
	}
	for i := range next {
		next[i] /= sum
	}
	return next
}

// Discount returns Σ_i γ^i b(T_i), the expected discount of the distance from a target, in (0,1]; one of the two orders of
// links.
func (b Belief) Discount(gamma float64) float64 {
	var sum float64
	weight := 1.0
	for _, p := range b {
		sum += weight * p
		weight *= gamma
	}
	return sum
}

// lexicographicSteps is the resolution of probabilities in Lexicographic.
const lexicographicSteps = 1 << 10

// Lexicographic is the other order: the link whose page is more likely a target comes first, of equal ones that whose page
// is more likely one click from a target, and so on; probabilities that differ by less than 1/1024 are equal. The result is
// in [0,1]; there may be at most 5 states.
func (b Belief) Lexicographic() float64 {
	var sum float64
	weight := 1.0
	for _, p := range b {
		weight /= lexicographicSteps
		sum += weight * math.Min(lexicographicSteps-1, math.Floor(p*lexicographicSteps))
	}
	return sum
}
