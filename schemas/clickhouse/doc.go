// Package clickhouse contains the ClickHouse schema: tables that load-clickhouse fills, views to read, and documented queries.
//
// The tables and their columns are described by options of messages in schemas/*.proto (package column); Tables has the statements that
// create them. Within a version columns are only added. views.sql is applied again whenever it or a table has changed. queries.sql
// has the documented queries, archive.sql those for the archive's Parquet files. docs/queries.md and the monitor show them; the results of
// the former are compared with a recount of records (stages/load-clickhouse).
//
// # Reading
//
// Read the views. requests, fetches, judgements, verdicts, links, leaps, boundaries, models, hubs, controls, statuses and letters
// have each record of their topic once, the first one, also while duplicates are still in the tables (NAME_rows). found also has
// the records of link.found that are no verdicts. pages joins what is known of each request; books counts the records of a crawl in
// each topic and has the XOR of their ids, as crawl.status does; segments lists what contains pages, outages when shards could not use the
// network.
//
// A record that comes twice is inserted twice; of rows with equal keys ReplacingMergeTree keeps the first record's. Each topic has a
// table of its own and no table is partitioned; void requests are rows like others, which the view requests leaves
// out by the epoch markers in markers_rows (docs/decisions/0206).
package clickhouse
