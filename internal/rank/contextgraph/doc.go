// Package contextgraph tells how many clicks a page is from a target: the layer classifiers of
// context-focused crawling (Diligenti, Coetzee, Lawrence, Giles & Gori 2000, §3.2).
//
//	pages and a local graph → Train → Model → Classify: a layer, or Other
//
// The vocabulary V is the words of the master document: all pages of layer 0, optionally of layer 1. A word
// of a page weighs v(w) = f_d(w)/fmax_d · log(N/f(w)) (eq. 1) against a reference corpus made of the training
// pages; the page becomes the counts of its 40 words of V that weigh most. Each layer has a naive Bayes
// model of the pages that lie in it, each counted as often as it does (eq. 4); all layers have the prior 1/C.
//
// The score of a page in a layer is its mean log-likelihood a word, or with Settings.Raw the sum of eq. 3, under
// which short pages win. The layer of the highest score is the page's, unless that score is below the
// layer's threshold: then the page is "other", as is a page without a word of V. The threshold is the lowest
// score that the layer's own training pages have in it; Settings.Quantile takes a quantile of held-out
// scores instead.
//
// # Decisions
//
// 2026-11-21: which words of a page are words (stop words out, Porter's stems) is package text's to say; here
// a document is words with counts. fmax_d is over all words of the page, those outside V, too.
//
// 2026-11-22: a layer none of whose pages has a word of V is never chosen. Its model would be uniform, with a
// threshold that every page meets.
//
// 2026-11-21: words of equal weight are taken in the order of V, which is sorted, so that a page becomes
// the same whatever the order of its words. A word that stands in every page of the corpus weighs 0
// and is taken last.
package contextgraph
