// Package samples keeps what critics are trained on, and what their users say of pages later, where every
// operator finds it: in the object store, each critic's by its name.
//
//	examples/CRITIC/DIGEST.jsonl.gz   the pages that a version was trained on
//	marks/CRITIC/TIME-RANDOM.json     one page that somebody marked as right or wrong
//
// Both hold the text of the pages, so that a critic can be trained again when the crawls that
// fetched them are deleted. Nothing is overwritten: a mark is an object of its own, and of several marks of one
// page the last one counts.
//
// # Decisions
//
// 2026-11-21: marks are objects, not records of a topic. They come by hand, a few a day, are kept for
// ever and read as a whole once a critic is trained again; topics forget, and none of the stages
// reads marks.
package samples
