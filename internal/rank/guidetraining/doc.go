// Package guidetraining makes the training data of guides (package pageguide) from a stored web: the pages of a WARC
// file with the links among them, or with the links of an edge file (package edgefile) instead. An exported crawl is such a
// WARC file.
//
//	WARC file, edge file → Web → Lessons
//
// All pages are parsed once for their links, which stay in memory as numbers, and a page is parsed again when its text is
// needed. Redirects are followed: a link to a redirect is a link to its page.
package guidetraining
