package frontier

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// timed is an entry or a host that waits, by its ordinal or number.
type timed struct {
	at int64 // Unix milliseconds
	id uint64
}

func compareTimed(a, b timed) int {
	return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.id, b.id))
}

// newWaiting is the head of the entries whose try failed, by the time at which they are queued again.
func (s *Shard) newWaiting() rangeHead[timed] {
	return rangeHead[timed]{compare: compareTimed, scan: func(last *timed, f func(timed) bool) error {
		from := slices.Clone(s.keys.kind(kindWaiting))
		end := after(from)
		if last != nil {
			from = slices.Clone(s.keys.waiting(last.at, last.id))
		}
		return s.store.Scan(from, end, func(key, _ []byte) (bool, error) {
			at, ordinal, err := s.keys.parseWaiting(key)
			return err == nil && f(timed{at, ordinal}), err
		})
	}}
}

// wait makes the entry wait until e.notBefore.
func (s *Shard) wait(e *entry) error {
	e.state, e.places = stateWaiting, nil
	h, err := s.host(e.host)
	if err != nil {
		return err
	}
	s.countBacklog(h, 0, 1)
	s.waiting.insert(timed{e.notBefore, e.ordinal})
	return s.store.Set(s.keys.waiting(e.notBefore, e.ordinal), nil)
}

// stopWaiting removes an entry from the waiting ones.
func (s *Shard) stopWaiting(e *entry) error {
	if e.state != stateWaiting {
		return fmt.Errorf("frontier: entry %d does not wait", e.ordinal)
	}
	h, err := s.host(e.host)
	if err != nil {
		return err
	}
	s.countBacklog(h, 0, -1)
	s.waiting.remove(timed{e.notBefore, e.ordinal})
	return s.store.Delete(s.keys.waiting(e.notBefore, e.ordinal))
}

// wakeEntries queues the entries whose wait is over.
func (s *Shard) wakeEntries(now int64) error {
	for {
		first, ok, err := s.waiting.least()
		if err != nil || !ok || first.at > now {
			return err
		}
		e, err := s.entry(first.id)
		if err != nil {
			return err
		}
		if err := s.stopWaiting(e); err != nil {
			return err
		}
		if err := s.queue(e); err != nil {
			return err
		}
		if err := s.evictHosts(); err != nil {
			return err
		}
	}
}

// Wake returns when time alone will next make an entry ready, or fill a slot that is left empty. The time may be in the past; ok is
// false if nothing waits for a time.
func (s *Shard) Wake(now time.Time) (at time.Time, ok bool) {
	ms := int64(-1)
	for _, waiting := range []*rangeHead[timed]{&s.waiting, &s.sleeping, &s.sleepingUnreached} {
		first, ok, err := waiting.least()
		if err != nil {
			return now, true // the next Dispatch returns the error
		}
		if ok && (ms < 0 || first.at < ms) {
			ms = first.at
		}
	}
	if at, ok := s.outageEnds(); ok && at.After(now) {
		return at, true
	}
	if at, ok := s.patienceEnds(unixMilli(now)); ok && (ms < 0 || at < ms) {
		ms = at
	}
	if ms < 0 {
		return time.Time{}, false
	}
	return time.UnixMilli(ms), true
}
