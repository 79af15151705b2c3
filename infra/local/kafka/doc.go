// Package kafka serves a Kafka broker out of this process: kfake, a broker in pure Go that
// speaks the real protocol and keeps topics, records and group offsets in a folder.
//
// What differs from Apache Kafka:
//   - one copy of every partition, whatever replication a topic asks for beyond the number of
//     brokers is refused; acknowledged means written to the file, not fsynced: a killed
//     process loses nothing, a power cut may;
//   - no TLS, loopback addresses only, one user (SCRAM-SHA-256) who may do everything;
//   - connections, the size of requests and the time that they take to arrive are limited (limits.go), before
//     authentication more than afterwards;
//   - restart reads every segment: about 1.6 s and 1.1 GB of memory for each GiB kept, so
//     keep retention small locally;
//   - with less than 80 MiB free on its disk it takes no records and no offsets: clients are told
//     to try again;
//   - topics are never made by asking for them; `forager setup` makes them;
//   - a group member that dies between its join and its sync is never given up: its partitions
//     stand still until a member joins or leaves (start or stop any replica of the stage).
//
// # Decisions
//
// 2026-11-21: the log cleaner runs every 15 s (kfake's default is an hour) and segments have
// 16 MiB (default 100), as only whole closed segments are deleted: otherwise retention and
// compaction would never be seen on one machine.
package kafka
