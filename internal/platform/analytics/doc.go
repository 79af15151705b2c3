// Package analytics writes and reads ClickHouse: the tables of schemas/clickhouse. It is the only user of clickhouse-go, over
// HTTP only, so that a ClickHouse server and the embedded ClickHouse of infra/local are used alike.
//
// Open does not connect: ClickHouse may start later. Migrate creates the database, its tables and views, and adds columns that
// are missing; Check compares them and changes nothing. Insert writes rows of one table; a column that the table does not have is an
// error. The types of rows, their columns and their conversion from records are generated from the options in schemas/*.proto; rows.go computes what is no field of a record. Query, Each and Copy read; the queries of
// commands are methods with typed results. DeleteCrawl deletes the rows of a crawl.
//
// An error is one of three: Unavailable (the server is unreachable or overloaded; waiting helps), that of the context, or
// permanent: a table is missing, a password is wrong, a statement cannot be run.
//
// docs/decisions/0206 has the reasons for the way rows are inserted and deleted.
package analytics
