// Package critic judges pages by the classes of a pruned taxonomy (2002 §2.1, §3.1; package
// taxonomy). It is the user's word on what is relevant, trained before the crawl and fixed during
// it. There are three methods behind one interface:
//
//	bayes       naive Bayes over all classes at once (2002 §2.3; package bayes)
//	bayes-tree  naive Bayes among the children of each inner topic, by the words that tell these
//	            apart best by their Fisher index, down the tree by the chain rule (1999)
//	logistic    multinomial logistic regression over hashed words with TF-IDF weights, unit length
//	            (package logistic)
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
// 2026-11-21: logistic is the one to choose where probabilities count: on an encyclopedia by five stratified
// folds (15 main subjects) it comes to an accuracy of .854, log loss .447 and calibration error .009, bayes
// to .781, .641 and .011, all calibrated; over 43 leaf classes to .792 and .826, beside .710 and 1.112, and
// bayes-tree between them (.713, 1.091); on page types of universities that it has not seen to .80 and .57,
// beside .57 and .83. Experiments and their references were made with bayes, the papers' judge; forager critic
// train takes what judges held-out pages better (docs/decisions/0051).
//
// 2026-11-22: which critic judges best and which guides best are two questions (experiment compare --critic;
// draws 10 to 19, nAUC by label). On webkb-uni crawls by naive Bayes find more than those by logistic
// regression: mixture .471 ± .023 beside .376 ± .013, hard-defer .451 beside .295, soft focus .161 beside
// .111; only the apprentice gains (.281, .306). On webplatform logistic is the better guide of single orders
// (soft focus .828 and .846, hard-defer .741 and .843, apprentice .668 and .787), and the mixture stays as it
// is (.876, .880). Naive Bayes errs towards pages around the targets, and these lead to targets.
//
// 2026-11-21: the tree chooses 30,000 words a node: of 300, 1,000, 3,000, 10,000, 30,000 and all,
// over 42 leaf classes, that had the best raw posterior (accuracy .683; all words .632, flat .574).
//
// 2026-11-21: hashes of words are as long as 2²⁷ weights allow, 20 bits at most: so memory does not
// follow the vocabulary. Words that training has not met are passed over, not hashed onto others.
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
// 2026-11-21: only pairs of word and class that occur in training are added (package bayes), not a
// dense row a word: as quick with 15 classes, and a hundredth of the memory with 500.
//
// 2026-11-21: a word is known by 64 bits of its hash, in files and in memory; what it is spelt like is
// kept for people. Two words of a vocabulary of 10⁶ have the same one with a probability of 3·10⁻⁸.
//
// 2026-11-21: folds are dealt class by class, each class in the order of the hashes of its URLs (FoldsOf): with few
// pages a class, folds by the hash alone leave some without. An example of several classes lies in one fold, by
// the first of them. Out-of-fold posteriors below 1e-12 are not stored (calibrated ones: 1e-6).
//
// 2026-11-21: a page that trains carries the posteriors of all of up to 64 classes, else of the 16 likeliest,
// while the others share the rest; curves are fitted to the log odds of its 64 likeliest classes, the others
// counting as their mean. All of them, of 79,000 pages and 344 classes, were 2.7 GB and a file of 776 MB; now
// it is .2 GB and 56 MB. So training holds of every example its URL and topics (.4 KB), and of those that the
// classes are left with 8 bytes a distinct word and 2 KB; beside them 20 bytes a pair of word and class, six
// times (once for each fold), and of a logistic critic 8 bytes a weight, 2²⁷ weights at most. The garbage
// collector keeps that below GOMEMLIMIT where it can.
//
// 2026-11-21: the URL of an example is made canonical where it is a URL that can be crawled,
// so that the page is known when it is met; any other name is kept as it is.
//
// 2026-11-21: what is looked up stands in a model's file as it is in memory, so that processes map
// it and share it; all of it is checked when it is opened. Files of format 1, which had to be read
// into memory, are refused: nothing but tests had made any. The same examples, in any order, give
// the same bytes.
//
// 2026-11-21: why a page got its score is told by leaving out each of its words (Explain), not by weights: the
// question is the same for every method, and for naive Bayes the answer is n·log(θ(c,τ)/θ(c',τ)).
// Log-odds are raw and taken before probabilities are: those of long pages round to 0 and 1.
//
// 2026-11-22: a third of the time to judge a page by a large model was waiting for memory, as the words of
// each page lie elsewhere in it. Slots, cells and rows are now read many at a time before they are used; the
// words of a parsed page, each of which it lists once, are not looked for among the recent ones; and the log
// odds take their exponentials from the tempered posterior's. Every sum is added in the order it was. A page
// of 1,000 tokens against 500 classes by bayes takes 135 µs where it took 155 (BenchmarkLarge, best of eight
// runs by turns on a busy machine): 28 for its words, 80 for the likelihood, 12 for calibration, the rest for
// posteriors and the judgement.
package critic
