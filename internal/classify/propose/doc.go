// Package propose ranks the topics of a taxonomy by how well a few examples fit them, and proposes a focus
// (1999, "taxonomy selection and refinement": the system proposes the classes where the examples fit best, the
// user marks them as the focus).
//
// A critic gives Pr(c|u) for every class c and example u. For a topic t, which may be internal, Pr(t|u) is the
// sum over the classes at and below it. The score of t is the mean over the examples of
//
//	ln Pr(t|u) − ln Pr(t)
//
// which is, by Bayes' rule, the mean log likelihood ratio of the example under t to that under all topics.
// Without the prior the root would always win; with it, a topic above others wins where the examples are spread
// over these. Probabilities are clipped at 5e-4, so that one odd example among ten does not decide.
//
// Pr(t) is the critic's posterior of a page without words. That is the prior of naive Bayes, and the best
// estimate for any other classifier.
//
// Focus covers the examples greedily: the best topic that at least half of the examples not yet covered fit
// (Pr(t|u) ≥ ½), or else a tenth of all examples; never two topics of which one is above the other; four at
// most.
package propose
