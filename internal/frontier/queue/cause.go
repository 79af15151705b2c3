package queue

import (
	"forager/internal/frontier/state"
	"forager/schemas"
)

// causes are what the entries queued at a host wait for, by the host's reachability.
var causes = [state.HostStates]schemas.WaitCause{
	state.Reachable: schemas.WaitCause_WAIT_CAUSE_WINDOW, state.Resting: schemas.WaitCause_WAIT_CAUSE_HOST_PAUSE,
	state.Refusing: schemas.WaitCause_WAIT_CAUSE_HOST_REFUSED, state.NoRobots: schemas.WaitCause_WAIT_CAUSE_ROBOTS,
	state.Unreached: schemas.WaitCause_WAIT_CAUSE_HOST_UNREACHABLE, state.GivenUp: schemas.WaitCause_WAIT_CAUSE_HOST_UNREACHABLE,
	state.AtCap: schemas.WaitCause_WAIT_CAUSE_HOST_CAP,
}

// Cause is what an entry with a place waits for at a host with free slots, by the host's reachability; waiting:
// its last try failed.
func Cause(reachability int, waiting bool) schemas.WaitCause {
	if c := causes[reachability]; !waiting || c < schemas.WaitCause_WAIT_CAUSE_RETRY {
		return c
	}
	return schemas.WaitCause_WAIT_CAUSE_RETRY
}

// Waiting counts the URLs that are known and not fetched by what they wait for, apart from what concerns the whole crawl. Only the
// first left ones of those whose hosts may be asked wait for their turn.
func (w *Waits) Waiting(left uint64) (urls map[schemas.WaitCause]uint64) {
	c := &w.state.Counters
	urls = map[schemas.WaitCause]uint64{schemas.WaitCause_WAIT_CAUSE_GATE: c.Outside, schemas.WaitCause_WAIT_CAUSE_RESCORING: c.Unranked}
	for reachability, b := range c.Backlog {
		urls[Cause(reachability, false)] += b.Queued
		urls[Cause(reachability, true)] += b.Waiting
	}
	urls[schemas.WaitCause_WAIT_CAUSE_HOST_PAUSE] += w.hosts.busy
	turn := urls[schemas.WaitCause_WAIT_CAUSE_WINDOW] - w.hosts.busy
	urls[schemas.WaitCause_WAIT_CAUSE_WINDOW] = min(turn, left)
	urls[schemas.WaitCause_WAIT_CAUSE_RANK] = turn - min(turn, left)
	return urls
}

// Example is one of the hosts whose URLs wait for a cause; empty if none is known.
func (w *Waits) Example(c schemas.WaitCause) string {
	switch c {
	case schemas.WaitCause_WAIT_CAUSE_HOST_UNREACHABLE:
		return w.failing.last
	case schemas.WaitCause_WAIT_CAUSE_HOST_PAUSE:
		return w.latest[state.Resting]
	case schemas.WaitCause_WAIT_CAUSE_HOST_REFUSED:
		return w.latest[state.Refusing]
	case schemas.WaitCause_WAIT_CAUSE_ROBOTS:
		return w.latest[state.NoRobots]
	}
	return ""
}

// busyAt reports whether only requests in flight keep the next one from the host.
func (hs *Hosts) busyAt(h *Host) bool {
	return hs.Reachability(h.Dispatched, h.failingSince, h.failedAt, h.rest) == state.Reachable && h.InFlight >= hs.HostLimit(h)
}

// countBusy counts what is queued at busy hosts again. Hosts with requests in flight are in memory.
func (hs *Hosts) countBusy() {
	hs.busy = 0
	for _, x := range hs.Cache.At {
		if hs.busyAt(x.Item) {
			hs.busy += x.Item.backlog.Queued
		}
	}
}
