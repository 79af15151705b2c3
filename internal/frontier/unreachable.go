package frontier

import (
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"forager/internal/web/scope"
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

// onlyGivenUp reports whether nothing is left to fetch but URLs on hosts that were given up: these get no more requests, or
// a crawl with many of them would not end.
func (s *Shard) onlyGivenUp() bool {
	return s.c.backlog[givenUp].all() > 0 && s.backlog() == 0 && s.c.unranked == 0
}

// hostLimit is the number of requests that may be in flight to the host: one if it is unreachable.
func (s *Shard) hostLimit(h *host) uint32 {
	if h.failingSince > 0 {
		return 1
	}
	return s.limits.hostWindow
}

// failing is the host that failed last, and the cause; stored with the outage.
type failing struct{ last, cause string }

// newFailing is the head of the unreachable hosts, by the time of their first failure, the latest first: timed.at is the
// negative of that time.
func (s *Shard) newFailing() rangeHead[timed] {
	return rangeHead[timed]{compare: compareTimed, scan: func(last *timed, f func(timed) bool) error {
		from := slices.Clone(s.keys.kind(kindFailing))
		end := after(from)
		if last != nil {
			from = slices.Clone(s.keys.failing(-last.at, uint32(last.id)))
		}
		return s.store.Scan(from, end, func(key, _ []byte) (bool, error) {
			since, host, err := s.keys.parseFailing(key)
			return err == nil && f(timed{-since, uint64(host)}), err
		})
	}}
}

// setFailing notes since when a host is unreachable, and when it failed last; 0 = it is not.
func (s *Shard) setFailing(h *host, since, at int64) error {
	if h.failingSince != since {
		if err := s.setFailingSince(h, since); err != nil {
			return err
		}
	}
	s.tally(h, -1)
	h.failedAt = at
	s.tally(h, 1)
	s.refresh(h)
	s.change(h)
	if since == 0 && s.failing.last == h.name {
		s.failing.last, s.failing.cause = "", ""
		return s.saveOutage()
	}
	return nil
}

// setFailingSince changes since when a host is unreachable, and the keys by which it is found.
func (s *Shard) setFailingSince(h *host, since int64) error {
	notBefore := h.notBefore
	if err := s.wakeUp(h); err != nil {
		return err
	}
	if h.failingSince > 0 {
		s.latestFailing.remove(timed{-h.failingSince, uint64(h.number)})
		if err := s.store.Delete(s.keys.failing(h.failingSince, h.number)); err != nil {
			return err
		}
	}
	s.tally(h, -1)
	h.failingSince = since
	s.tally(h, 1)
	if since > 0 {
		s.latestFailing.insert(timed{-since, uint64(h.number)})
		if err := s.store.Set(s.keys.failing(since, h.number), nil); err != nil {
			return err
		}
	}
	if notBefore == 0 {
		return nil
	}
	return s.sleep(h, notBefore)
}

// hostFailed takes a verdict with OUTCOME_HOST_UNREACHABLE on a request to a host.
func (s *Shard) hostFailed(h *host, rec *schemas.LinkFound, now int64) error {
	at := max(fetchedAt(rec, now), h.failedAt)
	since := h.failingSince
	if since == 0 {
		since = at
	}
	if err := s.setFailing(h, since, at); err != nil {
		return err
	}
	s.failing.last, s.failing.cause = h.name, oneLine(rec.GetDetail())
	if err := s.saveOutage(); err != nil {
		return err
	}
	pause := min(max(s.options.RetryDelay.Milliseconds(), at-since), longestHostWait)
	pause += pause / 8 * int64(schemas.ShardOf(h.name, 4)) / 4 // hosts that failed together are not tried together
	return s.sleep(h, min(max(at, rec.GetNotBefore())+pause, now+longestHostWait+pause))
}

// hostAnswered takes a verdict on a request to which the host has responded.
func (s *Shard) hostAnswered(h *host, rec *schemas.LinkFound, now int64) error {
	if h.failingSince == 0 || fetchedAt(rec, now) < h.failedAt {
		return nil
	}
	return s.setFailing(h, 0, 0)
}

// answered reports whether a web server has responded to the request.
func answered(rec *schemas.LinkFound) bool {
	return rec.GetStatus() > 0 || schemas.Outcomes[rec.GetOutcome()].Page
}

// reach notes whether a verdict shows that the host and the network can be reached.
func (s *Shard) reach(host uint32, rec *schemas.LinkFound, now int64) error {
	if !answered(rec) {
		return nil
	}
	h, err := s.host(host)
	if err != nil {
		return err
	}
	if err := s.hostAnswered(h, rec, now); err != nil {
		return err
	}
	return s.networkAnswered(rec, now)
}

// forgetFailures makes every unreachable host reachable now.
func (s *Shard) forgetFailures() error {
	for {
		first, ok, err := s.latestFailing.least()
		if err != nil || !ok {
			return err
		}
		h, err := s.host(uint32(first.id))
		if err == nil {
			err = s.wakeUp(h)
		}
		if err == nil {
			err = s.setFailing(h, 0, 0)
		}
		if err == nil {
			err = s.evictHosts()
		}
		if err != nil {
			return err
		}
	}
}

// applyRetryFailed queues again every URL whose tries were used up by failures that may have passed since, with all of its
// tries, and lets unreachable hosts be tried at once. As with a replay (replay.go), charges and settled leaps remain.
func (s *Shard) applyRetryFailed(id schemas.ID) (duplicate bool, err error) {
	if duplicate, err := s.once(id); err != nil || duplicate {
		return duplicate, err
	}
	s.c.clock++
	s.c.spans[spanFound].add(id)
	if err := s.forgetFailures(); err != nil {
		return false, err
	}
	ordinals, err := s.failedEntries()
	if err != nil {
		return false, err
	}
	for _, ordinal := range ordinals {
		e, err := s.entry(ordinal)
		if err != nil {
			return false, err
		}
		h, err := s.host(e.host)
		if err != nil {
			return false, err
		}
		if s.full(h) && len(s.unplaced[e.url]) == 0 {
			s.c.refused[scope.HostCap]++
			continue
		}
		e.outcome, e.tries = schemas.Outcome_OUTCOME_UNSPECIFIED, 0
		if err := s.queue(e); err != nil {
			return false, fmt.Errorf("try %s again: %w", e.url, err)
		}
		if err := s.evictHosts(); err != nil {
			return false, err
		}
	}
	return false, nil
}

// failedEntries returns the ordinals of the entries that may be tried again. It reads all entries, some microseconds each.
func (s *Shard) failedEntries() (ordinals []uint64, err error) {
	from := append([]byte(nil), s.keys.kind(kindEntry)...)
	err = s.store.Scan(from, after(from), func(key, value []byte) (bool, error) {
		ordinal := binary.BigEndian.Uint64(key[len(from):])
		e, err := decodeEntry(ordinal, value)
		if err != nil {
			return false, err
		}
		if e.state == stateFinal && schemas.Repeatable(e.outcome) {
			ordinals = append(ordinals, ordinal)
		}
		return true, nil
	})
	return ordinals, err
}

// unreachable is CrawlStatus.unreachable; nil if there are no such hosts. Errors of reads are left to the next
// Dispatch.
func (s *Shard) unreachable(now time.Time) *schemas.UnreachableHosts {
	if s.c.failing[unreached]+s.c.failing[givenUp] == 0 {
		return nil
	}
	u := &schemas.UnreachableHosts{
		Hosts: uint64(s.c.failing[unreached]), GivenUpHosts: uint64(s.c.failing[givenUp]),
		Urls: s.c.backlog[unreached].all(), GivenUpUrls: s.c.backlog[givenUp].all(), Host: s.failing.last, Cause: s.failing.cause,
	}
	if latest, ok, err := s.latestFailing.least(); err == nil && ok && u.Hosts > 0 {
		u.Until = s.limits.hostPatience - latest.at
	}
	u.NextTry = s.nextTry(unixMilli(now))
	return u
}

// nextTry is when the next unreachable host ends its wait, Unix milliseconds; 0 = none waits longer than until now.
func (s *Shard) nextTry(now int64) (at int64) {
	if next, ok, err := s.sleepingUnreached.least(); err != nil || !ok || next.at > now {
		return next.at
	}
	from := slices.Clone(s.keys.sleeping(true, now+1, 0))
	err := s.store.Scan(from, after(s.keys.sleepers(true)), func(key, _ []byte) (_ bool, err error) {
		at, _, err = s.keys.parseSleeping(key)
		return false, err
	})
	if err != nil {
		return 0
	}
	return at
}
