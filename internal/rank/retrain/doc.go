// Package retrain trains an apprentice's model again from what was kept: the records of
// leap.settled, in the order of their offsets, and, for features that leaps do not carry, those of
// page.judged.
//
// With no settings it follows apprentice-train's rules and ends with its bytes: each leap counts
// once, the first record of its id; a boundary that is not above the last one is a copy; the
// cut is fixed at the first boundary behind a leap; a model is what stands before its boundary.
//
// # Other settings
//
// What a leap carries can be made less: a smaller d_max and no topic features take them from the
// leaps. What it does not carry is read off the pages again: a larger d_max, or topic features
// that the crawl did not have, need the record of page.judged of every u. (link.found will not do:
// its tables hold only the leaves within the crawl's own d_max.) Pages are taken as they come and
// none is held. The integer counts of naive Bayes do not depend on order either; logistic regression
// learns in the order of leaps, whose features are held until the last page has come.
//
// Another learner, or other settings of it, take the same leaps.
//
// # Decisions
//
// 2026-11-21: leaps are held until their boundary comes, so that none behind the last boundary
// is learnt. Of leaps whose features come from pages, the URLs and R(v) are held to the end.
package retrain
