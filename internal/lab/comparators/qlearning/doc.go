// Package qlearning is a guide after Rennie & McCallum, "Using Reinforcement Learning to Spider the Web Efficiently" (1999):
// the value of a link is the discounted number of targets that can be fetched after it, and naive Bayes predicts that
// value from the words around the link. It is a comparator for experiments.
//
//	known web, targets → Values: Q of every page
//	pages, Q of their links → Training → Model → Guide: page → scores
//
// # Value of a page
//
// A crawler with the whole graph of the web fetches v. Then, again and again, it goes the shortest way to the nearest target that it has
// not fetched, a page at a time and from any page that it has fetched (ties: the page fetched first, then the first
// link). With the i-th page fetched after v, i = 0 for v itself,
//
//	Q(v) = Σ_i γ^i · [the i-th page is a target]        in [0, 1/(1−γ)], γ = .5
//
// # Score of a link
//
// Values are sorted into k = 3 bins. Bin i < k−1 has the values of at least γ^i that are in no bin before: the nearest
// target is i pages after the link. The last bin has the rest. (The paper leaves open where bins part.) Naive Bayes
// gives the probability of each bin from the words of the link, of the text around it and of the page's title, each a
// feature of its own. The score is (1−γ) · Σ_bins Pr(bin | words) · (mean Q of the bin's links), in [0,1].
//
// The guide reads the words of the page alone: no URL, no critic and no path. The paper also reads headings, which are not
// in schemas.Page. It is meant to be trained on other sites than it crawls.
package qlearning
