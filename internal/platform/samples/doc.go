// Package samples stores the pages that critics are trained on, and the marks that users give to judged pages, in the object
// store, by the name of the critic.
//
//	examples/CRITIC/DIGEST.jsonl.gz   the pages that a version was trained on
//	marks/CRITIC/TIME-RANDOM.json     one page that was marked as right or wrong
//	draws/CRITIC/TIME-RANDOM.json     the pages that were drawn at random from a crawl, to be marked
//
// A draw names its population: how many pages of each verdict the crawl had at that time. Only marks of pages that are in a draw are
// a random sample, and only they estimate how many pages are on topic (Weights).
//
// The first two contain the text of the pages, so that a critic can be trained again when the crawls that fetched them are deleted.
// Nothing is overwritten: a mark is an object of its own, and of several marks of one page the last one counts.
//
// Marks are objects and not records of a topic: they are made by hand, a few a day, are kept without limit and read as a whole
// when a critic is trained again. Topics have a retention, and no stage reads marks.
package samples
