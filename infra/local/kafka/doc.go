// Package kafka serves a Kafka broker from this process: kfake, a broker in pure Go that
// implements the Kafka protocol and keeps topics, records and group offsets in a folder. Start
// serves a folder, Broker.Close stops it.
//
// Differences from Apache Kafka:
//   - there is one copy of every partition; replication above the number of brokers is refused.
//     Acknowledged means written to the file, not fsynced: a killed process loses nothing, a
//     power failure may;
//   - no TLS, loopback addresses only, one user (SCRAM-SHA-256) with all rights;
//   - connections, the size of requests and the time that they take to arrive are limited, before
//     authentication more than afterwards (limits.go, docs/decisions/0073);
//   - a start reads every segment: about 1.6 s and 1.1 GB of memory for each GiB, so keep
//     retention small;
//   - with less than 80 MiB free on its disk it accepts no records and no offsets: clients get
//     an error and retry (full.go);
//   - topics are not created on demand; `forager setup` creates them;
//   - retention and compaction run every 15 s, on segments of 16 MiB (kfake's defaults, an hour
//     and 100 MiB, would never delete anything at the size of one machine);
//   - a group member that dies between its join and its sync is never removed: its partitions
//     are not consumed until a member joins or leaves (start or stop any replica of the stage).
package kafka
