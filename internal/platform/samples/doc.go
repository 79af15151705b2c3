// Package samples stores the pages that critics are trained on, and the marks that users give to judged pages, in the object
// store, by the name of the critic.
//
//	examples/CRITIC/DIGEST.jsonl.gz   the pages that a version was trained on
//	marks/CRITIC/TIME-RANDOM.json     one page that was marked as right or wrong
//
// Both contain the text of the pages, so that a critic can be trained again when the crawls that fetched them are deleted.
// Nothing is overwritten: a mark is an object of its own, and of several marks of one page the last one counts.
//
// Marks are objects and not records of a topic: they are made by hand, a few a day, are kept without limit and read as a whole
// when a critic is trained again. Topics have a retention, and no stage reads marks.
package samples
