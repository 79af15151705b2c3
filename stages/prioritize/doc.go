// Command prioritize decides which URL is fetched next, and keeps the ledger of leaps.
//
// # Card
//
// Purpose: the frontier (package frontier) of every crawl, and what the shards of one owe one
// another (package shards); shards are spread over the partitions of link.found by their key.
//
// In: link.found. Followed to their end first, and on: crawl.control, crawl.status (to write a status
// again that an outdated one of a former owner followed), model.published. Out:
// fetch.requested, which is also its decision log; leap.settled; crawl.status, at every change of
// state and at most once a second else; link.found, for other shards of a crawl: links to their
// hosts, and notes (header "from").
//
// Touches: the object store, read only, for URL lists and apprentice models; they are fetched
// beside the loop.
//
// State, in Pebble, a store a partition: the shards; of each crawl the offsets of its records and
// the last boundary; records that wait for their crawl. It is rebuilt by replay of link.found and
// fetch.requested: what the log says was dispatched is in flight, whatever would be chosen now,
// and nothing is dispatched before the end of link.found, as of the start, is reached.
//
// Memory: frontier_bytes, divided evenly among the shards that are awake (package frontier says
// what that bounds and what not); Pebble's block cache, cache_bytes; and for each partition that is written
// two write buffers of an eighth of frontier_bytes, 64 MiB at most. Go's garbage comes on top, up to as much again.
//
// A crawl that lacks something waits, the others go on: without a control record or its URL
// list, or while the model that its state ranks by is being fetched, its records (and decisions to be
// recovered) are parked in the store, in order, and applied before any later one once the crawl
// is ready. A newer model that cannot be fetched or read leaves the one in use; status says so.
//
// Fairness: each step takes some hundred records; then every crawl, another one first each
// time, may score and dispatch a slice. So one crawl's re-scoring, dispatch or parked records hold up the
// others of its partition by milliseconds. Records of the input are applied in the order in which they came:
// a verdict waits for those of other crawls before it, and of each crawl there are no more than its window,
// 1,024 where that is found by trying. A window of many thousands, set by hand, may hold up the crawls of its
// partition for as long as its verdicts take when they all come at once, as after an outage.
//
// Replays: forager dead replay sends an ask through link.found for another attempt at a request
// that a stage could not handle; what follows stands at frontier's replay.go.
//
// A crawl that is to be deleted: its state is dropped, whatever still comes of it is ignored, and
// its last status says "deleted".
//
// A disk with less room than disk.pause_below holds up every crawl: nothing is dispatched or
// scored again, status says paused and why; what is in flight ends, and when there is room again the
// crawls go on (package disk). A disk that is full all the same holds up commits.
//
// Refuses: records that cannot be decoded or whose numbers are out of range: dead.letter, and the
// request named in the headers is answered as failed:feature-extract, so that it does not stay
// in flight for ever. A control record that cannot be run (other shards than before, unknown policy,
// no budget): a crawl that never ran gets the status finished, "refused: …"; one that runs goes
// on as before and says so in its activity.
//
// A record that makes the stage fail (a panic) is skipped, and its request answered as failed:feature-extract; a crawl
// that fails by itself is left aside, with its records, until its control record has a newer revision
// (docs/decisions/0033).
//
// Running twice is safe: see stream.Owner. Verdicts count once, by request id; leaps and
// boundaries sent again are the same records.
//
// # Decisions
//
// 2026-11-21: of 768 MiB the frontier has 160, not 256. At 4,000,000 URLs the process took 816 MiB
// with 256, and 617 with 160 at about the same rate (58,000 and 73,000 links a second in two runs, 65,000
// before): near its limit the collector costs what memory saves in reads.
//
// 2026-11-22: how memory grows, and what it saves, in crawls of 60,000 pages (290,000 URLs; forager soak): as shipped, 260 MiB
// in use and 550 taken, reached after 40,000 pages; with 32 MiB of frontier and 16 of cache 100 in use and 240 taken, most
// of it after 6,000. A page then takes 1.2 times the CPU here, and 1.05 times that of all processes (beside the stages
// that the frontier does not touch, in the same run). So the settings stay.
//
// 2026-11-21: after many entries were scored again under a new model, the next model is taken only
// after twice the time that took. Models come every 100 pages; scoring 300,000 entries takes longer
// than those, and without a rest it took one processor for ever: 6.7 ms a page instead of 0.7. Not with
// learn.sync, which waits for each model, and not for a pinned one.
//
// 2026-11-21: a finished crawl is put away: its shard leaves memory, its last status is kept and
// repeated by every new owner, lest an older one's stand. A record or a control record of higher
// revision brings it back.
//
// 2026-11-21: statuses of one epoch have rising times, so that readers of a topic in which copies
// may come late can tell the newest: highest epoch, then latest time.
//
// 2026-11-21: a boundary that no model has answered for half a minute while dispatch waits for it
// is sent again. apprentice-train then repeats its announcement, which compaction may have
// removed behind a late copy of an older one.
//
// 2026-11-21: a report of one shard to another is sent by the step behind the one whose end it
// describes, and that one looks for newer owners though it may have nothing to send
// (stream.Result.Look). What was read before a look, and decided, every later owner knows before
// it decides anything; so a report stays true whoever has the partition then.
//
// 2026-11-21: notes among shards stand in link.found and not in a topic of their own: their order
// beside verdicts and links is what makes a shard's lease, and what it has applied, a matter of its
// input alone. Their header "from" tells them from verdicts before anybody decodes them.
//
// 2026-11-22: verdicts gather for 20 ms where four or more came at once (main.go, rest). On webkb with its dead links leaps
// were settled in 372 steps instead of 954, and fetch.requested came in batches of 24 instead of 10.
package main
