package queue

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"forager/internal/frontier/state"
	"forager/internal/frontier/storage"
)

// timed is an entry or a host that waits, by its ordinal or number.
type timed struct {
	at int64 // Unix milliseconds
	id uint64
}

func compareTimed(a, b timed) int {
	return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.id, b.id))
}

// Waits are entries and hosts that wait for a time, hosts that cannot be reached, and an outage of the network.
type Waits struct {
	state *state.Records
	hosts *Hosts
	// RetryDelay is the first pause after a failure.
	RetryDelay time.Duration
	// waiting are entries that wait, sleeping hosts that do; latestFailing are unreachable hosts, by the time since when.
	waiting, sleeping, sleepingUnreached, latestFailing storage.RangeHead[timed]
	Outage                                              outage
	failing                                             failing
	// latest are the hosts that began to wait last, by reason; empty if they wait no more.
	latest [state.HostStates]string
}

// NewWaits returns what waits; LoadOutage reads the outage.
func NewWaits(state *state.Records, hosts *Hosts) *Waits {
	w := &Waits{state: state, hosts: hosts}
	w.waiting, w.sleeping, w.sleepingUnreached, w.latestFailing = w.newWaiting(), w.newSleeping(false), w.newSleeping(true), w.newFailing()
	return w
}

// newWaiting is the head of the entries whose try failed, by the time at which they are queued again.
func (w *Waits) newWaiting() storage.RangeHead[timed] {
	return storage.RangeHead[timed]{Compare: compareTimed, Scan: func(last *timed, f func(timed) bool) error {
		from := slices.Clone(w.state.Keys.Kind(state.KindWaiting))
		end := state.After(from)
		if last != nil {
			from = slices.Clone(w.state.Keys.Waiting(last.at, last.id))
		}
		return w.state.Store.Scan(from, end, func(key, _ []byte) (bool, error) {
			at, ordinal, err := w.state.Keys.ParseWaiting(key)
			return err == nil && f(timed{at, ordinal}), err
		})
	}}
}

// LongestWait is the longest wait that a server may ask for (Retry-After), milliseconds: a day.
const LongestWait = 24 * 60 * 60 * 1000

// RetryAt is when an entry may be tried again whose verdict names no time, after so many failed tries before.
func (w *Waits) RetryAt(now int64, tries uint32) int64 {
	return later(now, w.RetryDelay.Milliseconds(), tries)
}

// later is now + delay·2^doublings, without overflow.
func later(now, delay int64, doublings uint32) int64 {
	if doublings > 20 {
		doublings = 20
	}
	if delay > math.MaxInt32 {
		delay = math.MaxInt32
	}
	return now + delay<<doublings
}

// Wait makes the entry wait until e.notBefore.
func (w *Waits) Wait(e *state.Entry) error {
	e.State, e.Places = state.Waiting, nil
	h, err := w.hosts.Host(e.Host)
	if err != nil {
		return err
	}
	w.hosts.countBacklog(h, 0, 1)
	w.waiting.Insert(timed{e.NotBefore, e.Ordinal})
	return w.state.Store.Set(w.state.Keys.Waiting(e.NotBefore, e.Ordinal), nil)
}

// StopWaiting removes an entry from the waiting ones.
func (w *Waits) StopWaiting(e *state.Entry) error {
	if e.State != state.Waiting {
		return fmt.Errorf("frontier: entry %d does not wait", e.Ordinal)
	}
	h, err := w.hosts.Host(e.Host)
	if err != nil {
		return err
	}
	w.hosts.countBacklog(h, 0, -1)
	w.waiting.Remove(timed{e.NotBefore, e.Ordinal})
	return w.state.Store.Delete(w.state.Keys.Waiting(e.NotBefore, e.Ordinal))
}

// Due is an entry whose wait is over; nil if there is none.
func (w *Waits) Due(now int64) (*state.Entry, error) {
	first, ok, err := w.waiting.Least()
	if err != nil || !ok || first.at > now {
		return nil, err
	}
	return w.state.Entry(first.id)
}

// Next is when the next wait of an entry or a host is over, Unix milliseconds; −1 = nothing waits.
func (w *Waits) Next() (at int64, err error) {
	at = -1
	for _, waiting := range []*storage.RangeHead[timed]{&w.waiting, &w.sleeping, &w.sleepingUnreached} {
		first, ok, err := waiting.Least()
		if err != nil {
			return 0, err
		}
		if ok && (at < 0 || first.at < at) {
			at = first.at
		}
	}
	return at, nil
}

// Sleep makes the host wait until at, unless it waits longer already. A request that is deferred as the host waits names no other
// reason.
func (w *Waits) Sleep(h *Host, at int64, rest int) error {
	if at <= h.NotBefore {
		return nil
	}
	if rest == state.Resting {
		rest = max(rest, h.rest)
	}
	if err := w.wakeUp(h); err != nil {
		return err
	}
	w.hosts.tally(h, -1)
	h.NotBefore, h.rest = at, rest
	w.hosts.tally(h, 1)
	w.latest[rest] = h.Name
	w.hosts.Refresh(h)
	w.hosts.change(h)
	unreachable := h.failingSince > 0
	w.sleepers(unreachable).Insert(timed{at, uint64(h.Number)})
	return w.state.Store.Set(w.state.Keys.Sleeping(unreachable, at, h.Number), nil)
}

// wakeUp ends the wait of a host, if it waits.
func (w *Waits) wakeUp(h *Host) error {
	if h.NotBefore == 0 {
		return nil
	}
	at := h.NotBefore
	w.hosts.tally(h, -1)
	if w.latest[h.rest] == h.Name {
		w.latest[h.rest] = ""
	}
	h.NotBefore, h.rest = 0, state.Reachable
	w.hosts.tally(h, 1)
	w.hosts.Refresh(h)
	w.hosts.change(h)
	unreachable := h.failingSince > 0
	w.sleepers(unreachable).Remove(timed{at, uint64(h.Number)})
	return w.state.Store.Delete(w.state.Keys.Sleeping(unreachable, at, h.Number))
}

// WakeHosts ends the wait of hosts whose time has come.
func (w *Waits) WakeHosts(now int64) error {
	for _, sleeping := range []*storage.RangeHead[timed]{&w.sleeping, &w.sleepingUnreached} {
		for {
			first, ok, err := sleeping.Least()
			if err != nil {
				return err
			}
			if !ok || first.at > now {
				break
			}
			h, err := w.hosts.Host(uint32(first.id))
			if err == nil {
				err = w.wakeUp(h)
			}
			if err == nil {
				err = w.hosts.EvictHosts()
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// sleepers are the hosts that wait and are unreachable, or the others that wait.
func (w *Waits) sleepers(unreachable bool) *storage.RangeHead[timed] {
	if unreachable {
		return &w.sleepingUnreached
	}
	return &w.sleeping
}

// newSleeping is the head of the hosts that wait, by the end of their wait.
func (w *Waits) newSleeping(unreachable bool) storage.RangeHead[timed] {
	return storage.RangeHead[timed]{Compare: compareTimed, Scan: func(last *timed, f func(timed) bool) error {
		from := slices.Clone(w.state.Keys.Sleepers(unreachable))
		end := state.After(from)
		if last != nil {
			from = slices.Clone(w.state.Keys.Sleeping(unreachable, last.at, uint32(last.id)))
		}
		return w.state.Store.Scan(from, end, func(key, _ []byte) (bool, error) {
			at, number, err := w.state.Keys.ParseSleeping(key)
			return err == nil && f(timed{at, uint64(number)}), err
		})
	}}
}
