// Package interest is intelligent crawling (Aggarwal, Al-Garawi & Yu 2001): a page is fetched the earlier,
// the larger the product of its interest ratios P(C|E)/P(C), C = "the page is relevant" (R ≥ ½) and E what is
// known of a page before it is fetched. All ratios are learnt from the pages of the crawl.
//
//	content   a word stands on a page that links to it, of each word that is significant
//	URL       a token of its URL, where labels do not follow from URLs
//	in-links  a relevant page links to it, or one that is not; once for each link
//	siblings  its siblings are relevant as often as that: visited pages to which a page links that links to it, too
//
// A ratio is smoothed by one page of the average kind: ((n(C,E) + P(C)) / (n(E) + 1)) / P(C).
//
// A page scores the pages that it links to, and from time to time all known ones are scored anew: what one
// page teaches changes the ratios of many.
//
// # Decisions
//
// 2026-11-21: of several pages that link to one the mean of their content counts, and of the first mostParents alone:
// products over the words of many pages are decided by their number.
//
// 2026-11-22: words travel as hashes in the judgement of a page (Words), so that the ranker runs where links
// are ranked, in the stages as in experiments, and reads no page. They are those of package text, not the
// critic's, which may be a service.
//
// 2026-11-22: all known pages are scored anew when a twentieth more was visited, after 10 pages at least. In
// a crawl of n pages that is 20 ln n times, a number of scores linear in n, where a fixed distance made it
// quadratic.
//
// 2026-11-22: what was learnt is in memory: some 200 bytes a known URL, and 4 a distinct word of each visited page.
package interest
