package state

import (
	"encoding/binary"
	"fmt"
	"math"

	"forager/internal/frontier/storage"
	"forager/internal/rank/policy"
	"forager/schemas"
)

// What an item takes in memory with its place in a map and a list, bytes.
const (
	entryCost = 384
	linkCost  = 64
	pageCost  = 256
	tableCost = 256
)

// EntryState of an entry.
type EntryState byte

const (
	// Queued: in the queue of every policy that did not drop it.
	Queued EntryState = iota
	// Waiting: a failed try; queued again at NotBefore.
	Waiting
	// InFlight: its request was dispatched and has no verdict yet.
	InFlight
	// Final: it has its outcome.
	Final
	// Alias: it redirected; links to it count as links to target.
	Alias
	// Moved: it redirected to moved, on a host of another shard, where links to it are sent.
	Moved
	// Excluded: the rules of the crawl keep it out of the queues.
	Excluded
	entryStates
)

// Entry is what is known of one URL. Its links are the leaps into it (link.go).
type Entry struct {
	// Ordinal of its discovery within the shard, from 1; the key, not part of the value.
	Ordinal uint64
	URL     string
	Host    uint32
	State   EntryState
	// Depth is the number of hops from a seed, the least of all links; Hops the redirects.
	Depth, Hops uint32
	// Raised: hubs link to it, and it is unvisited.
	Raised bool
	// Attempt of the newest dispatch, 0 before the first; Tries that failed.
	Attempt, Tries uint32
	// Places has one element a policy while queued; otherwise it is empty, but for an excluded entry that no link placed.
	Places []Placed
	// NotBefore ends the wait, Unix milliseconds.
	NotBefore int64
	// Facts of the newest dispatch, once attempt > 0.
	Facts Facts
	// Outcome, once final, and R(v) where it was delivered.
	Outcome       schemas.Outcome
	Raw, Tempered float64
	// Trained leaps into it, once final.
	Trained uint32
	// Target is the entry it redirected to.
	Target uint64
	// Moved is the URL on a host of another shard that it redirected to.
	Moved string

	// Links are its pending leaps in the order of discovery (link.go), once loaded; until then those
	// in its value. more: others have keys of their own.
	Links        []Link
	Loaded, More bool

	// place in Records.Entries, if it is held there.
	place *storage.Cached[uint64, *Entry]
}

// Held reports whether this is the entry of its ordinal in memory; another copy that was read is out of date.
func (e *Entry) Held() bool { return e.place.Kept() && e.place.Item == e }

// Placed is an entry's place under one policy and the generation of its queue key.
type Placed struct {
	policy.Place
	// Generation of the queue that holds the key, if In.
	Generation uint32
	// Model that scored it, a name number; 0 = none, Unscored = links were added since.
	Model uint32
}

// Unscored is Placed.Model of an entry that must be scored before its policy chooses from its tier.
const Unscored = math.MaxUint32

// Facts are the circumstances of a dispatch that leaps into the entry are settled with.
type Facts struct {
	Score         float64
	Tier          uint32
	Policy, Model uint32 // name numbers; 0 = none
	Ordinal       uint64 // of the dispatch
	Clock         uint64 // of the shard at dispatch
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

// Append appends the encoded entry to b.
func (e *Entry) Append(b []byte) []byte {
	b = append(b, entryVersion, byte(e.State))
	b = storage.AppendString(b, e.URL)
	b = binary.AppendUvarint(b, uint64(e.Host))
	b = binary.AppendUvarint(b, e.depthAndRaised())
	b = binary.AppendUvarint(b, uint64(e.Hops))
	b = binary.AppendUvarint(b, uint64(e.Attempt))
	b = binary.AppendUvarint(b, uint64(e.Tries))
	if e.Attempt > 0 {
		b = storage.AppendFloat(b, e.Facts.Score)
		b = binary.AppendUvarint(b, uint64(e.Facts.Tier))
		b = binary.AppendUvarint(b, uint64(e.Facts.Policy))
		b = binary.AppendUvarint(b, uint64(e.Facts.Model))
		b = binary.AppendUvarint(b, e.Facts.Ordinal)
		b = binary.AppendUvarint(b, e.Facts.Clock)
	}
	switch e.State {
	case Queued, Excluded:
		b = binary.AppendUvarint(b, uint64(len(e.Places)))
		for i := range e.Places {
			b = e.Places[i].append(b)
		}
	case Waiting:
		b = binary.AppendUvarint(b, uint64(e.NotBefore))
	case Final:
		b = binary.AppendUvarint(b, uint64(e.Outcome))
		if e.Outcome == schemas.Outcome_OUTCOME_DELIVERED {
			b = storage.AppendFloat(b, e.Raw)
			b = storage.AppendFloat(b, e.Tempered)
		}
		b = binary.AppendUvarint(b, uint64(e.Trained))
	case Alias:
		b = binary.AppendUvarint(b, e.Target)
	case Moved:
		b = storage.AppendString(b, e.Moved)
	}
	return e.appendLinks(b)
}

// Unvisited reports whether the entry is queued, waits or is excluded.
func (e *Entry) Unvisited() bool {
	return e.State == Queued || e.State == Waiting || e.State == Excluded
}

// Mark notes that hubs link to the entry, unless it is visited, and reports whether that is new. The caller stores the entry.
func (e *Entry) Mark() (fresh bool) {
	switch e.State {
	case Final, Alias, Moved:
		return false
	}
	fresh, e.Raised = !e.Raised, true
	return fresh
}

// Unmark clears the mark that hubs link to the entry, and reports whether it was set. The caller stores the entry.
func (e *Entry) Unmark() (was bool) {
	was, e.Raised = e.Raised, false
	return was
}

// depthAndRaised are two things in one number, as most entries are not raised.
func (e *Entry) depthAndRaised() uint64 {
	n := uint64(e.Depth) << 1
	if e.Raised {
		n |= 1
	}
	return n
}

// bits returns the first byte of an encoded place.
func (p *Placed) bits() (bits byte) {
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

func (p *Placed) append(b []byte) []byte {
	bits := p.bits()
	b = append(b, bits)
	b = binary.AppendUvarint(b, uint64(p.Generation))
	b = binary.AppendUvarint(b, uint64(p.Model))
	if !p.In {
		return b
	}
	b = append(b, byte(p.Tier))
	if bits&placeZero == 0 {
		b = storage.AppendFloat(b, p.Score)
	}
	if bits&placeSingle == 0 {
		b = storage.AppendFloat(b, p.Best)
	}
	b = binary.AppendUvarint(b, p.Via)
	if bits&placePlain == 0 {
		b = storage.AppendFloat(binary.AppendUvarint(b, uint64(p.Links)), p.Sum)
	}
	return b
}

// DecodeEntry reads what append wrote. Any other bytes are an error, never a panic.
func DecodeEntry(ordinal uint64, b []byte) (*Entry, error) {
	e := new(Entry)
	if err := e.Decode(ordinal, b); err != nil {
		return nil, err
	}
	return e, nil
}

// Decode is DecodeEntry into an entry that is not held; it reuses the memory of places and links.
func (e *Entry) Decode(ordinal uint64, b []byte) error {
	r := storage.Reader{Rest: b}
	r.Version(entryVersion)
	*e = Entry{Ordinal: ordinal, State: EntryState(r.Byte()), Places: e.Places[:0], Links: e.Links[:0]}
	e.URL = r.String()
	e.Host = r.U32()
	depth := r.U64()
	if depth>>1 > math.MaxUint32 {
		r.Fail(storage.ErrNumber)
	}
	e.Depth, e.Raised, e.Hops = uint32(depth>>1), depth&1 == 1, r.U32()
	e.Attempt, e.Tries = r.U32(), r.U32()
	if e.Attempt > 0 {
		e.Facts = Facts{Score: r.Float(), Tier: r.U32(), Policy: r.U32(), Model: r.U32(), Ordinal: r.U64(), Clock: r.U64()}
	}
	switch e.State {
	case Queued, Excluded:
		n := r.U64()
		if n > uint64(len(r.Rest)) { // a place takes more than a byte
			r.Fail(storage.ErrNumber)
			n = 0
		}
		e.Places = sized(e.Places, n)
		for i := range e.Places {
			e.Places[i].read(&r)
		}
	case Waiting:
		e.NotBefore = r.I64()
	case InFlight:
	case Final:
		e.Outcome = schemas.Outcome(r.U32())
		if _, known := schemas.Outcomes[e.Outcome]; !known && r.Err == nil {
			r.Fail(fmt.Errorf("unknown outcome %d", e.Outcome))
		}
		if e.Outcome == schemas.Outcome_OUTCOME_DELIVERED {
			e.Raw, e.Tempered = r.Float(), r.Float()
		}
		e.Trained = r.U32()
	case Alias:
		e.Target = r.U64()
	case Moved:
		e.Moved = r.String()
	default:
		r.Fail(fmt.Errorf("unknown state %d", e.State))
	}
	e.readLinks(&r)
	if err := r.End(); err != nil {
		return fmt.Errorf("frontier: entry %d: %w", ordinal, err)
	}
	return nil
}

// sized returns a slice of n zeroes, in the memory of another one if that is enough; a slice of none stays nil.
func sized[T any](buf []T, n uint64) []T {
	if uint64(cap(buf)) < n {
		return make([]T, n)
	}
	buf = buf[:n]
	clear(buf)
	return buf
}

func (p *Placed) read(r *storage.Reader) {
	bits := r.Byte()
	if bits >= placeBits {
		r.Fail(storage.ErrNumber)
	}
	p.In, p.Pinned = bits&placeIn != 0, bits&placePinned != 0
	p.Generation, p.Model = r.U32(), r.U32()
	if p.In {
		p.Tier = uint32(r.Byte())
		if bits&placeZero == 0 {
			p.Score = r.Float()
		}
		if p.Best = p.Score; bits&placeSingle == 0 {
			p.Best = r.Float()
		}
		p.Via = r.U64()
		if bits&placePlain == 0 {
			p.Links, p.Sum = r.U32(), r.Float()
		}
	}
	if r.Err == nil && p.bits() != bits { // a field that follows from others was written
		r.Fail(storage.ErrNumber)
	}
}

// Order is the entry's position in its host's queue under policy p.
func (e *Entry) Order(p int) Order {
	return Order{Tier: e.Places[p].Tier, Tries: e.Tries, Score: e.Places[p].Score, Ordinal: e.Ordinal}
}
