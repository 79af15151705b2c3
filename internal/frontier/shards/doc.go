// Package shards decides how the shards of one crawl share its budget and its window, and detects the end of the
// crawl. It has no side effects: the stage prioritize carries the notes, as records of link.found to each shard's
// partition, and package frontier obeys the leases. coordinator decides for shard 0; follower decides for another shard when
// to report.
//
// # Leases
//
// Shard 0 gives every shard a lease: levels up to which it may use the crawl's pages, requests and window. Levels are
// absolute: pages and requests charged and in flight since the crawl began, requests in flight now. A shard
// dispatches while it uses less than each level; it never asks for permission to dispatch one more request.
//
// A level that is raised may be used at once. A level that is lowered counts as lowered when the shard reports that
// it has read it, and then as the larger of the level and of what the shard used by then; a shard above its level
// dispatches nothing. coordinator never lets the sum of what shards may use pass the limit; of a shard that has not reported
// yet the larger level counts. Levels are cut from what is left in chunks that shrink with it, so that the last page
// of a budget can be spent by any shard, and a shard that holds more than it can use loses it when another has
// nothing left.
//
// # Change of owners
//
// coordinator keeps no state. A new owner of shard 0 begins with a note of its epoch to every shard, which lets it keep its
// lease. From then on a shard ignores notes of lower epochs, and its report contains the lease that it holds. coordinator
// changes no lease until all shards have reported; of its own shard's lease only what is used remains. So whatever a
// former owner promised has either been read before that note, and is known, or is void.
//
// A shard's lease follows from its input and survives with it. A report must be true for every later owner of the
// shard, too: it describes the end of a step after which no newer owner had claimed the partition
// (stateful.Result.Look). A later owner reads the same records and recovers the same dispatches before it dispatches
// anything (docs/decisions/0110).
//
// # The end
//
// A report contains the offset up to which the shard has applied its input, and the offsets of the links that it has
// sent to others. The crawl is at rest when no shard has requests in flight or could dispatch, and every shard has
// applied all that was sent to it. These are the vector counters of Mattern (Algorithms for distributed termination
// detection, 1987, §6) with offsets instead of counts. The newest reports suffice: a shard at rest can only be
// activated by links, and the sender's report names the links that activated the first one after its report. Offsets,
// unlike counts, stay right when an owner sends records again after a crash. coordinator then sends every shard the reason
// for the end. What activates the crawl again from outside (seeds, another budget) shows in shard 0's own state or in
// a report.
package shards
