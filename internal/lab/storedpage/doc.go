// Package storedpage is the form in which the parsed pages of a web are kept in a file. Stored pages have the numbers of their terms, and
// what is decoded of them shares the terms: looking the terms of each page up took as long as judging it.
//
//	parsed page → Encode → Terms.Put → bytes in a file → Section.Page → parsed page
//
// The Terms of a web are kept next to its pages.
package storedpage
