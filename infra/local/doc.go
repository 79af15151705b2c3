// Command local serves the embedded parts of Forager in one process, for one machine: a Kafka
// broker, an S3 endpoint and the HTTP interface of ClickHouse, each at its address of
// pipeline.yaml, on loopback only, durable in DATA/local.
//
//	local -config pipeline.yaml                      every part whose address is a loopback address
//	local -config pipeline.yaml -parts s3,clickhouse these parts
//
// It prints a line for each part when clients can connect to it, then "ready". SIGTERM and
// SIGINT finish what is under way and stop; a second one stops at once. Killed, it loses
// nothing that it acknowledged. Two of them cannot share a data folder.
//
// The parts are packages of their own, so that tests start them in process: kafka, s3,
// clickhouse (over chdb); each says in its package comment what it cannot do.
//
// ClickHouse needs the engine's library: `make deps` brings it by npm. It is looked for where
// the environment variable FORAGER_LIBCHDB says, then in node_modules at or above the working
// directory and the program.
//
// # Decisions
//
// 2026-11-21: parts whose address is not a loopback address are not served and said to be
// elsewhere, so that one pipeline.yaml may mix own servers and embedded ones.
package main
