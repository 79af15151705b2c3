// Package logistic is multinomial logistic regression over sparse documents: a judge of pages
// that weighs words against one another where naive Bayes counts them one by one, and whose
// probabilities do not saturate on long pages.
//
//	Pr(c|u) = exp(b_c + Σ_f W(f,c)·x_f) / Σ_c' exp(…)
//
// Fit minimises mean cross entropy + λ/2·‖W‖² by averaged stochastic gradient descent (Bottou,
// "Stochastic Gradient Descent Tricks", 2012, §5). Documents are best given as unit vectors.
//
// # Decisions
//
// 2026-11-21: gradient descent over small batches, not a quasi-Newton method: 500 classes times
// 200,000 features leave no room for ten copies of the weights, and held-out
// log loss falls no further after some epochs.
//
// Examples are fitted in blocks, which read and write each weight once, however many batches they have; a block's inner
// products give each batch the scores that it would have if the weights had moved before. Workers share the
// classes, each sum in the order of the block, so the weights are the same bits for any number of workers.
//
// 2026-11-21: files keep two bytes a weight (Packed): 500 classes times 200,000 features are 200 MB,
// and the scores of documents differ by less than a thousandth.
//
// 2026-11-21: documents are scored in integers (Packed.Scores), which is quicker than turning each weight
// into a floating-point number, and the same bits on every machine.
//
// 2026-11-21: features are numbers; who turns words into numbers (by hashing, with which
// weights) is the caller's business.
package logistic
