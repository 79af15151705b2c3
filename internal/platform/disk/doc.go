// Package disk reports how much space is left where data is stored, so that crawls pause before a disk is full. Free returns
// the space of one file system; Watch checks a set of folders at most once a second.
//
// A folder that was found low is low until it has an eighth more than its limit, so that crawls do not pause and resume every
// second at the limit. prioritize does the watching for all stages (docs/decisions/0208).
package disk
