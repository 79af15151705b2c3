// Package pulearning trains a critic of one topic from pages on the topic and unlabelled pages:
// positive–unlabelled (PU) learning. The positives are a user's example pages, the unlabelled ones are pages
// that a crawl has fetched; an unknown share π of these, the prior, is on topic too.
//
//	Examples → Train → Critic                               pages, with words and a model file
//	Sample → Learn → Model: Linear.Score → Model.Probability  feature vectors
//
// The method is (TED)ⁿ of Garg, Wu, Smola, Balakrishnan and Lipton, "Mixture Proportion Estimation and PU
// Learning: A Modern Approach" (NeurIPS 2021), with a linear classifier:
//
//  1. a classifier separates positives from unlabelled pages (held out, in folds);
//  2. the prior is estimated from its scores (bestBin, their Algorithm 1);
//  3. the share π of the unlabelled pages with the highest scores, but half of them at most, is discarded, a classifier
//     separates the positives from the rest, and so on for some rounds (their Algorithm 2, CVIR).
//
// With few positives bestBin is too high rather than too low, most of all among pages of one template, so the prior is
// lowered towards a usual one (cautious).
//
// The scores become probabilities by the likelihood of presence-only data (Lancaster and Imbens 1996; Ward,
// Hastie, Barry, Elith and Leathwick, "Presence-Only Data and the EM Algorithm", Biometrics 2009) with two
// parameters, slope and intercept, on held-out scores; the slope is above 0 (Calibrate). Brier estimates their quality without a page that is
// known to be off topic (du Plessis, Niu and Sugiyama, "Analysis of Learning from Positive and Unlabeled Data",
// NIPS 2014).
//
// Pages that the user marks as off topic are negatives in every classifier. Marks of pages that the user chose take no part in
// estimating the prior, as they are no random sample. Marks of pages that were drawn at random from judged pages do (Document.Drawn): the
// curve and the prior are estimated together from their labels, the presence-only likelihood and the estimate of the prior
// (calibrateDrawn). The prior is the share of the unlabelled pages, as ever. Pages that a crawl has selected are another population,
// whose own share is higher or lower; the curve, assumed to hold for both, leads from one to the other. The upper limit of what the labels
// allow bounds the share that is discarded.
//
// Every fit is convex and is run to convergence by L-BFGS with one worker, the folds in parallel, so the same
// pages give the same bits. Why this method is docs/decisions/0308.
package pulearning
