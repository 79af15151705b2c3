// Package evaluate measures how good the probabilities of a critic are: accuracy, log loss, Brier
// score, calibration, what is confused with what, and the distribution of relevance; and writes
// them as one self-contained page. It knows numbers only, not how they came about.
package evaluate
