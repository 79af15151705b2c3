// Package policy computes the place of a URL in the frontier: the score that a ranker gives a link (u,v), what a gate on u
// does to that link, and how the links to one v combine.
//
// A Policy (schemas.Policy) is a ranker, a gate, a combination and the posterior that it reads. Places are ordered by tier
// ascending, failed tries ascending, score descending, first discovery ascending; tries and discovery are kept by the
// frontier. Policy.Add folds the links of v in the order of their discovery, so a place that grows link by link is bit
// for bit the place computed from all links at once.
//
// A Mixture follows several policies over one frontier: before each dispatch it chooses, by Thompson sampling, the policy
// whose best URL is fetched.
//
// Built-in rankers are
//
//	unfocused   first in, first out (1999)
//	random      a fixed pseudo-random order
//	soft-focus  R(u) (1999), by any of its posteriors or by its log odds
//	anchor      R(u) as the prior odds, the critic's judgement of the link's words (Judgement.anchors) as the evidence
//	apprentice  Pr(high|u,v) of the apprentice's model (2002, §2.2); soft focus while there is no model
//	link-value  the relevance expected of v by what other links of its sources led to (package linkvalue)
//
// and any guide (package guide). Others implement Ranker and are set by Policy.With.
//
// # Tiers
//
// Only the links of v in its best tier combine into its score. What links of other tiers scored is dropped when v moves up.
// A link that the gate defers is in a tier after those that pass it, a link that it drops never enters. Under a guide, seeds
// have a tier before all links, and links without guidance a tier after them, in the order of R(u). Under a policy that
// orders pages (Expand_EXPAND_PAGE; 2000, §3.3) the remaining links of a page of which one was chosen have a tier before
// all others. See decision 0410. A crawl may put the URLs of some hosts before or after those of all others (Source.Group): each group
// has four tiers of its own.
//
// # Scores
//
// A seed is placed by its seed link alone: tier 0 and score 1, which only raised URLs exceed; under unfocused all score 0. (Under
// a policy that orders pages it has score 0 in the tier of links with guidance, and further links count.)
// Every combined score of the built-in rankers is in [0,1]: the mean of log-odds goes back through the logistic
// function, and a count n becomes n/(n + 1). The scores of a guide are any finite numbers. Unfocused, random and the
// rankers of experiments combine by maximum, or stay frozen, or count: their scores are not probabilities.
//
// The score that a version of a guide gave is used under another version of the same name until that version has scored
// the page (decision 0411).
package policy
