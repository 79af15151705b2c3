// Package stream has what the programs of a pipeline share that exchange records through Kafka: records and messages,
// their headers, the epochs of a decision log, the classes of errors, and dead letters. It uses no broker. Below it are
//
//   - kafka: the client of the cluster. It produces, reads, follows compacted topics, joins consumer groups, makes topics and
//     measures the lag.
//   - metrics: the metrics and the health of a stage.
//   - runner: the loops of stages without state. Stateless handles records in parallel and keeps the order of its input
//     (parse-dom, critic-score, feature-extract); Unordered sends outputs as they come and commits the lowest offset in flight
//     (fetch); Batched writes many records at a time to an external store (load-clickhouse, archive-parquet).
//   - state, stateful: the store of a partition on disk, and the loop of stages with such a store (prioritize,
//     apprentice-train, distill).
//
// A stage is a declaration that is run on a client:
//
//	c, err := kafka.Dial(cfg.Kafka, cfg.Topics, log, registry)
//	err = runner.Stateless{Stage: "parse-dom", Inputs: …, Handle: …}.Run(ctx, c)
//
// # Delivery
//
// Delivery is at least once: after a crash, a rebalance or a retry a record may come again; none is lost. The order
// within a partition is kept by Produce, and by a Stateless stage from input to output. What is in flight is bounded, in
// records and in bytes. Every message has the header "v", the schema version. A record without it was written by another
// program and goes to dead.letter; one of a newer version stops the stage.
//
// When a generation of the consumer group ends (rebalance, SIGTERM) no further record is begun. Those in flight have half
// the session timeout to end, finished ones are sent and committed, and the rest is left to the next owner. A commit
// carries its generation, so that the broker refuses a late one.
//
// # Errors
//
// Every error of the broker (package kafka) and of a stage's logic (ClassOf) has a class:
//
//   - unavailable: wait with back-off without limit; logged, and shown by the metric forager_stage_waiting
//   - of the record: a bounded number of tries, then a dead letter, and the output of the stage's Poison function
//   - broken: stop and exit non-zero (offset out of range, unknown schema version, setting refused by the broker)
//   - lost: the generation is over; drain and join again
//   - ended: the context ended; the record is left to the next owner
//
// A panic of a stage's logic is an error of its record (docs/decisions/0201).
//
// # Epochs
//
// An owner of a partition takes an epoch when it starts: it writes a claim to partition 0 of the decision log
// (fetch.requested), whose offset + 1 is the epoch, and then a marker to every partition of the log. Readers of the log ignore
// decisions of an older epoch after a marker of a newer one (Fence). Package stateful describes how an owner recovers.
//
// Failpoint kills the process at a named point, for tests of recovery. Package crashtest runs owners under simulated
// crashes; package streamtest provides brokers for tests.
package stream
