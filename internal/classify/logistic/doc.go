// Package logistic is multinomial logistic regression over sparse documents. Unlike naive Bayes it weighs words
// jointly, and its probabilities do not saturate on long pages.
//
//	Pr(c|u) = exp(b_c + Σ_f W(f,c)·x_f) / Σ_c' exp(…)
//
// Fit minimises mean cross entropy + λ/2·‖W‖² by averaged stochastic gradient descent over small batches
// (Bottou, "Stochastic Gradient Descent Tricks", 2012, §5). Documents are best given as unit vectors. Features
// are numbers; the caller maps words to numbers and gives them values.
//
// Examples are fitted in blocks: the weights are read and written once for each block, however many batches it
// has, and the inner products of its examples give each batch the scores that it would have after the moves
// before it. Workers share the classes, and each sum is computed in the order of the block, so the weights have
// the same bits for any number of workers.
//
// Pack rounds a Model to two bytes a weight, the form of files. Packed.Scores computes in integers, so scores
// have the same bits on every machine (docs/decisions/0301, 0050).
package logistic
