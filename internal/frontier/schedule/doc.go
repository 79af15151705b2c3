// Package schedule says at how many pages something is due that looks at a whole crawl: a new model, after
// which every entry of the frontier is scored again, or a ranking of the hubs among all pages.
//
//	pages delivered, first, every → Last: the last number of pages, up to these, at which it was due
//
// In a small crawl it is due at first, first + every, first + 2 every, …; once the crawl has 20,000 pages,
// when it has grown by a tenth, or by every if that is more.
//
// # Decisions
//
// 2026-11-22: what looks at n pages costs as n, so at equal distances it costs each page more, the longer the
// crawl is; a crawl of 200,000 pages with 200 models spent more on each page of its last tenth than of its
// first. By growth the work is a constant a page, 11 looks at most, and what is learnt of a tenth more pages changes
// little. Up to 20,000 pages, as many as crawls have that are compared with others, distances are equal.
package schedule
