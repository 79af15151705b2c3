// Package positive learns what a topic is from pages on it and nothing else: positive–unlabelled
// learning. The positives are a user's example pages, the unlabelled ones are whatever pages a
// crawl has met; an unknown share π of these, the prior, is on topic too.
//
//	positives, unlabelled → Learn → Model: Linear.Score → Model.Probability
//
// The method is (TED)ⁿ of Garg, Wu, Smola, Balakrishnan and Lipton, "Mixture Proportion Estimation
// and PU Learning: A Modern Approach" (NeurIPS 2021), with a linear classifier:
//
//  1. a classifier tells positives from unlabelled pages (held out, in folds);
//  2. the prior is estimated from its scores (bestBin, their Algorithm 1);
//  3. the share π of the unlabelled pages of highest score is discarded, a classifier tells the
//     positives from the rest, and so on for some rounds (their Algorithm 2, CVIR).
//
// The scores become probabilities by the likelihood of presence-only data (Lancaster and Imbens
// 1996; Ward, Hastie, Barry, Elith and Leathwick, "Presence-Only Data and the EM Algorithm",
// Biometrics 2009) in two numbers, slope and intercept, on held-out scores. Brier estimates how good
// they are without a single page that is known to be off topic (du Plessis, Niu and Sugiyama,
// "Analysis of Learning from Positive and Unlabeled Data", NIPS 2014).
//
// # Decisions
//
// 2026-11-21: compared on course pages of webkb (held out by host) and on three subjects of
// schools-wikipedia, with 1,000 unlabelled pages, means over three held-out parts (TestWebsPositiveUnlabelled):
//
//	average precision, positives   course 10   50    all   Science 10   50   Religion 10   Mathematics 10
//	discarding                          .742  .781   .815        .815  .939         .639             .848
//	unlabelled as negative              .698  .784   .826        .789  .924         .621             .839
//	du Plessis et al. 2015              .637  .754   .806        .708  .895         .629             .829
//	labels of the same pages            .806                     .973               .734             .763
//
// Log loss, in the same order, is .292 .236 .188 .317 .166 .078 .029 with discarding and .379 .223 .173 .328
// .202 .093 .026 with the unlabelled taken for negative and calibrated alike; not calibrated it is up to
// three times that. bestBin's prior is off by .075, .054 and .029 with 10, 50 and all courses (of .114) and by .06
// and less on the encyclopedia. Elkan and Noto's estimate (KDD 2008, e1) is no use with ten positives in 10⁴ words:
// no held-out score comes near its limit, and it says that nearly everything is on topic. The unbiased
// convex risk as training risk falls without end along words that only positives have, held by the
// penalty alone. So discarding it is: best with few positives, which is what a user has, and close to the best with
// many.
//
// 2026-11-21: crawls guided by it, beside those of supervised critics, for course pages on the four
// universities of webkb, by the apprentice, means over 20 draws (TestWebsCrawlsByLikes; harvest by label,
// recall of the targets, and its mean over the budget):
//
//	                          naive Bayes   logistic   10 likes   50     all   random   oracle
//	harvest, 25 % of budget          .225       .215       .186   .186   .202    .103     .745
//	harvest, all of it               .150       .146       .144   .143   .145    .079     .220
//	recall                           .649       .631       .626   .616   .628    .343     .957
//	AUC                              .383       .366       .349   .345   .367    .189     .816
//
// Soft focus lives on links between pages of one class, which are rarer than chance there; it is no better than
// random order by any sharp critic, the supervised logistic one included.
//
// 2026-11-22: and for three subjects of schools-wikipedia, whose articles were kept without links: each is
// given one at the first place where it mentions the title of another. One half of the articles is crawled,
// 300 pages from three off the subject, by critics of the other half; harvest of the whole budget, means over
// draws 0 to 4 (logistic: 0 and 1; TestWebsEncyclopediaByLikes, FORAGER_DRAWS=5). Of Religion there are 49
// positives in all, of Mathematics 16:
//
//	                           naive Bayes   logistic   10 likes   50     all   random   oracle
//	Science, soft focus               .288       .490       .509   .502   .463     .195     .990
//	Science, apprentice               .421       .507       .512   .501   .528
//	Religion, soft focus              .121       .133       .126          .130     .033     .197
//	Religion, apprentice              .014       .023       .038          .026
//	Mathematics, soft focus           .043       .073       .070          .073     .013     .073
//	Mathematics, apprentice           .015       .017       .055          .045
//
// Here links join pages of one subject, and soft focus by ten likes is as good as by all labels. Naive Bayes over 15
// subjects is the least sharp judge, and an apprentice needs more than a few pages on topic to learn from.
//
// 2026-11-21: every fit is convex and done to its end by L-BFGS with one worker, the folds beside one another, so
// that the same pages give the same bits. Pages are few here: a critic of 10 positives and 1,000 unlabelled
// pages takes seconds.
//
// 2026-11-21: pages that somebody has marked as off topic are negatives in every classifier and
// take no part in estimating the prior, as nobody drew them at random.
package positive
