// Package kafka is a client of a Kafka cluster for stages and commands. A Client
//
//   - writes messages: Produce keeps the order within a partition and waits for all in-sync replicas
//   - reads: Read (a range of a partition), Consume (without end), Follow (a compacted topic, to its end and on)
//   - runs the claims of a consumer group: RunGroup
//   - makes and compares topics, and looks at the commits of groups: Setup, Check, Lag, Behind, Committed, Parked, Rewind
//
// While the broker is unavailable all of them wait with back-off; the wait is logged and shown by the metric
// forager_stage_waiting. errors.go decides which errors of a broker are temporary and which stop the process. It is the only
// user of kafka-go.
package kafka
