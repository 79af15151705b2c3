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
// 200,000 features leave no room for ten copies of the weights, and after ten epochs held-out
// log loss no longer falls.
//
// 2026-11-21: a batch is judged in parallel by example and applied in parallel by feature, each
// sum in the order of the batch. So the weights are the same bits for any number of workers.
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
