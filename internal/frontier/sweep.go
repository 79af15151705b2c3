package frontier

import (
	"fmt"
	"slices"
)

// A pass of re-scoring goes through the frontier in two ways at once. The best entries come
// first, so that what is dispatched meanwhile was scored under the new model; but that order
// jumps from page to page, and in a frontier that does not fit memory every entry, its
// links and the tables of their pages are read one by one. The others therefore come in the
// order of their discovery, in which the store has them, in stretches whose links are
// scored in advance (stretch.go; docs/decisions/0104).
const (
	// bestShare: one in bestShare entries that are scored again is the best one left.
	bestShare = 256
	// A sweep reads as many entries at a time as are still wanted, within these bounds, in parallel parts, and
	// passes over at most sweepReach entries in a call.
	sweepLeast, sweepChunk = 64, 2048
	sweepParts, sweepReach = 8, 1 << 16
	// sweepRead is the number of parts that are read in parallel: starting a scan costs as much as reading many entries.
	sweepRead = 4
)

// move is an entry of a sweep with what was computed before moving it in the queues.
type move struct {
	e *entry
	// value is the entry's with its new places, before are the old places; nil if they were not computed in advance.
	value  []byte
	before []placed
}

// sweep scores up to n ≥ 1 entries of the old generation again, in the order of discovery, and
// returns their number; end reports that none is left.
func (s *Shard) sweep(n int) (done int, end bool, err error) {
	for reach := s.c.swept + sweepReach; done < n && s.c.swept < reach; {
		if s.c.swept >= s.c.entries {
			return done, true, nil
		}
		if ready, err := s.readyStretch(); err != nil || !ready {
			return done, false, err
		}
		behind := s.c.swept
		moves, err := s.sweepEntries(n - done)
		if err != nil {
			return done, false, err
		}
		if err := s.moveBeside(moves, behind); err != nil {
			return done, false, err
		}
		done += len(moves)
	}
	return done, false, nil
}

// sweepEntries reads the next entries and prepares the moves of those, at most n, that the pass has not scored.
func (s *Shard) sweepEntries(n int) ([]move, error) {
	last := min(s.c.swept+uint64(min(max(sweepLeast, n), sweepChunk)), s.stretch.end)
	parts := make([][]move, sweepRead)
	err := s.inParts(s.c.swept+1, last, sweepRead, func(part int, from, to uint64) error {
		return s.scanEntries(from, to, func(e *entry) { parts[part] = append(parts[part], move{e: e}) })
	})
	if err != nil {
		return nil, err
	}
	moves := slices.Concat(parts...)
	if len(moves) > n {
		last = moves[n].e.ordinal - 1
		moves = moves[:n]
	}
	s.c.swept = last
	if len(moves) == 0 {
		return nil, nil
	}
	return moves, s.inParts(0, uint64(len(moves))-1, sweepParts, func(_ int, from, to uint64) error {
		return s.prepareMoves(moves[from : to+1])
	})
}

// prepareMoves places the entries for which the stretch has all that is needed. It may run concurrently with
// other calls of itself.
func (s *Shard) prepareMoves(moves []move) error {
	var values []byte // of all, as few allocations are cheaper
	before := make([]placed, 0, len(moves)*len(s.policies))
	for i := range moves {
		m := &moves[i]
		if s.stretch.give(m.e); !s.placeable(m.e) {
			continue
		}
		at := len(before)
		before = append(before, m.e.places...)
		m.before = before[at:len(before):len(before)]
		if err := s.score(m.e); err != nil {
			return err
		}
		at = len(values)
		values = m.e.append(values)
		m.value = values[at:len(values):len(values)]
	}
	return nil
}

// moveSwept moves entries in the queues; those that were not placed in advance are read and scored first.
func (s *Shard) moveSwept(moves []move) error {
	var rest []*entry
	for i := range moves {
		m := &moves[i]
		if m.value == nil {
			rest = append(rest, m.e)
			continue
		}
		if err := s.requeue(m.e, m.before); err != nil {
			return err
		}
		if err := s.setEntry(m.e.ordinal, m.value); err != nil {
			return err
		}
	}
	return s.scoreEntries(rest)
}

// scoreEntries reads, scores and moves entries of a pass, in the order of their discovery.
func (s *Shard) scoreEntries(entries []*entry) error {
	if err := s.sweepLinks(entries); err != nil {
		return err
	}
	if err := s.scoreAhead(entries); err != nil {
		return err
	}
	for _, e := range entries {
		if err := s.replaceBy(e, s.score); err != nil {
			return err
		}
	}
	return nil
}

// sweepRest scores all entries that are left of a pass if they are n at most, and returns their number. They need no stretch,
// as the call completes the pass.
func (s *Shard) sweepRest(n int) (done int, err error) {
	left := uint64(0)
	for p := range s.generations {
		if g := &s.generations[p]; g.passing() {
			left += g.keys[slotOld]
		}
	}
	if left > uint64(n) || s.c.entries-s.c.swept > sweepReach {
		return 0, nil
	}
	var entries []*entry
	if err := s.scanEntries(s.c.swept+1, s.c.entries, func(e *entry) { entries = append(entries, e) }); err != nil {
		return 0, err
	}
	s.c.swept = s.c.entries
	return len(entries), s.scoreEntries(entries)
}

// scanEntries calls f for the entries from ≤ ordinal ≤ to that the pass has not scored. It may run concurrently with other
// calls of itself.
func (s *Shard) scanEntries(from, to uint64, f func(e *entry)) error {
	keys := newKeys(shardPrefix(s.name))
	begin, end := keys.entries(from, to)
	return s.store.Scan(begin, end, func(key, value []byte) (bool, error) {
		e, err := s.sweepEntry(key, value)
		if err == nil && e != nil {
			f(e)
		}
		return err == nil, err
	})
}

// sweepEntry reads an entry of a scan; nil if the pass need not score it.
func (s *Shard) sweepEntry(key, value []byte) (*entry, error) {
	if !isQueued(value) {
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
		if e.host >= s.c.hosts {
			return nil, fmt.Errorf("frontier: entry %d has the unknown host %d", ordinal, e.host)
		}
	}
	if !s.isOld(e) {
		return nil, nil
	}
	return e, nil
}

// isQueued reports whether an entry's value is that of a queued one.
func isQueued(value []byte) bool { return len(value) >= 2 && state(value[1]) == stateQueued }

// isOld reports whether a queued entry is unranked, or has a key in the old generation of a pass.
func (s *Shard) isOld(e *entry) bool { return s.isOldWhile(s.c.unranked > 0, e) }

// isOldWhile is isOld with the information whether there are unranked entries. An entry read from the last commit may still have
// the places of other policies, in any number, although it has been ranked since; it is old then.
func (s *Shard) isOldWhile(ranking bool, e *entry) bool {
	if other := e.places[0].generation < s.c.shapeBegan; other || ranking {
		return other
	}
	for p := range s.generations {
		g := &s.generations[p]
		if g.passing() && e.places[p].In && e.places[p].generation == g.current {
			return true
		}
	}
	return false
}

// sweepLinks reads the links of entries in the order of their discovery that are not loaded.
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
