// Package lessons makes lessons for guides (package localguide) of a web that was stored before: the pages of a WARC file with
// the links among them, or with those of a file of edges in their stead. A crawl is a WARC file, too, once it is exported.
//
// Pages are parsed once for their links, which stay in memory as numbers, and again when their text is asked for.
// Redirects are followed: a link to one leads to its page.
package lessons
