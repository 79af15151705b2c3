// Command load-clickhouse writes the records of the topics into ClickHouse.
//
// # Card
//
// In: crawl.control, crawl.status, fetch.requested, page.fetched, page.judged (which contains page.parsed), link.found, leap.settled,
// model.published, hub.ranked, page.rejudged, dead.letter. Followed, first to its end: crawl.control; records of a deleted crawl make no rows, so that
// loading again does not restore what was deleted. Out: dead.letter only.
//
// Uses: ClickHouse (clickhouse.* of pipeline.yaml). It creates missing tables, as forager setup does.
//
// State: none but the offsets of its consumer group. A row is a function of one record. `forager reload` reads all records that the topics
// still have again.
//
// Batches: records of all partitions of the process, up to batch_rows records or for the time flush, with one insert a table, those of two
// topics at once; the offsets are committed once every insert has succeeded.
//
// Repetition is safe: a record inserted twice is two rows with one key, of which the tables keep the one with the smallest offset, and
// which the views show as one. Nothing depends on the bounds of batches.
//
// Sums: it keeps sums of each crawl (the view sums, docs/decisions/0532), computed again when its rows have become a tenth more, and when no more
// come. They are never of a part of the records twice.
//
// Rejected, with a dead letter: a record that cannot be decoded. While ClickHouse is unavailable or overloaded the stage waits and logs
// it. A table that is missing or of another version stops it.
//
// The columns of a record are options in its .proto, from which the conversion into rows is generated (package analytics).
// docs/decisions/0206 has the reasons for the tables and the size of batches.
package main
