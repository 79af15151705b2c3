// Package linkvalue is a ranker that learns, during a crawl, what links are worth apart from what their pages are about: a
// page that lists targets may be about something else. It implements frontier.Learner.
//
// The value of a URL v is the relevance that v is expected to have, in (0,1), and half of the gain that is expected behind v: by how
// much the relevance of the pages that are first found on v will be more than that of as many average pages. Both are regressions on
// what is known of v and of its sources, the pages with links to v; logistic, fitted to the calibrated R of the pages fetched so far, and
// log-linear, fitted to the gain that each had. Both see what was known of a page when it was fetched. Features of v are, as
// the best of its sources:
//
//	yield      what links of the source have led to: (2p + Σr) / (2 + n), r the calibrated R of its n links that were
//	           fetched, in whichever order they and the source were; p is its prior
//	near       the same with the links close to v on the page counted by their distance, and the yield as the prior
//	rank       of the log odds of the source among the pages fetched: of all classes, and among topics only
//	anchor     the log odds of the words of the link and of the last segment of v under the critic
//	relevance  of the source, calibrated
//
// and the mean yield, rank and log odds of R, the agreement of the sources (the log odds of their yields less those of the mean R, pooled),
// the number of sources, how often the least tried of them was tried, how many URLs were known before v, and two of the URL itself:
//
//	path       the log odds of the mean R of the pages fetched from the last directory of v, less those of the mean of all. That of
//	           a directory is drawn to that of the one above it, as by two pages, and it counts as ten pages at most: a directory
//	           may be a language, or all of a site
//	words      the same of the words of the last segment of v, pooled
//
// A crawl whose labels follow from URLs does without these two. The weights begin at values that were
// found on other webs (valueStart, behindStart), to which ridge regression draws them. Tries and URLs known before begin with negative
// weights: where the critic is often wrong, the crawl stays broad. The latter counts little as long as hardly a relevant page was found
// (littleReward): then links are ordered by ranks alone. The score is x/(1+x) of the value x.
//
// The prior p of a source is linear in the ranks of its log odds and in the best yield of its own sources when it was
// fetched, by ridge regression on the yields of all sources.
//
// # What a score is a function of
//
// Values change with every record. Published are those of the best URLs only, of the best of each host, and of new ones: Score returns
// the value published last, and Observe announces every change. All of it is a function of the records observed, in their order.
//
// # Bounds
//
// A ranker takes MostBytes at most, after every record. Before a record by which the URLs that wait and their sources could
// take more than mostHeld bytes, the URLs with the least values are forgotten, until a quarter is free; they have the score of
// unknown ones then. Sources without waiting links are forgotten. The verdicts that came, or were linked to, last are kept, 100,000 of them
// or more, fewer if redirects are among them, and what is known of the parts of URLs that came last, 10,000 or more. Of a page the first
// 2,000 links are taken, of a URL 16 directories and 16 words. All of this follows from the records, not from settings or
// from the memory of the machine. Models are fitted, and all values computed, every 20 pages, or less often while many URLs wait.
package linkvalue
