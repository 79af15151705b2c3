package frontier

import (
	"forager/internal/frontier/queue"
	"forager/internal/frontier/state"
)

// A slot of the window may be worth more empty than filled. If the hosts with the best entries are
// few, they are soon at their own windows, and other hosts would take the rest: most of the
// pages would be poor ones, although better ones are known and only wait for their turn. So an entry is
// not dispatched while a better one is held back by its host's window; it stays in the
// frontier, where it is scored again (docs/decisions/0102).
//
// Three things bound the waiting. A share of the window is always filled (fillShare), and firstWindow of
// one that is found by trying, so that a crawl goes on at that rate at least. An entry that is no worse, by tier, tries and
// score, is dispatched: a ranker whose scores are all equal, as unfocused, leaves no slot empty. And a host whose
// response takes several times the usual latency (lateTimes), as that of a dead host does, holds nothing back.
//
// Entries are compared by the order of their policy only, whatever its scores mean.
const (
	// fillShare: a slot is left empty only while at least window/fillShare requests are in flight.
	fillShare = 8
	// A host is late when one of its requests has been in flight for lateTimes the median of the last
	// verdicts, and a second at least.
	lateTimes = 4
	soonMS    = 1000
)

// throttled is what hosts at their windows hold back during one call of Dispatch.
type throttled struct {
	found bool
	late  map[uint32]bool
	// heads are the hosts' best entries, the best one a policy.
	heads []state.Order
	some  []bool // by policy: there is one
}

// choose returns the host with the policy's best entry that may be dispatched, or nil if the slot is to be left
// empty. There must be such an entry.
func (ds *dispatcher) choose(held *throttled, policy int, now int64) (*queue.Host, error) {
	h, err := ds.queues.BestReady(policy)
	if err != nil {
		return nil, err
	}
	inFlight := uint64(len(ds.flights.byID))
	if inFlight*fillShare < ds.windowInForce() || ds.cfg.limits.window == 0 && inFlight < firstWindow {
		return h, nil
	}
	if !held.found {
		if err := ds.findThrottled(held, now); err != nil {
			return nil, err
		}
	}
	if held.some[policy] && held.heads[policy].Better(h.Queues[policy].Bound()) {
		return nil, nil
	}
	return h, nil
}

// findThrottled finds the best entries that are held back.
func (ds *dispatcher) findThrottled(held *throttled, now int64) error {
	held.found, held.late = true, make(map[uint32]bool)
	held.heads, held.some = make([]state.Order, len(ds.places.Policies)), make([]bool, len(ds.places.Policies))
	last := now - ds.patience()
	for _, f := range ds.flights.byID {
		if f.at <= last {
			held.late[f.host] = true
		}
	}
	for _, f := range ds.flights.byID {
		h, err := ds.hosts.Host(f.host)
		if err == nil {
			err = held.add(ds, h)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// add takes the heads of a host that has requests in flight.
func (held *throttled) add(s *dispatcher, h *queue.Host) error {
	if !held.found || held.late[h.Number] || h.InFlight < s.hosts.HostLimit(h) || h.NotBefore > 0 || s.hosts.Capped(h) {
		return nil
	}
	for p := range h.Queues {
		if h.Queues[p].Empty() {
			continue
		}
		if held.some[p] && !h.Queues[p].Bound().Less(held.heads[p]) {
			continue // its head is not better either
		}
		o, err := s.queues.Head(h, p)
		if err != nil {
			return err
		}
		if !held.some[p] || o.Less(held.heads[p]) {
			held.heads[p], held.some[p] = o, true
		}
	}
	return nil
}

// patience is how long a request may be in flight before its host is late, milliseconds.
func (ds *dispatcher) patience() int64 {
	median, _ := ds.pace.percentiles()
	return max(soonMS, lateTimes*int64(median))
}

// patienceEnds is when the next host becomes late, if slots are left empty; else ok is false. Errors of reads are left to
// the next Dispatch.
func (ds *dispatcher) patienceEnds(now int64) (at int64, ok bool) {
	if !ds.dispatching() || !ds.mayDispatch() || ds.waits.Outage.Since > 0 {
		return 0, false
	}
	policy, ok, err := ds.arms.lead()
	if err != nil || !ok {
		return now, err != nil
	}
	if h, err := ds.choose(new(throttled), policy, now); err != nil || h != nil {
		return now, err != nil
	}
	ok = false
	patience := ds.patience()
	for _, f := range ds.flights.byID {
		if end := f.at + patience; end > now && (!ok || end < at) {
			at, ok = end, true
		}
	}
	return at, ok
}
