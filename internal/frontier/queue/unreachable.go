package queue

import (
	"slices"

	"forager/internal/frontier/state"
	"forager/internal/frontier/storage"
	"forager/schemas"
)

// A host that cannot be connected to, while others can, keeps its URLs: none of them is charged or counts a try. The
// whole host waits, at first for Options.RetryDelay and then for as long as it has been unreachable already, an hour at
// most, and then gets one request. When it has been unreachable for the crawl's patience it is given up: its URLs
// no longer keep the crawl from ending. It still gets a request once an hour while the crawl goes on.
//
// All of it follows from the times in the verdicts (LinkFound.fetched_at), so a replay has the same result.

// longestHostWait is the longest pause between two tries of an unreachable host, milliseconds.
const longestHostWait = 60 * 60 * 1000

// fetchedAt is when the request of a verdict was made, Unix milliseconds; now if the verdict has no such time.
func fetchedAt(rec *schemas.LinkFound, now int64) int64 {
	if at := rec.GetFetchedAt(); at > 0 {
		return at
	}
	return now
}

// failing is the host that failed last, and the cause; stored with the outage.
type failing struct{ last, cause string }

// newFailing is the head of the unreachable hosts, by the time of their first failure, the latest first: timed.at is the
// negative of that time.
func (w *Waits) newFailing() storage.RangeHead[timed] {
	return storage.RangeHead[timed]{Compare: compareTimed, Scan: func(last *timed, f func(timed) bool) error {
		from := slices.Clone(w.state.Keys.Kind(state.KindFailing))
		end := state.After(from)
		if last != nil {
			from = slices.Clone(w.state.Keys.Failing(-last.at, uint32(last.id)))
		}
		return w.state.Store.Scan(from, end, func(key, _ []byte) (bool, error) {
			since, host, err := w.state.Keys.ParseFailing(key)
			return err == nil && f(timed{-since, uint64(host)}), err
		})
	}}
}

// setFailing notes since when a host is unreachable, and when it failed last; 0 = it is not.
func (w *Waits) setFailing(h *Host, since, at int64) error {
	if h.failingSince != since {
		if err := w.setFailingSince(h, since); err != nil {
			return err
		}
	}
	w.hosts.tally(h, -1)
	h.failedAt = at
	w.hosts.tally(h, 1)
	w.hosts.Refresh(h)
	w.hosts.change(h)
	if since == 0 && w.failing.last == h.Name {
		w.failing.last, w.failing.cause = "", ""
		return w.saveOutage()
	}
	return nil
}

// setFailingSince changes since when a host is unreachable, and the keys by which it is found.
func (w *Waits) setFailingSince(h *Host, since int64) error {
	notBefore, rest := h.NotBefore, h.rest
	if err := w.wakeUp(h); err != nil {
		return err
	}
	if h.failingSince > 0 {
		w.latestFailing.Remove(timed{-h.failingSince, uint64(h.Number)})
		if err := w.state.Store.Delete(w.state.Keys.Failing(h.failingSince, h.Number)); err != nil {
			return err
		}
	}
	w.hosts.tally(h, -1)
	h.failingSince = since
	w.hosts.tally(h, 1)
	if since > 0 {
		w.latestFailing.Insert(timed{-since, uint64(h.Number)})
		if err := w.state.Store.Set(w.state.Keys.Failing(since, h.Number), nil); err != nil {
			return err
		}
	}
	if notBefore == 0 {
		return nil
	}
	return w.Sleep(h, notBefore, rest)
}

// HostFailed takes a verdict with OUTCOME_HOST_UNREACHABLE on a request to a host.
func (w *Waits) HostFailed(h *Host, rec *schemas.LinkFound, now int64) error {
	at := max(fetchedAt(rec, now), h.failedAt)
	since := h.failingSince
	if since == 0 {
		since = at
	}
	if err := w.setFailing(h, since, at); err != nil {
		return err
	}
	w.failing.last, w.failing.cause = h.Name, oneLine(rec.GetDetail())
	if err := w.saveOutage(); err != nil {
		return err
	}
	pause := min(max(w.RetryDelay.Milliseconds(), at-since), longestHostWait)
	pause += pause / 8 * int64(schemas.ShardOf(h.Name, 4)) / 4 // hosts that failed together are not tried together
	return w.Sleep(h, min(max(at, rec.GetNotBefore())+pause, now+longestHostWait+pause), state.Resting)
}

// hostAnswered takes a verdict on a request to which the host has responded.
func (w *Waits) hostAnswered(h *Host, rec *schemas.LinkFound, now int64) error {
	if h.failingSince == 0 || fetchedAt(rec, now) < h.failedAt {
		return nil
	}
	return w.setFailing(h, 0, 0)
}

// Reach notes whether a verdict shows that the host and the network can be reached.
func (w *Waits) Reach(host uint32, rec *schemas.LinkFound, now int64) error {
	if rec.GetStatus() == 0 && !schemas.Outcomes[rec.GetOutcome()].Page { // no web server has responded
		return nil
	}
	h, err := w.hosts.Host(host)
	if err != nil {
		return err
	}
	if err := w.hostAnswered(h, rec, now); err != nil {
		return err
	}
	return w.networkAnswered(rec, now)
}

// ForgetFailures makes every unreachable host reachable now.
func (w *Waits) ForgetFailures() error {
	for {
		first, ok, err := w.latestFailing.Least()
		if err != nil || !ok {
			return err
		}
		h, err := w.hosts.Host(uint32(first.id))
		if err == nil {
			err = w.wakeUp(h)
		}
		if err == nil {
			err = w.setFailing(h, 0, 0)
		}
		if err == nil {
			err = w.hosts.EvictHosts()
		}
		if err != nil {
			return err
		}
	}
}

// Unreachable is CrawlStatus.unreachable; nil if there are no such hosts. Errors of reads are left to the next
// Dispatch.
func (w *Waits) Unreachable(now int64) *schemas.UnreachableHosts {
	if w.state.Counters.Failing[state.Unreached]+w.state.Counters.Failing[state.GivenUp] == 0 {
		return nil
	}
	u := &schemas.UnreachableHosts{
		Hosts: uint64(w.state.Counters.Failing[state.Unreached]), GivenUpHosts: uint64(w.state.Counters.Failing[state.GivenUp]),
		Urls: w.state.Counters.Backlog[state.Unreached].All(), GivenUpUrls: w.state.Counters.Backlog[state.GivenUp].All(), Host: w.failing.last, Cause: w.failing.cause,
	}
	if latest, ok, err := w.latestFailing.Least(); err == nil && ok && u.Hosts > 0 {
		u.Until = w.hosts.Limits.Patience - latest.at
	}
	u.NextTry = w.nextTry(now)
	return u
}

// nextTry is when the next unreachable host ends its wait, Unix milliseconds; 0 = none waits longer than until now.
func (w *Waits) nextTry(now int64) (at int64) {
	if next, ok, err := w.sleepingUnreached.Least(); err != nil || !ok || next.at > now {
		return next.at
	}
	from := slices.Clone(w.state.Keys.Sleeping(true, now+1, 0))
	err := w.state.Store.Scan(from, state.After(w.state.Keys.Sleepers(true)), func(key, _ []byte) (_ bool, err error) {
		at, _, err = w.state.Keys.ParseSleeping(key)
		return false, err
	})
	if err != nil {
		return 0
	}
	return at
}
