// Package calibrate turns the scores of a judge into probabilities that mean what they say: of
// the pages with .8, eight of ten are of the class.
//
// A Curve is fitted to held-out scores (log odds) of one class. There are two shapes: Platt's
// sigmoid (Platt 1999, with the targets and the Newton steps of Lin, Lin and Weng, "A Note on
// Platt's Probabilistic Outputs", 2007) and isotonic regression (pool adjacent violators,
// straight between the middles of its blocks). Fit takes the one whose log loss on pages left
// out is lower.
//
// # Decisions
//
// 2026-11-21: the blocks of the isotonic curve are smoothed, (right + 1/2) / (all + 1), so that
// no page is certain and log loss stays finite; smoothing may put neighbours out of order, they
// are pooled again. Ties between the shapes go to the sigmoid, which has two numbers.
//
// 2026-11-21: equal scores are one point. What a curve says does not depend on the order of the
// pages.
package calibrate
