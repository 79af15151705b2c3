// Package queue has the hosts of a shard, the queues of their unvisited entries, and what waits for a time.
//
// Each host has a queue for each policy. Under a policy entries are ordered by tier ↑, failed tries ↑, score ↓, discovery ↑
// (state.Order). Queue keys carry a generation: a pass of re-scoring moves the entries from the current generation to the next
// (Queues.BeginPass, EndPass), and the better of a host's two heads counts meanwhile.
//
// The hosts used last are in memory with the first keys of their queues; the others are in the store and in an index that is
// ordered by their heads. Which hosts are in memory changes the cost of a call, never its result (docs/decisions/0020).
//
// Waits has the entries that wait after a failed try, the hosts that wait, those that cannot be reached, and an outage of the
// network (docs/decisions/0001, 0100).
package queue
