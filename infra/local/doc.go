// Command local serves the embedded parts of Forager in one process, for one machine: a Kafka
// broker, an S3 endpoint and the HTTP interface of ClickHouse, each at its address of
// pipeline.yaml, on loopback only, durable in DATA/local.
//
//	local -config pipeline.yaml                      every part whose address is a loopback address
//	local -config pipeline.yaml -parts s3,clickhouse these parts
//
// Parts with other addresses are not served and are reported as such, so that one pipeline.yaml
// may combine the operator's own servers with embedded ones.
//
// It prints a line for each part when clients can connect to it, then "ready". On SIGTERM and
// SIGINT it finishes what is in progress and stops; a second signal stops it at once. When it is
// killed, nothing acknowledged is lost. Two processes cannot share a data folder.
//
// The parts are packages, so that tests can start them in process: kafka, s3, clickhouse (which
// uses chdb). Their package comments list their limits.
//
// ClickHouse needs the engine's library: `make deps` installs it by npm. It is the file that the
// environment variable FORAGER_LIBCHDB names, or that of a node_modules folder at or above the
// working directory or the program.
package main
