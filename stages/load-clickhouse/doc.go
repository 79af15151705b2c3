// Command load-clickhouse writes what the topics say into ClickHouse.
//
// In: crawl.control, crawl.status, fetch.requested, page.fetched, page.judged (with the page
// inside it), link.found, leap.settled, model.published, hub.ranked, dead.letter. Out: nothing but
// dead.letter. crawl.control is also followed, to its end first: records of a deleted crawl make no
// rows, so that loading again does not bring back what was deleted.
//
// Touches: ClickHouse (clickhouse.* of pipeline.yaml). It makes the tables where they are missing,
// as forager setup does.
//
// State: none but the offsets of its consumer group. A row is a function of one record. Built anew
// by `forager reload`, as far back as the topics go.
//
// Batches: records of all partitions that the process has, up to batch_rows rows or flush time,
// one insert a table; the offsets are committed once every insert succeeded.
//
// Why running twice is safe: a record inserted twice is two rows with one key, of which the
// tables keep the one of the smallest offset, and which the views show as one. Nothing depends on
// where batches end.
//
// Refuses: a record that cannot be decoded goes to dead.letter. ClickHouse away or overloaded:
// waits and says so. A table that is missing or of another version: stops.
//
// # Decisions
//
// 2026-11-21: void requests are loaded, too (see schemas/clickhouse), so that nothing need be
// remembered between records.
//
// 2026-11-21: page.parsed is not read: page.judged holds its bytes, and what is worth counting of a
// page stands in the same row as its judgement.
//
// 2026-11-21: rows.go says of each record field by field what becomes of it. One function for all
// by reflection or by tags would save a few lines, and a field that nobody mapped would show as an
// empty column instead of not being there to read.
//
// 2026-11-22: rows are inserted every two seconds, not every second. An insert has a price of its own, and its
// part another one when it is merged, however few its rows are: on webkb with its dead links ClickHouse took a third of the
// CPU of the embedded parts, and takes a quarter of what is less now.
//
// 2026-11-22: every four seconds, not every two: half as many batches of two such crawls took some .77 of the CPU of writing and merging
// their rows, here and in ClickHouse together. The tables lag behind the topics by some five seconds.
package main
