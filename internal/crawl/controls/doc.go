// Package controls keeps the control record in force of every crawl, from the compacted topic crawl.control. A stage
// passes it records from stream.Follow and looks crawls up while it handles other records.
//
// Of two records of one revision the first counts; later ones, and those of lower revisions, are ignored
// (docs/decisions/0113). A record that changes what never changes during a crawl is refused, and prioritize writes the
// one in force again (docs/decisions/0114).
package controls
