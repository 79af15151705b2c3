// Package analytics writes and reads ClickHouse: the tables of schemas/clickhouse. It is the
// only user of clickhouse-go, over HTTP only, so that a ClickHouse server and the embedded
// ClickHouse of infra/local serve it alike.
//
// Open connects lazily: ClickHouse may come later. Migrate makes the database, its tables and
// views; Check compares them without changing anything. Insert writes the rows of one table at
// once. Query, Each and Copy read.
//
// An error is one of three: Unavailable (the server is away or too busy; waiting helps), the
// context's, or else for good: a table is missing, a password is wrong, a statement cannot be run.
//
// # Decisions
//
// 2026-11-21: an insert names its columns by the tags of the row's type, and the driver asks the
// server for their types, so that a table of another version is an error and not a mix-up.
//
// 2026-11-22: the types are asked for once and kept until an insert fails, not before every insert as the
// driver does by itself. Rows in a type that a column had before are converted by the server, or refused.
//
// 2026-11-22: DeleteCrawl marks rows as deleted, which writes one column, and leaves their removal to the background.
// To rewrite whole rows at once took 25 to 45 MiB a part: in the embedded ClickHouse, which had that much no more after
// 600,000 leaps, the statement failed and was tried for ever, beside merges that failed by it; marking takes 2 MiB.
//
// 2026-11-22: the driver is given columns, .65 of the CPU that it takes for rows, of which it makes maps.
//
// 2026-11-21: no insert tokens and no asynchronous inserts: batches differ after a crash, and
// what is not in the table may not be acknowledged.
package analytics
