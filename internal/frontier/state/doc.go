// Package state has what is stored of a shard, and reads and writes it.
//
//	Entry     what is known of one URL, with the pending leaps into it (Link); Records reads and saves them
//	Page      a judged page with pending links, its leaf table, and what some rankers need of its links; Pages
//	Counters  numbers of the whole shard, stored as one value at the end of a call that changes them
//	Keys      the keys of all that is stored; key.go lists them
//
// Values begin with a version byte and are described by their append functions. State of another layout is refused: it is
// rebuilt from the topics, never converted (docs/decisions/0106). Ordinals count discovered URLs from 1; a page's number is the
// shard's clock, which counts applied records of link.found.
//
// Records and Pages keep what was used last in memory, within bounds that the caller sets. What they return is shared: a caller
// that changes an entry or a page saves it before the call of the shard ends.
package state
