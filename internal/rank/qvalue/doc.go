// Package qvalue is the comparator of Rennie & McCallum, "Using Reinforcement Learning to Spider the Web
// Efficiently" (1999): a link is worth the targets that can be fetched behind it, the later the less, and naive Bayes
// tells that worth from the words around the link.
//
//	known web, targets → Values: Q of every page
//	pages, Q of their links → Train → Model → file → Guide: page → scores
//
// # What a page is worth
//
// A crawler that knows the web fetches v, then goes, again and again, the shortest way to the nearest target
// that it has not fetched, a page at a time and from any page that it has fetched (ties: the page fetched
// first, then the first link). With the i-th page fetched after v, i = 0 for v itself,
//
//	Q(v) = Σ_i γ^i · [the i-th page is a target]        in [0, 1/(1−γ)], γ = .5
//
// # What a link says of it
//
// Values are sorted into bins: bin i < k−1 has those of at least γ^i that are in none before, so that it says
// that the nearest target is i pages behind the link; the last bin has the rest. k = 3. Naive Bayes gives the
// probability of each bin from the words of the link, of what stands around it and of the page's title, each
// a feature of its own; a link scores (1−γ) · Σ_bins Pr(bin | words) · (mean Q of the bin's links), in [0,1].
//
// It reads words of the page alone, no URL, no critic and no path. It is to be trained on other sites than
// it crawls.
//
// # Decisions
//
// 2026-11-21: the paper reads headings, too. They are not in schemas.Page; what stands around the link is.
//
// 2026-11-21: the paper leaves open where bins part. At powers of γ they have a meaning, and their number is not
// bound to how rare targets are.
package qvalue
