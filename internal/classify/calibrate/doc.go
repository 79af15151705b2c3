// Package calibrate turns the scores of a classifier into calibrated probabilities: of the pages with a
// probability of .8, eight of ten are of the class.
//
// Fit fits a Curve to held-out scores (log odds) of one class. There are two shapes: Platt's sigmoid (Platt
// 1999, with the targets and the Newton steps of Lin, Lin and Weng, "A Note on Platt's Probabilistic Outputs",
// 2007) and isotonic regression (pool adjacent violators, linear between the centres of its blocks). Fit takes
// the shape with the lower log loss in cross-validation; of equals the sigmoid, which has two parameters.
//
// The blocks of the isotonic curve are smoothed, (right + 1/2) / (all + 1), so that no probability is 0 or 1
// and the log loss stays finite; neighbours that smoothing puts out of order are pooled again. Equal scores are
// one point, so a curve does not depend on the order of the pages.
package calibrate
