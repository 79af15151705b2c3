// Package bayes is multinomial naive Bayes with Laplace smoothing (2002 §2.3; Nigam et al.):
//
//	θ(c,τ) = (1 + Σ_{u∈Vc} n(u,τ)) / (|T| + Σ_{u∈Vc,τ'} n(u,τ'))
//	Pr(c|u) ∝ Pr(c) Π_τ θ(c,τ)^n(u,τ)
//
// Pr(c) is the fraction of training documents labelled c; |T| is the number of features that occur in training,
// in any class. Features that do not occur in training are ignored.
//
// Counts are integers: the same documents give the same Counts in any order. A Model is the logarithms of them,
// and a Table is its form in files. As log θ(c,τ) = log(1 + n(c,τ)) − log(|T| + n(c)), and the first term is
// zero wherever a feature never occurs in a class, only features seen in a class are stored and added: time and
// memory follow the pairs (feature, class) seen, not their product.
//
// # Tempering
//
// Posteriors of long pages saturate (2002 Fig. 5). The tempered posterior divides the log likelihood, not the
// prior, by max(1, length/100), so that a page is worth 100 words of evidence at most; length counts the words
// that the likelihood counts, those seen in training.
package bayes
