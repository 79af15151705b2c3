// Package critic trains classifiers of pages and judges pages with them. A critic distinguishes the classes of
// a pruned taxonomy (2002 §2.1, §3.1; package taxonomy). It is trained before the crawl and does not change
// during it. There are three methods:
//
//	bayes       naive Bayes over all classes at once (2002 §2.3; package bayes)
//	bayes-tree  naive Bayes among the children of each inner topic, by the words with the highest
//	            Fisher index there, down the tree by the chain rule (1999)
//	logistic    multinomial logistic regression over hashed words with TF-IDF weights, unit length
//	            (package logistic)
//
// # Use
//
//	examples (package examples) → Examples.AddText → Train → Model.Marshal → Unmarshal → Model.Judge
//
// An example is a URL with topics and a text or a parsed page. Both are cut into words by package text, with
// the settings that the model carries, so that the words of an example are the words of a page. With many more
// examples than the classes can use, Examples.Label, Needed and SetText read the texts of those that are used
// only.
//
// Classifier is the interface of everything that classifies pages: a Model, rules (package pagerules), an HTTP
// service (package httpmodel), a critic of pages on topic alone (package pulearning). Package criticfile opens a file
// of any of them. Judge makes a schemas.Judgement of the prediction of any Classifier. JudgeAnchors judges the words of
// each link and of its URL as if they were a page, which predicts the relevance of a target before an apprentice is trained.
//
// R(u) is the sum of the posteriors of the classes at and below the focus topics, weighted by the crawl's
// marking of topics. The weights of the classes (Weigh) are an argument of Judge, so that they are computed once
// for each revision of a crawl's control record and not for each page.
//
// # Posteriors
//
// Each page has three posteriors. Raw posteriors of naive Bayes saturate on long pages (2002 Fig. 5); tempered
// ones do so later. The calibrated posterior is fitted to held-out pages (package calibrate): a curve for each
// class over its tempered log odds, normalised to the sum 1, then one curve for the best class. Where its log
// loss on held-out pages is not the lowest, the raw or the tempered posterior takes its place
// (docs/decisions/0300).
//
// A page on which the critic was trained would be judged too well. For these pages the model carries posteriors
// of five-fold cross-validation, found by URL, and Predict returns them. FoldsOf deals the pages to folds
// (docs/decisions/0303). The URL of an example is made canonical where it can be crawled, so that the page is
// recognised in a crawl; any other name is kept.
//
// Explain attributes a judgement to words by leaving out each one: the same definition for every method, and
// for naive Bayes equal to n·log(θ(c,τ)/θ(c',τ)). Log odds are raw and computed before probabilities, which
// round to 0 and 1 for long pages.
//
// # Files
//
// Marshal writes a model in a form that is read in place: processes map the file (UnmarshalMapped) and share
// its memory, and everything is checked when it is opened (docs/decisions/0302). The same examples, in any
// order, give the same bytes.
//
// # Memory and time of training
//
// Every example takes its URL and topics (about .4 KB); those that are used take 8 bytes for each distinct word
// and 2 KB besides. A pair of word and class takes 20 bytes in each of six models (one for each fold and the
// final one), and a weight of a logistic model 8 bytes, with 2²⁷ weights at most. Only pairs of word and class
// that occur in training are stored.
//
// Which method and minimum "critic train" chooses is docs/decisions/0051; when naive Bayes guides a crawl
// better is docs/decisions/0304.
package critic
