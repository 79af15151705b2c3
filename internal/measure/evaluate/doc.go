// Package evaluate measures how good the probabilities of a critic are: accuracy, log loss, Brier
// score, calibration with its reliability diagram, what is confused with what, the distribution of
// relevance (2002, Fig. 5); and writes them as one self-contained page. It knows numbers only, not
// how they came about.
//
// # Decisions
//
// 2026-11-21: a page of several classes shares a weight of 1 among them in log loss and Brier
// score, and is judged rightly if its best class is any of them.
//
// 2026-11-21: topics, confusions and relevance are those of the calibrated posterior, which is what a
// user is to believe; the raw one, which the literature reports, stands beside it where the two differ
// most.
package evaluate
