// Package memm predicts how far the pages behind a link are from a target by the path that led to
// the link: maximum-entropy Markov models (McCallum, Freitag & Pereira 2000) as used for focused crawling by Liu,
// Milios & Janssen (2008).
//
//	local graph → Sequences → Train → Model → Marginal or Viterbi along a path → Priority
//
// A page's hidden state is its distance from a target, T0 (a target) to T(k−1); START stands before
// the first page of a path. What is seen of a page is an Observation: numbers by index, most of them 0
// or 1 (a keyword is in the text, in the anchor …). Then
//
//	p(s'|s,o) ∝ exp Σ_i λ_i f_i(s,s',o),  f = L(s,s')·O(o)
//
// where L is L2 (s' alone), and with Settings.Edges also L1 (the pair s, s'); L2 and L1 also stand
// alone, with an observation of 1. Weights maximise the log-likelihood of the training sequences, less
// Σ λ²/2σ², by L-BFGS (gonum/optimize). Sequences have every transition as its own softmax, so the function is
// concave and what is found is its one maximum.
//
// # Decisions
//
// 2026-11-21: START has no observation of its own but weights of its own (L1): it is the state before the first
// page, and p(s_1|START,o_1) is learnt like every other transition.
//
// 2026-11-21: the sums of a gradient are made in chunks of a fixed size and added in their order, so that the
// weights are the same whatever the number of processors.
//
// 2026-11-22: a sum is made once for each distinct observation, with counts of the transitions that it was
// seen on: 10,000 walks over one graph are some 50,000 steps, and of the frozen webs 200 to 3,300 distinct
// ones. Whoever makes sequences shares what is the same (Train).
package memm
