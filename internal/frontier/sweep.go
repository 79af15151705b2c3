package frontier

import (
	"fmt"
	"slices"

	"forager/internal/apprentice"
)

// A pass of re-scoring goes through the frontier in two ways at once. The best entries come
// first, so that what is dispatched meanwhile was scored under the new model; but going best
// first jumps from page to page, and of a frontier that does not fit memory every entry, its
// links and the tables of their pages are then read one by one. The others therefore come in the
// order of their discovery, in which the store has them side by side, in stretches whose links are
// scored ahead (stretch.go).
const (
	// bestShare: one in so many entries that are scored again is the best one left.
	bestShare = 64
	// A sweep reads so many entries at a time, and goes past so many that need nothing.
	sweepChunk = 512
	sweepReach = 1 << 16
)

// sweep scores up to n ≥ 1 entries of the old generation again, in the order of discovery, and
// returns their number; end says that none is left.
func (s *Shard) sweep(n int) (done int, end bool, err error) {
	for reach := 0; done < n && reach < sweepReach; reach += sweepChunk {
		if s.swept >= s.c.entries {
			return done, true, nil
		}
		if _, ok := s.using.model.(*apprentice.Model); s.learns && ok {
			if ready, err := s.readyStretch(); err != nil || !ready {
				return done, false, err
			}
		}
		entries, err := s.sweepEntries(min(sweepChunk, n-done))
		if err != nil {
			return done, false, err
		}
		if err := s.sweepLinks(entries); err != nil {
			return done, false, err
		}
		if s.stretch != nil {
			for _, e := range entries {
				s.stretch.give(e)
			}
		}
		if err := s.scoreAhead(entries); err != nil {
			return done, false, err
		}
		for _, e := range entries {
			if err := s.replace(e); err != nil {
				return done, false, err
			}
		}
		done += len(entries)
	}
	return done, false, nil
}

// sweepEntries reads the next sweepChunk entries and returns those, at most n, that the pass has
// not scored.
func (s *Shard) sweepEntries(n int) ([]*entry, error) {
	var entries []*entry
	s.from = append(s.from[:0], s.keys.u64(kindEntry, s.swept+1)...)
	last := min(s.swept+sweepChunk, s.c.entries)
	if s.stretch != nil {
		last = min(last, s.stretch.end)
	}
	err := s.store.Scan(s.from, after(s.keys.u64(kindEntry, last)), func(key, value []byte) (bool, error) {
		e, err := s.sweepEntry(key, value)
		if err != nil || e == nil {
			return err == nil, err
		}
		if len(entries) == n {
			last = e.ordinal - 1
			return false, nil
		}
		entries = append(entries, e)
		return true, nil
	})
	s.swept = last
	return entries, err
}

// sweepEntry reads an entry of a scan; nil where it is not one that the pass has yet to score.
func (s *Shard) sweepEntry(key, value []byte) (*entry, error) {
	if len(value) < 2 || state(value[1]) != stateQueued {
		return nil, nil
	}
	ordinal, err := s.keys.parseU64(key)
	if err != nil {
		return nil, err
	}
	e, ok := s.entries.peek(ordinal)
	if !ok {
		if e, err = decodeEntry(ordinal, value); err != nil {
			return nil, err
		}
		if int(e.host) >= len(s.hosts) {
			return nil, fmt.Errorf("frontier: entry %d has the unknown host %d", ordinal, e.host)
		}
	}
	if !s.isOld(e) {
		return nil, nil
	}
	return e, nil
}

// isOld says that a queued entry has a key in the old generation of a pass.
func (s *Shard) isOld(e *entry) bool {
	for p, g := range s.generations {
		if g.passing() && e.places[p].In && e.places[p].generation == g.current {
			return true
		}
	}
	return false
}

// sweepLinks reads the links of entries that stand side by side.
func (s *Shard) sweepLinks(entries []*entry) error {
	entries = slices.DeleteFunc(slices.Clone(entries), func(e *entry) bool { return e.loaded })
	if len(entries) == 0 {
		return nil
	}
	at := 0
	s.from = append(s.from[:0], s.keys.u64(kindLink, entries[0].ordinal)...)
	err := s.store.Scan(s.from, after(s.keys.u64(kindLink, entries[len(entries)-1].ordinal)), func(key, value []byte) (bool, error) {
		v, l, err := s.readLink(key, value)
		if err != nil {
			return false, err
		}
		for entries[at].ordinal < v {
			at++
		}
		if e := entries[at]; e.ordinal == v {
			e.links = append(e.links, l)
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	for _, e := range entries {
		e.complete()
	}
	return nil
}
