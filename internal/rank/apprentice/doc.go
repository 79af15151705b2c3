// Package apprentice learns, while the crawl goes on, which links lead to relevant pages (2002
// §2.2–2.3): two classes, low and high, over the features of links. A Learner is naive Bayes
// (Counts) or logistic regression (Logistic); whichever it is, a Model adds up a weight a feature.
//
// A settled leap (u,v) is an instance: the features of the link and R(v). Counts keeps exact
// integers, for every feature how often it came with R(v) in each bin of 1/256. Where low
// ends and high begins is decided when a model is made, so that equally probable intervals
// (Torgo and Gama) cost nothing and learning from one leap after another gives the same bits
// as learning from all at once, in any order.
//
//	high ⇔ R(v) ≥ cut
//	θ(c,τ) = (1 + n(c,τ)) / (|T| + n(c)), Pr(c) = (1 + leaps of c) / (2 + leaps)
//
// cut is the median of R(v) over the first training set, clipped to [.1, .9] and a multiple of
// 1/256; it is fixed by the first model made of at least one leap. |T| is the number of
// distinct features seen. Features not seen are ignored. The score of a link is Pr(high|u,v).
//
// What a feature of a link counts, n, is a setting (Settings.Count; 2002 §2.3): its occurrences, these
// normalised to links of 32, or 1. A feature that stands for a probability counts that fraction of 1,
// whatever the setting, in parts of 1/256 (linkfeature.Unit), so that fractions, too, are added up as
// integers. Of naive Bayes the counts may be smoothed over d (Settings.Smooth): where n(c,⟨t,d⟩) stands above
// stands
//
//	Σ_j C(2s, s+j) 4⁻ˢ n(c,⟨t,d+j⟩), |j| ≤ s ≤ 4
//
// then, and |T| is the number of those that are not 0. Counts are kept as they were, so a model can be
// smoothed otherwise without its leaps. A link's own features are not smoothed, and its length is that of the
// features that were seen.
//
// Logistic takes a step of its gradient a leap, FTRL-proximal (McMahan et al. 2013), so it needs the
// cut before the first step: leaps are held until it is fixed. Its bits depend on the order of leaps,
// not on how they come in batches.
//
// A model is a function of its learner, and its file is the learner's, so that a model of one crawl
// can go on learning in another, under the same settings.
//
// # Decisions
//
// 2026-11-21: the log odds of a feature are rounded to multiples of 2⁻³⁸. Sums of them are exact
// in a float64 up to 32,768, far beyond where Pr(high) is 0 or 1 to the last bit, so a score
// does not depend on the order or grouping of a link's features. The error is below 2e-12 a token.
//
// 2026-11-21: the paper's linear perceptron is left out: it reports slow convergence, a high error and
// instability (§2.3). Logistic regression is what came of that line, with a rate a coordinate. Package papers
// measures the perceptron on crawls' evidence beside naive Bayes.
//
// 2026-11-21: math.Exp has a version of its own on some processors, and an error in the last bit
// would live on in every weight, so logistic regression is bit for bit the same on machines of one
// architecture. Naive Bayes counts integers and its files are the same on all.
//
// 2026-11-21: bins are 0 to 256, bin = ⌊256 R⌋: R = 1 has a bin of its own, so that comparing
// bins is comparing R with any cut that is a multiple of 1/256. The median of an even number of
// leaps is the mean of the middle two bins, rounded up. A bin stands for its middle where
// medians of low and high are reported, bin 256 for 1.
//
// 2026-11-21: the weights of a term lie side by side by offset, so a score takes one look-up a
// distinct term and none a feature. A model knows terms by a 64-bit hash, so that a look-up reads
// one cache line; of two terms of one hash, to be met once in some 10⁷ models of a million terms, the counts
// are added. Counts compare names.
//
// 2026-11-22: naive Bayes keeps normalised counts in steps of 1/256, rounded: it adds up integers, so that
// the order of leaps makes no difference. Under other counts than raw ones a link is scored by its features,
// made one by one, and not by the sums of its page's tokens: slower.
//
// 2026-11-22: logistic regression is not smoothed; λ2 keeps the weights of rare ⟨t, d⟩ near 0.
package apprentice
