// Package propose names the topics of a taxonomy that a few examples fit best (1999, "taxonomy
// selection and refinement": the system proposes the classes where the examples fit best, the user
// marks them as the focus).
//
// A critic says Pr(c|u) of every class c for every example u. For a topic t, which may be internal, Pr(t|u) is
// the sum over the classes at and below it. The score of t is the mean over the examples of
//
//	ln Pr(t|u) − ln Pr(t)
//
// which is, by Bayes' rule, the mean logarithm of how much likelier the example is under t than at large.
// Without the prior the root would always win; with it, a topic above others wins where the examples are
// spread over these. Probabilities are clipped at 5e-4, so that one odd example among ten does not decide.
//
// # Decisions
//
// 2026-11-21: Pr(t) is what the critic says of a page without words. That is the prior of naive Bayes,
// and the best guess of any other judge that tells classes apart.
//
// 2026-11-21: the focus that is proposed covers the examples greedily: the best topic that at least half of those
// not covered fit (Pr(t|u) ≥ ½), or else a tenth of all; topics above and below one another never
// together; four at most.
package propose
