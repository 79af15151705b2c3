// Package crawls starts crawls, sends them seeds, waits for them and describes their status. It also
// fetches lists of URLs by a crawl (docs/decisions/0502) and estimates harvest rates from marked
// pages.
package crawls
