// Package evaluate measures the probabilities of a critic: accuracy, log loss, Brier score, calibration with
// its reliability diagram, confusions of classes, the distribution of relevance (2002, Fig. 5); and writes a
// Report as one self-contained HTML page. Its input is classes and posteriors of held-out pages; it does not
// depend on the method that computed them.
//
// A page of several classes shares a weight of 1 among them in log loss and Brier score, and is judged
// correctly if its best class is any of them.
//
// Topics, confusions and relevance are those of the calibrated posterior, which is the one to use; the raw one,
// which the literature reports, is shown with it where the two differ most.
package evaluate
