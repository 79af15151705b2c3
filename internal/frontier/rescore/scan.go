package rescore

import (
	"fmt"
	"slices"

	"forager/internal/frontier/queue"
	"forager/internal/frontier/state"
)

// A pass of re-scoring goes through the frontier in two ways at once. The best entries come
// first, so that what is dispatched meanwhile was scored under the new model; but that order
// jumps from page to page, and in a frontier that does not fit memory every entry, its
// links and the tables of their pages are read one by one. The others therefore come in the
// order of their discovery, in which the store has them, in batches whose links are
// scored in advance (batch.go; docs/decisions/0104).
const (
	// BestShare: one in BestShare entries that are scored again is the best one left.
	BestShare = 256
	// A scan reads as many entries at a time as are still wanted, within these bounds, in parallel parts, and
	// passes over at most scanReach entries in a call.
	scanLeast, scanChunk = 64, 2048
	scanParts, scanReach = 8, 1 << 16
	// scanRead is the number of parts that are read in parallel: starting a scan costs as much as reading many entries.
	scanRead = 4
)

// Move is an entry of a scan with what was computed before moving it in the queues.
type Move struct {
	Entry *state.Entry
	// Value is the entry's with its new places, before are the old places; nil if they were not computed in advance.
	Value  []byte
	before []state.Placed
}

// scan scores up to n ≥ 1 entries of the old generation again, in the order of discovery, and
// returns their number; end reports that none is left.
func (rs *Rescorer) scan(n int) (done int, end bool, err error) {
	for reach := rs.state.Counters.Scanned + scanReach; done < n && rs.state.Counters.Scanned < reach; {
		if rs.state.Counters.Scanned >= rs.state.Counters.Entries {
			return done, true, nil
		}
		if ready, err := rs.ReadyBatch(); err != nil || !ready {
			return done, false, err
		}
		behind := rs.state.Counters.Scanned
		moves, err := rs.ScanEntries(n - done)
		if err != nil {
			return done, false, err
		}
		if err := rs.MoveMeanwhile(moves, behind); err != nil {
			return done, false, err
		}
		done += len(moves)
	}
	return done, false, nil
}

// ScanEntries reads the next entries and prepares the moves of those, at most n, that the pass has not scored.
func (rs *Rescorer) ScanEntries(n int) ([]Move, error) {
	last := min(rs.state.Counters.Scanned+uint64(min(max(scanLeast, n), scanChunk)), rs.Batch.end)
	parts := make([][]Move, scanRead)
	err := rs.workers.inParts(rs.state.Counters.Scanned+1, last, scanRead, func(part int, from, to uint64) error {
		return rs.scanEntries(from, to, rs.queues.IsOld, func(e *state.Entry) { parts[part] = append(parts[part], Move{Entry: e}) })
	})
	if err != nil {
		return nil, err
	}
	moves := slices.Concat(parts...)
	if len(moves) > n {
		last = moves[n].Entry.Ordinal - 1
		moves = moves[:n]
	}
	rs.state.Counters.Scanned = last
	if len(moves) == 0 {
		return nil, nil
	}
	return moves, rs.workers.inParts(0, uint64(len(moves))-1, scanParts, func(_ int, from, to uint64) error {
		return rs.prepareMoves(moves[from : to+1])
	})
}

// prepareMoves places the entries for which the batch has all that is needed. It may run concurrently with
// other calls of itself.
func (rs *Rescorer) prepareMoves(moves []Move) error {
	var values []byte // of all, as few allocations are cheaper
	before := make([]state.Placed, 0, len(moves)*len(rs.places.Policies))
	for i := range moves {
		m := &moves[i]
		if rs.Batch.assign(m.Entry); !rs.places.Placeable(m.Entry) {
			continue
		}
		at := len(before)
		before = append(before, m.Entry.Places...)
		m.before = before[at:len(before):len(before)]
		if err := rs.places.Score(m.Entry); err != nil {
			return err
		}
		at = len(values)
		values = m.Entry.Append(values)
		m.Value = values[at:len(values):len(values)]
	}
	return nil
}

// moveScanned moves entries in the queues; those that were not placed in advance are read and scored first.
func (rs *Rescorer) moveScanned(moves []Move) error {
	var rest []*state.Entry
	for i := range moves {
		m := &moves[i]
		if m.Value == nil {
			rest = append(rest, m.Entry)
			continue
		}
		if err := rs.queues.Requeue(m.Entry, m.before); err != nil {
			return err
		}
		if err := rs.state.SetEntry(m.Entry.Ordinal, m.Value); err != nil {
			return err
		}
	}
	return rs.scoreEntries(rest)
}

// scoreEntries reads, scores and moves entries of a pass, in the order of their discovery.
func (rs *Rescorer) scoreEntries(entries []*state.Entry) error {
	if err := rs.sweepLinks(entries); err != nil {
		return err
	}
	if err := rs.workers.scoreAhead(entries); err != nil {
		return err
	}
	for _, e := range entries {
		if err := rs.places.ReplaceBy(e, rs.places.Score); err != nil {
			return err
		}
	}
	return nil
}

// scoreRest scores all entries that are left of a pass if they are n at most, and returns their number. They need no batch,
// as the call completes the pass.
func (rs *Rescorer) scoreRest(n int) (done int, err error) {
	left := uint64(0)
	for p := range rs.state.Generations {
		if g := &rs.state.Generations[p]; g.Passing() {
			left += g.Keys[state.SlotOld]
		}
	}
	if left > uint64(n) || rs.state.Counters.Entries-rs.state.Counters.Scanned > scanReach {
		return 0, nil
	}
	from := rs.state.Counters.Scanned + 1
	rs.state.Counters.Scanned = rs.state.Counters.Entries
	return rs.scoreWanted(from, rs.queues.IsOld)
}

// scoreWanted scores the queued entries from an ordinal on that are wanted, and returns their number.
func (rs *Rescorer) scoreWanted(from uint64, wanted func(e *state.Entry) bool) (done int, err error) {
	var entries []*state.Entry
	if err := rs.scanEntries(from, rs.state.Counters.Entries, wanted, func(e *state.Entry) { entries = append(entries, e) }); err != nil {
		return 0, err
	}
	return len(entries), rs.scoreEntries(entries)
}

// scanEntries calls f for the queued entries from ≤ ordinal ≤ to that are wanted. It may run concurrently with other
// calls of itself.
func (rs *Rescorer) scanEntries(from, to uint64, wanted func(e *state.Entry) bool, f func(e *state.Entry)) error {
	keys := state.NewKeys(state.ShardPrefix(rs.state.Name))
	begin, end := keys.Entries(from, to)
	return rs.state.Store.Scan(begin, end, func(key, value []byte) (bool, error) {
		e, err := rs.sweepEntry(key, value)
		if err == nil && e != nil && wanted(e) {
			f(e)
		}
		return err == nil, err
	})
}

// sweepEntry reads an entry of a scan; nil if it is not queued.
func (rs *Rescorer) sweepEntry(key, value []byte) (*state.Entry, error) {
	if !queue.IsQueued(value) {
		return nil, nil
	}
	ordinal, err := rs.state.Keys.ParseU64(key)
	if err != nil {
		return nil, err
	}
	e, ok := rs.state.Entries.Peek(ordinal)
	if !ok {
		if e, err = state.DecodeEntry(ordinal, value); err != nil {
			return nil, err
		}
		if e.Host >= rs.state.Counters.Hosts {
			return nil, fmt.Errorf("frontier: entry %d has the unknown host %d", ordinal, e.Host)
		}
	}
	return e, nil
}

// sweepLinks reads the links of entries in the order of their discovery that are not loaded.
func (rs *Rescorer) sweepLinks(entries []*state.Entry) error {
	entries = slices.DeleteFunc(slices.Clone(entries), func(e *state.Entry) bool { return e.Loaded })
	if len(entries) == 0 {
		return nil
	}
	at := 0
	rs.state.KeyBuffer = append(rs.state.KeyBuffer[:0], rs.state.Keys.U64(state.KindLink, entries[0].Ordinal)...)
	err := rs.state.Store.Scan(rs.state.KeyBuffer, state.After(rs.state.Keys.U64(state.KindLink, entries[len(entries)-1].Ordinal)), func(key, value []byte) (bool, error) {
		v, l, err := rs.state.ReadLink(key, value)
		if err != nil {
			return false, err
		}
		for entries[at].Ordinal < v {
			at++
		}
		if e := entries[at]; e.Ordinal == v {
			e.Links = append(e.Links, l)
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	for _, e := range entries {
		e.Complete()
	}
	return nil
}
