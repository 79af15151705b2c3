// Package sizing computes what a crawl takes: processors, bytes of Kafka, S3 and ClickHouse, and state, from what a page, a link and a
// request cost in a measured crawl. docs/sizing.md has its results and what it leaves out.
package sizing
