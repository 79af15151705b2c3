// Package column describes the columns that are made of records: options of messages in schemas/*.proto (column.proto) list, for
// each ClickHouse table and for the archive, the columns with the fields that they come from. Nothing else lists them.
//
// Tables and Archives resolve the options. From them schemas/generate writes the rows in Go with their conversion from records
// (internal/platform/analytics and internal/platform/archive), schemas/clickhouse the statements that create tables, and
// infra/oracles/dump what the oracle of the archive expects.
package column
