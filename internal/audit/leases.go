package audit

import (
	"encoding/binary"
	"math"

	"forager/schemas"
)

// lease is the number of requests that a shard may have in flight, according to the notes between the shards.
//
// Shard 0 divides the window: its notes give every other shard a level, and these report to it what they may
// use and have in flight (package shards). A raised level may be used at once; a lowered one is given to
// another shard only after the report that it was read. So each shard other than 0 is bounded by the level of
// its newest note; and the requests of shard 0 plus what the others may have, by their newest reports, are
// bounded by the window. A note between two records may have arrived before or after a dispatch chosen between
// them: the more permissive one counts.
type lease struct {
	j             *judge
	shard, shards uint32
	notes         *cursor
	ahead         *schemas.LinkFound // the next note, at place
	place         uint64
	any           bool
	epoch         uint64 // highest epoch of shard 0
	level         uint64 // of the newest note, for shards other than 0
	// held is the number of requests that each other shard may have in flight, by its newest report, for shard 0.
	held map[uint32]uint64
}

func newLease(j *judge, shard, shards uint32) *lease {
	l := &lease{j: j, shard: shard, shards: shards, notes: j.each(kindNote, be32(shard)), held: make(map[uint32]uint64)}
	l.advance()
	return l
}

func (l *lease) advance() {
	e, ok := l.notes.next()
	if l.any = ok; !ok {
		return
	}
	l.ahead, l.place = new(schemas.LinkFound), binary.BigEndian.Uint64(e.key[len(e.key)-8:])
	l.j.decode(e.value, l.ahead)
}

// reach applies the notes before a place.
func (l *lease) reach(place uint64) {
	for l.any && l.place < place {
		l.level = l.after(l.ahead, l.level)
		if n := l.ahead.GetNote(); l.shard == 0 && n.GetReport() != nil {
			l.held[l.ahead.GetFrom()] = heldBy(n.GetReport())
		}
		l.advance()
	}
}

func heldBy(r *schemas.ShardReport) uint64 { return max(r.GetLease().GetWindow(), r.GetInFlight()) }

// after returns the level after a note; notes of replaced owners do not count.
func (l *lease) after(v *schemas.LinkFound, level uint64) uint64 {
	n := v.GetNote()
	if n.GetLease() == nil || n.GetEpoch() < l.epoch {
		return level
	}
	l.epoch = n.GetEpoch()
	if n.GetLease().GetKeep() {
		return level
	}
	return n.GetLease().GetWindow()
}

// check compares the requests in flight at a dispatch with the permitted number.
func (l *lease) check(r *schemas.FetchRequest, flying int, ticks *cursor) {
	window := l.j.window()
	if l.shards <= 1 || flying > window {
		if flying > window {
			l.j.problem("with dispatch %d of shard %d (%s) %d requests were in flight, the window is %d", r.GetOrdinal(), l.shard, r.GetUrl(), flying, window)
		}
		return
	}
	next := uint64(math.MaxUint64) // place of the next record applied after the dispatch
	if e, ok := ticks.peek(); ok {
		next = binary.BigEndian.Uint64(e.key[len(e.key)-8:])
	}
	level, held := l.level, make(map[uint32]uint64, len(l.held))
	for shard, n := range l.held {
		held[shard] = n
	}
	for _, v := range l.between(next) {
		n := v.GetNote()
		if n.GetLease() != nil && !n.GetLease().GetKeep() {
			level = max(level, n.GetLease().GetWindow())
		}
		if n.GetReport() != nil {
			held[v.GetFrom()] = min(held[v.GetFrom()], heldBy(n.GetReport()))
		}
	}
	if l.shard != 0 {
		if uint64(flying) > level {
			l.j.problem("with dispatch %d of shard %d (%s) %d requests were in flight, its share of the window is %d", r.GetOrdinal(), l.shard, r.GetUrl(), flying, level)
		}
		return
	}
	sum := uint64(flying)
	for _, n := range held {
		sum += n
	}
	if sum > uint64(window) {
		l.j.problem("with dispatch %d of shard 0 (%s) the shards might have %d requests in flight together, the window is %d", r.GetOrdinal(), r.GetUrl(), sum, window)
	}
}

// between returns the notes that were not read yet, up to a place.
func (l *lease) between(place uint64) (notes []*schemas.LinkFound) {
	if !l.any || l.place >= place {
		return nil
	}
	notes = append(notes, l.ahead)
	for _, e := range l.notes.upTo(place) {
		v := new(schemas.LinkFound)
		l.j.decode(e.value, v)
		notes = append(notes, v)
	}
	return notes
}
