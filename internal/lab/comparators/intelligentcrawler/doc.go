// Package intelligentcrawler is a ranker after intelligent crawling (Aggarwal, Al-Garawi & Yu 2001): the score of a page is the
// product of its interest ratios P(C|E)/P(C), where C is "the page is relevant" (R ≥ ½) and E is evidence that is known
// before the page is fetched. All ratios are learned from the pages of the crawl.
//
//	content   a word is on a page that links to it, for each significant word
//	URL       a token of its URL, where labels do not follow from URLs
//	in-links  a relevant page links to it, or an irrelevant one; once for each link
//	siblings  the share of relevant pages among its siblings: visited pages to which one of its parents links
//
// A ratio is smoothed by one page of the average kind: ((n(C,E) + P(C)) / (n(E) + 1)) / P(C). If several pages link to a
// page the mean of their content counts, of the first five only: products over the words of many pages would be decided
// by the number of pages.
//
// Ranker.Observe learns from a verdict. It scores the pages that the visited page links to, and all known pages whenever
// the number of visited pages has grown by a twentieth (at least 10): one page changes the ratios of many. The number of
// scores is linear in the length of the crawl; with a fixed interval it would be quadratic.
//
// The words of a page are those of package text, as the critic may be a service. Everything learned is in memory, without
// a bound: the ranker is a comparator for experiments.
package intelligentcrawler
