// Package harvest holds the measures by which crawls are judged and the statistics by which rankers
// are compared.
//
// A crawl is measured along the pages it delivered, up to its budget (Curve). It is
// never graded by its own critic alone: where a web carries human labels, harvest and recall of
// labelled targets stand beside the mean of R.
// Of a crawl without labels the share of pages on topic is estimated from pages drawn at random that a person has looked
// at (Sampled), or from the error rates of its critic on pages that it has not seen (Corrected).
//
// An early end is filled up to the budget: with what was found for recall and AUC, with pages of
// R = 0 that are no targets for harvest and loss. A crawl that stops with a fine harvest rate has
// lost all the rest.
//
// Intervals over draws (Interval) show the noise of the seeds only. Claims about rankers are made
// over tasks, draws averaged within each (Compare): the sign-flip test and a bootstrap of the
// paired differences, with Holm's correction over all claims of a family (Correct). Fewer than
// 6 tasks give no p-value: the smallest that five can give is 1/16.
package harvest
