// Package floor does the least that a crawler has to do, by nothing but net/http and html.Parse:
// it fetches a list of URLs and parses the pages. What Forager costs is told in multiples of it.
package floor
