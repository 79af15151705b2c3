// Command prioritize decides which URL is fetched next, and keeps the ledger of leaps.
//
// # Card
//
// Purpose: the frontier (package frontier) of every crawl, and the exchange between the shards of one crawl (package
// shards). Shards are spread over the partitions of link.found by their key.
//
// In: link.found. Read to their end at the start, and followed: crawl.control, model.published, hub.ranked, and
// crawl.status (to write a status again if one of a former owner followed it).
//
// Out: fetch.requested, which is also the log of decisions; leap.settled; crawl.status, at every change of state and
// otherwise once a second at most; link.found for other shards of a crawl: links to their hosts, and notes (header
// "from"); crawl.control, where the record in force has to be restored (docs/decisions/0114).
//
// Serves: answers to questions about URLs, and lists of queued ones (frontier/why.Path), from snapshots of the stores, next to the metrics; without an address of
// these on a loopback port, which is with a token in a file of the state directory.
//
// Uses: the object store, read only, for URL lists and apprentice models, which are fetched outside the loop.
//
// State: in Pebble, one store for each partition: the shards; for each crawl the offsets of its records and the last
// boundary and the control record in force; records that wait for their crawl. It is rebuilt by replay of link.found and fetch.requested: the
// requests in the log are in flight, whatever would be chosen now, and nothing is dispatched before the end of
// link.found, as of the start, is reached.
//
// Memory: frontier_bytes, divided evenly among the shards that are in memory (package frontier describes what that
// bounds); Pebble's block cache, cache_bytes; for each partition that is written two write buffers of an eighth of
// frontier_bytes, 64 MiB at most. Garbage of the Go runtime comes on top, up to as much again.
//
// # Behaviour
//
// A crawl that lacks something waits, and the others go on: without a control record or its URL list, or while the
// model that its state ranks by is fetched, its records (and decisions to be recovered) are parked in the store, in
// order, and applied before any later one once the crawl is ready (docs/decisions/0032). A newer model that cannot be
// fetched or read leaves the current one in use; the status names the cause.
//
// Fairness: each step takes some hundred records; then each crawl, another one first each time, may score and
// dispatch a slice. So re-scoring, dispatch or parked records of one crawl delay the others of its partition by
// milliseconds. Records of the input are applied in their order: a verdict waits for those of other crawls before it,
// of each crawl at most its window. A window of many thousands, set by hand, may delay the crawls of its partition
// for as long as its verdicts take when they all come at once, as after an outage.
//
// Replays: forager dead replay asks through link.found for another attempt at a request that a stage could not handle
// (frontier/replay.go).
//
// A deleted crawl: its state is dropped, later records of it are ignored, and its last status has the reason
// "deleted". A finished crawl leaves memory (docs/decisions/0111).
//
// A disk with less free space than disk.pause_below pauses every crawl: nothing is dispatched or scored again, status
// contains the reason, and what is in flight ends; the crawls go on when there is space again (package disk). A full
// disk delays commits.
//
// Refuses: records that cannot be decoded or whose numbers are out of range go to dead.letter, and the request named
// in their headers gets the outcome failed:feature-extract, so that it does not stay in flight. A control record that
// cannot be run (another number of shards, unknown policy, no budget): a crawl that never ran gets the status
// finished, "refused: …"; one that runs continues with the former record, and its activity names the problem.
//
// A record that makes the stage fail (a panic) is skipped, and its request gets the outcome failed:feature-extract; a
// crawl that fails by itself is parked, with its records, until its control record has a newer revision
// (docs/decisions/0033).
//
// Running it twice is safe: see stateful.Owner. Verdicts count once, by request id; leaps and boundaries that are sent
// again are the same records.
package main
