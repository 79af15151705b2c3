// Package stream runs the stages of a pipeline on Kafka: it reads records, calls the logic of a stage, writes the
// records that follow and commits the input once that output is acknowledged. It is the only user of kafka-go.
//
//	c, err := stream.Dial(cfg.Kafka, cfg.Topics, log, registry)
//	err = stream.Stateless{Stage: "parse-dom", Inputs: …, Handle: …}.Run(ctx, c)
//
// # Kinds of stages
//
//   - Stateless: records are handled in parallel; outputs are sent in the order of the input
//     (parse-dom, critic-score, feature-extract).
//   - Unordered: outputs are sent as they come; the committed offset is the lowest one in flight (fetch).
//   - Batched: many records at a time are written to an external store (load-clickhouse, archive-parquet).
//   - Stateful: each partition has a Store, a Processor and an Owner; state and input offset are committed
//     together (prioritize, apprentice-train, distill).
//
// Client also reads and writes without a stage: Produce, Read, Follow (a compacted topic, to its end and on), Offsets,
// Lag, Setup and Check of topics, Rewind of a group.
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
// errors.go classifies every error of the broker and of a stage's logic:
//
//   - unavailable: wait with back-off without limit; logged, and shown by the metric forager_stage_waiting
//   - of the record: a bounded number of tries, then a dead letter, and the output of the stage's Poison function
//   - broken: stop and exit non-zero (offset out of range, unknown schema version, setting refused by the broker)
//   - lost: the generation is over; drain and join again
//   - ended: the context ended; the record is left to the next owner
//
// A panic of a stage's logic is an error of its record (docs/decisions/0201). A Stateless stage that names the crawl of a
// record (Unit) parks the crawls that lack an object and goes on with the others (docs/decisions/0032). A Stateful stage skips
// records and parks crawls that make its Processor fail (docs/decisions/0033).
//
// # State and epochs
//
// A Store is an ordered map on disk, whose commits include the offsets up to which the topics are reflected in it (package
// state), with the crawls that are parked and the records that were skipped.
//
// An Owner takes an epoch when it starts: it writes a claim to partition 0 of the decision log (fetch.requested), whose
// offset + 1 is the epoch, and then a marker to every partition of the log. It recovers the decisions of earlier owners up
// to its markers. Readers of the log ignore decisions of an older epoch after a marker of a newer one (Fence). Owner
// describes the order of writes and why no void decision is ever committed.
//
// Failpoint kills the process at a named point, for tests of recovery. Package crashtest runs owners under simulated
// crashes; package streamtest provides brokers for tests.
package stream
