// Package clickhouse holds what Forager keeps in ClickHouse: tables that load-clickhouse fills,
// views to read, and questions worth asking.
//
// 001_tables.sql (and later numbers) is what a database is made of; a file that was released
// is never changed, a change is a new file. views.sql is made anew whenever it changed.
// queries.sql holds the documented questions, archive.sql those to the archive's Parquet files; a
// test runs each.
//
// # Reading
//
// Read the views. requests, fetches, judgements, verdicts, links, leaps, boundaries, models,
// hubs, controls, statuses and letters hold each record of their topic once, the first one, also
// while duplicates are still in the tables (NAME_rows). found has also the records of link.found that
// are no verdicts. pages joins what is known of each request; books counts the records of a crawl in
// each topic and has the XOR of their ids, as crawl.status does; segments lists what holds pages.
//
// # Decisions
//
// 2026-11-21: one table for each topic, rather than one row a page written by several stages:
// a row is a function of one record, so replays need no state and verify can compare each
// table with its topic. pages is a view; it costs a join when it is read.
//
// 2026-11-21: no partitions. The sorting keys begin with the crawl, so a crawl is read without
// the others, and what a duplicate might change decides about nothing.
//
// 2026-11-21: void requests (of an owner that had lost its partition) are rows like others; the
// view requests leaves them out by the epoch markers in markers_rows. The loader needs no
// memory of epochs, and a loader that begins anew comes to the same.
package clickhouse
