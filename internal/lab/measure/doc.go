// Package measure computes the measures of the crawls of experiments and the statistics by which rankers are compared.
//
// A Curve measures a crawl along the pages it delivered, up to its budget. A crawl is not measured by its own
// critic alone: where a web has human labels, harvest and recall of labelled targets are reported with the mean
// of R.
//
// A crawl that ends early is extended to the budget: with the targets found so far for recall and AUC, with
// pages of R = 0 that are no targets for harvest and loss. Otherwise a crawl that stops early with a high
// harvest rate would be rated too high.
//
// Intervals over draws (Interval) show the noise of the seeds only. A claim is about sites (Nested): tasks that share a graph of pages are
// one witness. Its interval is that of a hierarchical bootstrap over sites, tasks and draws, with Holm's correction over all claims of
// a family (Correct). P-values are those of the sign-flip test over sites; fewer than 6 sites give none: the smallest that five can
// give is 1/16.
package measure
