package frontier

import (
	"encoding/binary"
	"fmt"
	"math"

	"forager/internal/rank/rank"
	"forager/schemas"
)

// state of an entry.
type state byte

const (
	// stateQueued: in the queue of every policy that did not drop it.
	stateQueued state = iota
	// stateWaiting: a failed try; queued again at notBefore.
	stateWaiting
	// stateFlight: its request was dispatched and has no verdict yet.
	stateFlight
	// stateFinal: it has its outcome.
	stateFinal
	// stateAlias: it redirected; links to it count as links to target.
	stateAlias
	// stateMoved: it redirected to moved, on a host of another shard, where links to it are sent.
	stateMoved
	states
)

// entry is what is known of one URL. Its links are the leaps into it (link.go).
type entry struct {
	// ordinal of its discovery within the shard, from 1; the key, not part of the value.
	ordinal uint64
	url     string
	host    uint32
	state   state
	// depth is the number of hops from a seed, the least of all links; hops the redirects.
	depth, hops uint32
	// raised: hubs link to it, and it is unvisited (raise.go).
	raised bool
	// attempt of the newest dispatch, 0 before the first; tries that failed.
	attempt, tries uint32
	// places has one element a policy while queued; otherwise it is empty.
	places []placed
	// notBefore ends the wait, Unix milliseconds.
	notBefore int64
	// facts of the newest dispatch, once attempt > 0.
	facts facts
	// outcome, once final, and R(v) where it was delivered.
	outcome       schemas.Outcome
	raw, tempered float64
	// trained leaps into it, once final.
	trained uint32
	// target is the entry it redirected to.
	target uint64
	// moved is the URL on a host of another shard that it redirected to.
	moved string

	// links are its pending leaps in the order of discovery (link.go), once loaded; until then those
	// in its value. more: others have keys of their own.
	links        []link
	loaded, more bool

	// place in the lru, if it is held there.
	place *cached[uint64, *entry]
}

// held reports whether this is the entry of its ordinal in memory; another copy that was read is out of date.
func (e *entry) held() bool { return e.place.kept() && e.place.item == e }

// placed is an entry's place under one policy and the generation of its queue key.
type placed struct {
	rank.Place
	// generation of the queue that holds the key, if In.
	generation uint32
	// model that scored it, a name number; 0 = none.
	model uint32
}

// facts are the circumstances of a dispatch that leaps into the entry are settled with.
type facts struct {
	score         float64
	tier          uint32
	policy, model uint32 // name numbers; 0 = none
	ordinal       uint64 // of the dispatch
	clock         uint64 // of the shard at dispatch
}

const entryVersion = 5

// Bits of an encoded place. An entry has a place for each policy, and most fields of a place follow from others.
const (
	placeIn = 1 << iota
	placePinned
	placeZero   // Score is 0
	placeSingle // Best is Score
	placePlain  // Links and Sum are 0
	placeBits
)

// append appends the encoded entry to b.
func (e *entry) append(b []byte) []byte {
	b = append(b, entryVersion, byte(e.state))
	b = appendString(b, e.url)
	b = binary.AppendUvarint(b, uint64(e.host))
	b = binary.AppendUvarint(b, e.depthAndRaised())
	b = binary.AppendUvarint(b, uint64(e.hops))
	b = binary.AppendUvarint(b, uint64(e.attempt))
	b = binary.AppendUvarint(b, uint64(e.tries))
	if e.attempt > 0 {
		b = appendFloat(b, e.facts.score)
		b = binary.AppendUvarint(b, uint64(e.facts.tier))
		b = binary.AppendUvarint(b, uint64(e.facts.policy))
		b = binary.AppendUvarint(b, uint64(e.facts.model))
		b = binary.AppendUvarint(b, e.facts.ordinal)
		b = binary.AppendUvarint(b, e.facts.clock)
	}
	switch e.state {
	case stateQueued:
		b = binary.AppendUvarint(b, uint64(len(e.places)))
		for i := range e.places {
			b = e.places[i].append(b)
		}
	case stateWaiting:
		b = binary.AppendUvarint(b, uint64(e.notBefore))
	case stateFinal:
		b = binary.AppendUvarint(b, uint64(e.outcome))
		if e.outcome == schemas.Outcome_OUTCOME_DELIVERED {
			b = appendFloat(b, e.raw)
			b = appendFloat(b, e.tempered)
		}
		b = binary.AppendUvarint(b, uint64(e.trained))
	case stateAlias:
		b = binary.AppendUvarint(b, e.target)
	case stateMoved:
		b = appendString(b, e.moved)
	}
	return e.appendLinks(b)
}

// depthAndRaised are two things in one number, as most entries are not raised.
func (e *entry) depthAndRaised() uint64 {
	n := uint64(e.depth) << 1
	if e.raised {
		n |= 1
	}
	return n
}

// bits returns the first byte of an encoded place.
func (p *placed) bits() (bits byte) {
	if p.Pinned {
		bits |= placePinned
	}
	if !p.In {
		return bits
	}
	bits |= placeIn
	score := math.Float64bits(p.Score)
	if score == 0 {
		bits |= placeZero
	}
	if math.Float64bits(p.Best) == score {
		bits |= placeSingle
	}
	if p.Links == 0 && math.Float64bits(p.Sum) == 0 {
		bits |= placePlain
	}
	return bits
}

func (p *placed) append(b []byte) []byte {
	bits := p.bits()
	b = append(b, bits)
	b = binary.AppendUvarint(b, uint64(p.generation))
	b = binary.AppendUvarint(b, uint64(p.model))
	if !p.In {
		return b
	}
	b = append(b, byte(p.Tier))
	if bits&placeZero == 0 {
		b = appendFloat(b, p.Score)
	}
	if bits&placeSingle == 0 {
		b = appendFloat(b, p.Best)
	}
	b = binary.AppendUvarint(b, p.Via)
	if bits&placePlain == 0 {
		b = appendFloat(binary.AppendUvarint(b, uint64(p.Links)), p.Sum)
	}
	return b
}

// decodeEntry reads what append wrote. Any other bytes are an error, never a panic.
func decodeEntry(ordinal uint64, b []byte) (*entry, error) {
	e := new(entry)
	if err := e.decode(ordinal, b); err != nil {
		return nil, err
	}
	return e, nil
}

// decode is decodeEntry into an entry that is not held; it reuses the memory of places and links.
func (e *entry) decode(ordinal uint64, b []byte) error {
	r := reader{b: b}
	r.version(entryVersion)
	*e = entry{ordinal: ordinal, state: state(r.byte()), places: e.places[:0], links: e.links[:0]}
	e.url = r.string()
	e.host = r.u32()
	depth := r.u64()
	if depth>>1 > math.MaxUint32 {
		r.fail(errNumber)
	}
	e.depth, e.raised, e.hops = uint32(depth>>1), depth&1 == 1, r.u32()
	e.attempt, e.tries = r.u32(), r.u32()
	if e.attempt > 0 {
		e.facts = facts{score: r.float(), tier: r.u32(), policy: r.u32(), model: r.u32(), ordinal: r.u64(), clock: r.u64()}
	}
	switch e.state {
	case stateQueued:
		n := r.u64()
		if n > uint64(len(r.b)) { // a place takes more than a byte
			r.fail(errNumber)
			n = 0
		}
		e.places = sized(e.places, n)
		for i := range e.places {
			e.places[i].read(&r)
		}
	case stateWaiting:
		e.notBefore = r.i64()
	case stateFlight:
	case stateFinal:
		e.outcome = schemas.Outcome(r.u32())
		if _, known := schemas.Outcomes[e.outcome]; !known && r.err == nil {
			r.fail(fmt.Errorf("unknown outcome %d", e.outcome))
		}
		if e.outcome == schemas.Outcome_OUTCOME_DELIVERED {
			e.raw, e.tempered = r.float(), r.float()
		}
		e.trained = r.u32()
	case stateAlias:
		e.target = r.u64()
	case stateMoved:
		e.moved = r.string()
	default:
		r.fail(fmt.Errorf("unknown state %d", e.state))
	}
	e.readLinks(&r)
	if err := r.end(); err != nil {
		return fmt.Errorf("frontier: entry %d: %w", ordinal, err)
	}
	return nil
}

// sized returns a slice of n zeroes, in the memory of another one if that is enough; a slice of none stays nil.
func sized[T any](room []T, n uint64) []T {
	if uint64(cap(room)) < n {
		return make([]T, n)
	}
	room = room[:n]
	clear(room)
	return room
}

func (p *placed) read(r *reader) {
	bits := r.byte()
	if bits >= placeBits {
		r.fail(errNumber)
	}
	p.In, p.Pinned = bits&placeIn != 0, bits&placePinned != 0
	p.generation, p.model = r.u32(), r.u32()
	if p.In {
		p.Tier = uint32(r.byte())
		if bits&placeZero == 0 {
			p.Score = r.float()
		}
		if p.Best = p.Score; bits&placeSingle == 0 {
			p.Best = r.float()
		}
		p.Via = r.u64()
		if bits&placePlain == 0 {
			p.Links, p.Sum = r.u32(), r.float()
		}
	}
	if r.err == nil && p.bits() != bits { // a field that follows from others was written
		r.fail(errNumber)
	}
}

// order is the entry's position in its host's queue under policy p.
func (e *entry) order(p int) order {
	return order{tier: e.places[p].Tier, tries: e.tries, score: e.places[p].Score, ordinal: e.ordinal}
}
