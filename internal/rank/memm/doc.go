// Package memm predicts how many clicks a link is from a target by the path that led to the link:
// maximum-entropy Markov models (McCallum, Freitag & Pereira 2000) as used for focused crawling by Liu, Milios & Janssen
// (2008).
//
//	local graph → Sample → Train → Model → Marginal or Viterbi along a path → Discount or Lexicographic
//
// The hidden state of a page is its distance from a target, T0 (a target) to T(k−1); START is the state before the first
// page of a path. What is seen of a page is an Observation: numbers by index, most of them 0 or 1 (a keyword is in the
// text, in the anchor …). Then
//
//	p(s'|s,o) ∝ exp Σ_i λ_i f_i(s,s',o),  f = L(s,s')·O(o)
//
// where L is L2 (s' alone), and with Settings.Edges also L1 (the pair s, s'). L2 and L1 also occur without an observation,
// that is, with an observation of 1. START has weights (L1) and no observation: p(s_1|START,o_1) is learned like every
// other transition.
//
// The weights maximise the log-likelihood of the training sequences less Σ λ²/2σ², by L-BFGS (gonum/optimize). Each
// transition is a softmax of its own, so the function is concave and has one maximum. Sums of a gradient are made in chunks
// of a fixed size and added in order, so the weights do not depend on the number of processors.
//
// A sum is made once for each distinct *Observation, with the number of times that it was seen on each transition: walks
// over one graph see the same pages many times. The caller of Train shares equal observations between sequences.
package memm
