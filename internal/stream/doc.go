// Package stream is the loop of every stage: records in from Kafka, records out to Kafka,
// input committed once its output is acknowledged. It is the only user of kafka-go.
//
//   - Client: Produce, Read, Offsets, Partitions, Setup, Check, Follow.
//   - RunStateless: in parallel, out in the order of the input (parse-dom, critic-score, …).
//   - RunUnordered: out as it comes, committed up to the lowest record under way (fetch).
//   - RunBatched: many records at a time into a store of its own (load-clickhouse).
//   - RunStateful: one store a partition, state and offset in one batch (prioritize, apprentice-train).
//
// # Guarantees
//
// At least once: a record may come twice, after a crash, a rebalance or a retry; none is lost.
// The order within a partition is kept by Produce, and by RunStateless from input to output.
// What is in flight is bounded, in records and bytes.
//
// An error is one of these, and errors.go alone decides which:
// unavailable – wait with back-off for ever, log it, show it in forager_stage_waiting;
// of the record – bounded tries, then dead.letter together with what Poison lets travel on;
// broken – stop, exit non-zero (offset out of range, schema version unknown, setting refused);
// lost – the generation is over; drain and join again.
//
// When a generation ends (rebalance, SIGTERM) no more records are begun, those begun have half
// the session timeout to end, what is done is sent and committed, the rest is left to the next
// owner. A commit names the generation, so that one that comes too late is refused.
//
// # Decisions
//
// 2026-11-21: Client.Produce and Client.Fetch of kafka-go are used, not its Writer and Reader.
// The Writer lingers, queues without bound and fails where it should wait; with one batch a
// partition on its way, and the next one formed meanwhile, nothing lingers and order is certain.
// The Reader hides offsets out of range and transient errors; Fetch shows the end of the
// partition with every answer, which is the lag.
//
// 2026-11-21: a panic of a stage's logic is an error of its record (tries, then poison). A
// process that died of it would die again at every restart, and with it every crawl, for
// the sake of one page; dead.letter holds the record and the stack.
//
// 2026-11-21: a record without a schema version is poison (some other program wrote it); one
// with a version unknown here is broken (a newer Forager wrote it, and goes on writing).
//
// 2026-11-21: records that nothing else orders go on in the partition with the number of the one
// they came in (Along), not in that of their key's hash: a batch of a few pages was scattered over
// all partitions of every topic on its way, a request for each page and hop. page.parsed and
// page.judged keep their key, the request's id; a host's pages stay in one partition, as they are
// from fetch.requested on.
//
// 2026-11-21: Batched asks the broker for half a MiB or half a second's records at a time. Asked
// for any record at all, the embedded broker answered a fetch for each of them.
//
// 2026-11-22: outputs of a stateless stage go out together with those of records that are in flight, for
// which they wait 20 ms at most; what is alone waits for nothing. Of what one fetch brought the first output
// went out by itself and the others in two or three requests, and every hop made smaller ones of them:
// page.judged of webkb with its dead links came in batches of 8, half of them of one record; now of 23. A
// stateful stage may say how long it rests between two fetches (Rest), which prioritize does while verdicts
// come many at once.
//
// 2026-11-22: an owner's look for newer claims costs one request. It cost five: ListOffsets is a request for
// each offset, Read asked for both ends again, and what it read were the owner's own decisions. Together with
// the outputs that go out together, webkb with its dead links makes 3,300 writes instead of 7,700 for its
// 13,429 requests. With what changed that day elsewhere (inserts, collection of garbage, goroutines kept) a
// page of it costs .76 of the CPU in all processes: 8.6, 7.5 and 7.4 ms where the build before took 10.2,
// 10.1 and 10.5 in turns with it; without dead links 2.9 and 3.1 for 3.6 and 4.3, on simweb 5.2 and 5.9 for
// 5.5 and 6.7, at no fewer pages/s in sum (forager bench, soft-focus). The loop at full speed takes longer on
// simweb (428 and 259 ms for 279 and 138), as its window holds more; when idle it is as before, 5 to 9 ms.
//
// 2026-11-22: every partition has batches of its own. With two partitions a topic instead of four a page of webkb with its dead
// links cost .79 and .88 of the CPU in all processes (two pairs in turns on a busy machine), and the loop took no longer (77 ms
// for 87, soft-focus). pipeline.yaml keeps four, so that a stage may have four replicas: the number is fixed once topics are
// made. A single processor for each process (GOMAXPROCS), for the sake of fewer wakings, saved nothing: 1.05.
//
// 2026-11-21: in a compacted topic an offset before the first record is no loss: whatever was
// removed has a newer record behind it, and reading goes on there. (The embedded broker moves
// the first offset when it compacts.)
//
// 2026-11-21: a full disk holds up whoever writes state, like a broker that is away: see
// patientFS. A Sync that fails for lack of room is tried again, which is sound here because no
// commit waits for the disk anyway: what a crash loses is rebuilt from the topics.
//
// 2026-11-21: a Store keeps a transaction in a tree of its own (changes) and not in Pebble's
// indexed batch, and writes a commit beside the next transaction, which reads through both. Keys go
// to Pebble once each and sorted; that halved what its write buffer costs. The state on disk lags by a
// commit more than before, which no owner can tell from a crash a commit earlier.
//
// 2026-11-22: an error that no broker answered with closes the client's idle connections. kafka-go keeps
// those of a broker that went away until each has failed once; with eight of them a client came back nine
// seconds after its broker.
//
// 2026-11-22: eight flushes are written into the first level of a Store together, not two as Pebble would
// have it. Of what a frontier writes the greater part are leaf tables, which stand apart, so two flushes of
// 20 MiB were some 8 MiB of keys, for which up to 160 MiB were rewritten. From 400,000 to 800,000 URLs of a
// frontier with the memory that is shipped compactions wrote 172 MB instead of 558, and a new URL took 80 µs
// of CPU instead of 93 (with four flushes 82). Reads look through up to eight flushes, nearly all by their
// Bloom filters.
//
// 2026-11-22: what a process holds, and Go's collector doubles, was looked at in a crawl of 100,000 pages.
// Buffers for lz4 blocks of 4 MiB were 16 to 24 MiB in each stage, three quarters of critic-score's heap;
// written frames have blocks of 256 KiB (codec.go). A Store brought its cache room for full write buffers
// when it was opened; where one partition of four is written, prioritize's cache of 64 MiB held 184. The room
// comes as buffers grow. Both together: of all processes 2.2 GB instead of 2.8 after 60,000 pages, of
// prioritize 570 MB instead of 740, at the same CPU time a page beside that of the other stages.
package stream
