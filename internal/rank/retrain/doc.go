// Package retrain trains an apprentice's model again from stored records: those of leap.settled in the order of their
// offsets and, for features that leaps do not contain, those of page.judged.
//
//	leap.settled → Trainer.Leap, page.judged → Trainer.Page, then Trainer.Model
//
// Without other settings the result is byte for byte the model of apprentice-train: each leap counts once, the first record
// of its id; a boundary that is not above the last one is a copy; the cut is fixed at the first boundary after a leap; a
// model contains what precedes its boundary. Leaps are held until their boundary comes, so that none after the last
// boundary is learned.
//
// # Other settings
//
// A smaller d_max and fewer families or topic features are filtered from the features of the leaps. A larger d_max, and
// families or topic features that the crawl did not have, are read from the pages, and need the record of page.judged of
// every u. (The tables of link.found hold only the leaves within the crawl's own d_max.) Co-citation features, tag paths,
// trees and the posteriors of all topics are recorded only if the crawl learns from them, and cannot be added later.
//
// Pages are read one by one and none is held; the URLs and R(v) of the leaps are held to the end. The integer counts of
// naive Bayes do not depend on the order of leaps. Logistic regression does, so the features of its leaps are held until
// the last page has been read.
//
// Another learner, or other settings of it, learn from the same leaps.
package retrain
