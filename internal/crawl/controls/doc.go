// Package controls keeps the newest control record of every crawl, from the compacted topic crawl.control. A stage
// passes it records from stream.Follow and looks crawls up while it handles other records.
//
// Of two records of one revision the first counts; later ones, and those of lower revisions, are ignored
// (docs/decisions/0113).
package controls
