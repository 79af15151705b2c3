// Package critic judges pages: flat multinomial naive Bayes over the classes of a pruned
// taxonomy (2002 §2.1, §2.3, §3.1; packages taxonomy and bayes). It is the user's word on what
// is relevant, trained before the crawl and fixed during it.
//
//	examples (package examples) → AddText → Train → Marshal → Unmarshal → Judge
//
// An example is {"url", "topics": ["A/B", …], "text" or "html"}. Text and pages are cut into
// words by package text, so that the words of an example are the words of a page.
//
// R(u) is the sum of the posteriors of the classes at and below the focus topics. A page on
// which the critic was trained would be judged too well: for these the model carries
// posteriors from five folds, each page judged by a model that has not seen it, and Judge
// answers with them.
//
// Raw posteriors of naive Bayes saturate on long pages (2002 Fig. 5), tempered ones do later. The
// calibrated posterior is fitted to held-out pages (package calibrate): a curve a class over its
// tempered log odds, then the sum 1, then a curve for the best class. Where it loses more on
// held-out pages than raw or tempered, it is the better of these two.
//
// Rules (package pagerules), HTTP predicates (package predicate) and others are judges too; package
// judges opens the file of any of them. Say makes a judgement of what any judge thinks.
//
// SayAnchors judges the text of each link of a page as if it were a page: what the critic knows
// of words says something of where a link leads before any leap has taught an apprentice.
//
// # Decisions
//
// 2026-11-21: the curves of the classes alone leave the best class off by .04 to .07 (15 and 42
// classes of an encyclopedia), as dividing by their sum moves all of them; the curve of the best
// class brings that to .02. The log odds are those of the logarithms: floors at 1e-12, or
// posteriors that round to 1, cost a fifth of the log loss.
//
// 2026-11-21: a page that trains carries a calibrated posterior of curves that have not seen its
// fold, the best class's included: these are fitted to the other folds by the curves of the other
// folds, so nothing of the page's own label is in them but the choice of their shapes.
//
// 2026-11-21: the weights of classes under a marking of topics are an argument of Say: whoever
// judges a crawl makes them once for each revision of its control record, not for each page.
//
// 2026-11-21: the words of a page are looked up once for each distinct word and only pairs of
// word and class that occur in training are added (package bayes), not a dense row a word: as
// quick with 15 classes, and a hundredth of the memory with 500.
//
// 2026-11-21: folds are a hash of the URL, and out-of-fold posteriors below 1e-12 are not stored
// (calibrated ones: 1e-6).
// An example of several classes lies in one fold, whatever classes it has.
//
// 2026-11-21: the URL of an example is made canonical where it is a URL that can be crawled,
// so that the page is known when it is met; any other name is kept as it is.
//
// 2026-11-21: a model file holds counts and settings, and the out-of-fold posteriors as
// doubles; the same examples, in any order, give the same bytes.
//
// 2026-11-21: why a page got its score is told by leaving out each of its words (Explain), not by weights: the
// question is the same for every method, and for naive Bayes the answer is n·log(θ(c,τ)/θ(c',τ)).
// Log-odds are raw and taken before probabilities are: those of long pages round to 0 and 1.
package critic
