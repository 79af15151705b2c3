// Package contextgraph classifies pages by their distance in clicks from a target: the layer classifiers of
// context-focused crawling (Diligenti, Coetzee, Lawrence, Giles & Gori 2000, §3.2).
//
//	pages and a local graph → Train → Model → Classify: a layer, or Other
//
// The vocabulary V is the words of the master document: all pages of layer 0, optionally of layer 1. The weight of a
// word of a page is v(w) = f_d(w)/fmax_d · log(N/f(w)) (eq. 1), with the training pages as reference corpus; fmax_d is
// over all words of the page, not only those of V. A page is reduced to the counts of its 40 words of V with the
// largest weights (ties: by the sorted order of V, so that the order of the page's words does not matter). A word that
// occurs in every page of the corpus has the weight 0.
//
// Each layer has a naive Bayes model of its pages, each counted as often as it is in the layer (eq. 4); all layers have
// the prior 1/C. The score of a page in a layer is its mean log-likelihood per word, or with Settings.Raw the sum of
// eq. 3, which favours short pages. The layer with the highest score is the page's, unless that score is below the
// threshold of the layer: then the page is "other", as is a page without a word of V. The threshold is the lowest score
// of the layer's own training pages; with Settings.Quantile it is a quantile of held-out scores.
//
// A layer none of whose pages has a word of V is never chosen: its model would be uniform, and every page would reach
// its threshold.
//
// Documents are words with counts. Package text decides what a word is (stop words, Porter's stems).
package contextgraph
