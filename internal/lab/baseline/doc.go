// Package baseline measures the least cost of a crawler with net/http and html.Parse alone: it fetches a list of URLs and parses
// the pages. The cost of Forager is reported in multiples of it.
package baseline
