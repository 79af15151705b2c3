package frontier

import (
	"fmt"
	"time"
)

// waiter is an entry whose try failed and that is queued again at a time.
type waiter struct {
	at      int64 // Unix milliseconds
	ordinal uint64
	host    uint32
	pos     int
}

func newWaiting() *heap[*waiter] {
	return &heap[*waiter]{
		less: func(a, b *waiter) bool {
			if a.at != b.at {
				return a.at < b.at
			}
			return a.ordinal < b.ordinal
		},
		at: func(w *waiter) *int { return &w.pos },
	}
}

// wait makes the entry wait until e.notBefore.
func (s *Shard) wait(e *entry) error {
	e.state, e.places = stateWaiting, nil
	s.addWaiter(e)
	return s.store.Set(s.keys.waiting(e.notBefore, e.ordinal), nil)
}

func (s *Shard) addWaiter(e *entry) {
	w := &waiter{at: e.notBefore, ordinal: e.ordinal, host: e.host, pos: -1}
	s.waiting.fix(w, true)
	s.waiters[e.ordinal] = w
	s.countBacklog(s.hosts[e.host], 1)
}

// stopWaiting takes a waiting entry out of the waiting ones.
func (s *Shard) stopWaiting(e *entry) error {
	w, ok := s.waiters[e.ordinal]
	if !ok {
		return fmt.Errorf("frontier: entry %d does not wait", e.ordinal)
	}
	s.waiting.fix(w, false)
	delete(s.waiters, e.ordinal)
	s.countBacklog(s.hosts[e.host], -1)
	return s.store.Delete(s.keys.waiting(w.at, e.ordinal))
}

// wakeEntries queues the entries whose wait is over.
func (s *Shard) wakeEntries(now int64) error {
	for s.waiting.len() > 0 && s.waiting.top().at <= now {
		e, err := s.entry(s.waiting.top().ordinal)
		if err != nil {
			return err
		}
		if err := s.stopWaiting(e); err != nil {
			return err
		}
		if err := s.queue(e); err != nil {
			return err
		}
	}
	return nil
}

// Wake returns when time alone will next make an entry ready, or fill a slot that is left empty, which may be in the past; ok is
// false when nothing waits for a time.
func (s *Shard) Wake(now time.Time) (at time.Time, ok bool) {
	ms := int64(-1)
	if s.waiting.len() > 0 {
		ms = s.waiting.top().at
	}
	if s.sleeping.len() > 0 {
		if t := s.sleeping.top().notBefore; ms < 0 || t < ms {
			ms = t
		}
	}
	if at, ok := s.patienceEnds(unixMilli(now)); ok && (ms < 0 || at < ms) {
		ms = at
	}
	if ms < 0 {
		return time.Time{}, false
	}
	return time.UnixMilli(ms), true
}

// loadWaiting reads the waiting entries.
func (s *Shard) loadWaiting() error {
	var ordinals []uint64
	from := append([]byte(nil), s.keys.kind(kindWaiting)...)
	err := s.store.Scan(from, after(from), func(key, _ []byte) (bool, error) {
		_, ordinal, err := s.keys.parseWaiting(key)
		ordinals = append(ordinals, ordinal)
		return true, err
	})
	if err != nil {
		return err
	}
	for _, o := range ordinals {
		e, err := s.entry(o)
		if err != nil {
			return err
		}
		s.addWaiter(e)
	}
	return nil
}
