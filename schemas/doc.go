// Package schemas holds what the rooms of Forager promise one another: the records that
// travel through Kafka (one .proto and its generated .go each), their topics, keys, ids and
// headers, and the table that says what follows from every outcome of a request.
//
// # Rules
//
// A record's id names the thing, not its bytes: a request is (crawl, canonical URL, attempt),
// a leap (crawl, u, v), a model (kind, crawl, version). Records may come twice; the first
// record of an id wins everywhere.
//
// page.* and link.found carry the bytes of the FetchRequest unchanged. Only fetch and
// prioritize decode them.
//
// prioritize reads of the answers nothing but link.found. So that crawl.status can say where the
// records of page.* stand, every stage between adds the place of the record it read to the header
// "trail" (ParseTrail).
//
// # Versions
//
// Every Kafka message has the header "v", the schema version it was written with, in decimal;
// this package writes Version and reads 1..Version. A reader stops loudly at a version it does
// not know. Within a version fields are only added, with a zero value that means "as before";
// a number once used is never used again: a removed field is reserved by number and name. What
// cannot be said that way is a new version, and readers of the old one stay. testdata/v1 holds
// stored bytes of each record, written once; they are decoded in a test for ever.
//
// # Decisions
//
// 2026-11-21: the apprentice's schedule is written into leap.settled as boundary records, at
// page counts, by prioritize. It owns the clock (pages delivered), so that a model's training
// set does not depend on batching and the pipeline and an experiment choose alike.
//
// 2026-11-21: an owner's epoch is the offset of its claim in partition 0 of fetch.requested:
// unique and rising without a second coordinator.
//
// 2026-11-21: crawl.control and model.published are read to their end, without a group, by the
// stages that look things up in them, not by every process: crawl.control by all stages but
// archive-parquet, model.published by critic-score and prioritize. Whoever needs neither waits for
// neither.
//
// 2026-11-21: crawl.status has spans of the topics of a page's journey and of leap.settled. Of
// compacted topics a span would say nothing, and letters are written by stages that no crawl's
// owner hears of.
package schemas

//go:generate go run ./generate
