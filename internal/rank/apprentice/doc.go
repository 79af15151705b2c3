// Package apprentice learns, during a crawl, which links lead to relevant pages (Chakrabarti, Punera & Subramanyam
// 2002, §2.2–2.3): a classifier with two classes, low and high, over the features of links (package linkfeature).
//
//	settled leaps → Learner → Model → Pr(high|u,v) of a link
//
// A settled leap (u,v) is one instance: the features of the link and the relevance R(v). A Learner is naive Bayes
// (Counts) or logistic regression (Logistic). A Model of either adds up one weight for each feature of a link; Page
// scores many links of one page. The file of a learner holds all that it has learned, and the model is a function of
// it, so that a crawl can continue with a model of another crawl, under the same Settings.
//
// # Classes
//
// R(v) is recorded in bins of 1/256 (0 to 256; R = 1 has a bin of its own). A leap is high if R(v) ≥ cut. The cut is
// the median of R(v) over the first training set (equally probable intervals: Torgo and Gama), clipped to [.1, .9]
// and a multiple of 1/256. The first model made of at least one leap fixes it.
//
// # Naive Bayes
//
// Counts keeps, for each feature, integers: how often it came with R(v) in each bin. Counts of low and high are
// formed when a model is made. They do not depend on the order of the leaps, nor on how leaps come in batches.
//
//	θ(c,τ) = (1 + n(c,τ)) / (|T| + n(c)), Pr(c) = (1 + leaps of c) / (2 + leaps)
//
// |T| is the number of distinct features seen. Features that were not seen are ignored.
//
// Counts of neighbouring offsets may be smoothed (Settings.Smooth = s). Then, with |j| ≤ s ≤ 4, n(c,⟨t,d⟩) is replaced by
//
//	Σ_j C(2s, s+j) 4⁻ˢ n(c,⟨t,d+j⟩)
//
// and |T| is the number of those that are not 0. The stored counts are not smoothed, so the setting can be changed
// without the leaps. Features without an offset are not smoothed.
//
// # Logistic regression
//
// Logistic takes one step of FTRL-proximal (McMahan et al. 2013) for each leap. It needs the cut before the first
// step, so leaps are held until the cut is fixed. Its bits depend on the order of the leaps, not on how they come in
// batches. It has no smoothing; λ2 keeps the weights of rare features near 0.
//
// # Counting of features
//
// Settings.Count selects what a feature of a link counts (2002, §2.3): its number of occurrences, that number
// normalised to links of 32 occurrences, or 1. Normalised counts are kept in steps of 1/256. A feature that stands for
// a probability counts as that fraction of 1 under every setting, in parts of 1/256 (linkfeature.Unit). The length of
// a link is the number of occurrences of those of its features that were seen. With raw counts a link is scored by
// sums over the tokens of its page; otherwise its features are made one by one, which is slower.
//
// Why scores are bit for bit the same in any order of features, and why terms are known by hashes: decision 0400.
// Why there is no perceptron: decision 0401.
package apprentice
