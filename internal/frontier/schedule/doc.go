// Package schedule computes at how many pages something is due that reads a whole crawl: a new model, after which
// every entry of the frontier is scored again, a ranking of the hubs among all pages, or a guide trained on them (RenewalDue).
//
// Last returns the last number of pages at which it was due. In a small crawl these numbers are first, first + every,
// first + 2 every, …; from 20,000 pages on it is due when the crawl has grown by a tenth, or by every if that is
// more. So the work is a constant for each page (docs/decisions/0103).
package schedule
