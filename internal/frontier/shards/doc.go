// Package shards is how the shards of one crawl share its budget and its window, and how they
// find that it has ended. It is pure: the stage prioritize carries the notes, as records of
// link.found to each shard's partition, and package frontier obeys the leases.
//
// # Leases
//
// Shard 0 (Lead) gives every shard a lease: levels up to which it may use the crawl's pages,
// requests and window. A level is absolute: pages and requests charged and in flight since the
// crawl began, requests in flight now. A shard dispatches while it uses less than each level
// says; nothing else binds it, so it never asks for leave to dispatch one more.
//
// A level that is raised may be used at once. A level that is lowered counts as lowered when the
// shard reports that it has read it, and then as the larger of the level and of what it used by
// then: below, it dispatches nothing until it uses less. Lead never lets the sum of what shards
// may use, the larger of both where they have not reported yet, pass the limit. Levels are cut
// from what is left in chunks that shrink with it, so that the last page of a budget is spent
// by whoever can, and a shard that holds more than it can use loses it as soon as another is
// hungry.
//
// # Owners that come and go
//
// Lead keeps nothing. A new owner of shard 0 begins with a note of its epoch to every shard
// ("keep what you have"). From then on a shard ignores notes of lower epochs, and its report
// says what it holds; Lead gives nothing away until it has heard all, and of its own shard's
// lease only what is used remains. So whatever an owner of the past promised has either been
// read before that note, and is known, or is void.
//
// A shard's lease is what its input says, so it survives with its input. A report must be true
// for every later owner of the shard, too: it says how the shard stood at the end of a step
// behind which nobody had claimed the partition (stream.Result.Look). Whoever claims it later
// reads the same records, and recovers the same dispatches, before it dispatches anything.
//
// # The end
//
// Every report says which offset the shard has applied, and at which offsets the links stand that
// it has sent to others. The crawl is at rest when nobody has anything in flight or could
// dispatch, and every shard has applied more than anybody has sent it. These are the vector
// counters of Mattern (Algorithms for distributed termination detection, 1987, §6), with
// offsets for counts: one look at the newest reports is enough, because a shard that was at rest
// can only be woken by links, and the first that was woken behind its report would have been by
// links that their sender's report names. Offsets, unlike counts, come out right when an owner sends
// records once more after a crash. Then Lead tells everybody why the crawl has ended. What wakes it
// again from outside (seeds, another budget) shows in shard 0's own state or in a report.
package shards
