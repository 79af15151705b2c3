package state

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"forager/internal/frontier/storage"
	"forager/internal/web/scope"
	"forager/schemas"
)

// Counters are the state of a shard that is one number or a few. They are stored as one
// value at the end of every call that changes them.
type Counters struct {
	// Clock counts applied records of link.found, entries the URLs discovered, ordinal the last
	// dispatch, generation the last generation of queues.
	Clock, Entries, Ordinal uint64
	Generation              uint32
	// Dispatched requests and verdicts by outcome; links refused by reason.
	Dispatched uint64
	Outcomes   map[schemas.Outcome]uint64
	Refused    map[scope.Reason]uint64
	// Pages delivered with the sums of their R, and charged requests.
	Pages, Requests uint64
	// Queries of backlinks, which are among requests.
	Queries       uint64
	Raw, Tempered float64
	// Links known, leaps settled, leaps that train; duplicate records; virtual pages of seeds.
	Links, Leaps, Trained, Duplicates, Seeds uint64
	// Outside is the number of unvisited entries that no policy that leads has a place for.
	Outside uint64
	// StartedAt is when the first request was dispatched, Unix milliseconds.
	StartedAt int64
	// Stopped: the crawl was stopped, and not resumed since.
	Stopped bool
	// Boundary is the last boundary sent, answered the newest model set, in pages.
	Boundary, Answered uint64
	// Model that queues are scored by (a name number, 0 = none) and the pages it was trained through;
	// mixed: the pass under way was begun under another model, so one more must follow.
	Model      uint32
	ModelPages uint64
	Mixed      bool
	// Shape of the policies that the queues were built for.
	Shape schemas.ID
	// Unranked entries were queued under another shape, and are in no queue until they are placed under
	// this one, which began with the generation ShapeBegan.
	Unranked   uint64
	ShapeBegan uint32
	// Scanned is the ordinal up to which a pass, or such placing, has gone in the order of discovery.
	Scanned uint64
	// Hosts known, and the cap and the patience under which their backlog was counted. Class is that of the cap (queue/hostindex.go).
	Hosts, Class          uint32
	HostCap, HostPatience uint64
	// Backlog is that of all hosts by their reachability; Failing is the number of unreachable hosts, by the reachability that they would have
	// without a cap.
	Backlog [HostStates]Backlog
	Failing [HostStates]uint64
	// Samples of latency so far, and how the window was found (frontier/window.go).
	Samples, WindowNow, BestRate, TunedAt, Widened uint64
	// Spans by topic.
	Spans [spanTopics]span
}

// span counts the distinct ids of a topic's records and keeps their XOR.
type span struct {
	Count uint64
	Xor   schemas.ID
}

func (s *span) Add(id schemas.ID) {
	s.Count++
	s.Xor = schemas.ID(id.Xor(s.Xor[:]))
}

const (
	SpanRequested = iota
	SpanFound
	SpanSettled
	spanTopics
)

// SpanNames are the topics of spans.
var SpanNames = [spanTopics]string{schemas.TopicFetchRequested, schemas.TopicLinkFound, schemas.TopicLeapSettled}

const countersVersion = 7

// varints lists the counters that are encoded as varints, in their order.
func (c *Counters) varints() []*uint64 {
	all := []*uint64{
		&c.Clock, &c.Entries, &c.Ordinal, &c.Dispatched, &c.Pages, &c.Requests,
		&c.Links, &c.Leaps, &c.Trained, &c.Duplicates, &c.Seeds, &c.Outside,
		&c.Boundary, &c.Answered, &c.ModelPages, &c.Samples, &c.WindowNow, &c.BestRate, &c.TunedAt, &c.Widened, &c.Unranked, &c.Queries, &c.Scanned,
		&c.HostCap, &c.HostPatience, &c.Failing[Unreached], &c.Failing[GivenUp],
	}
	for i := range c.Backlog {
		all = append(all, &c.Backlog[i].Queued, &c.Backlog[i].Waiting)
	}
	return all
}

// Append appends the encoded counters and generations to b.
func (c *Counters) Append(b []byte, g []Generations) []byte {
	b = append(b, countersVersion)
	for _, n := range c.varints() {
		b = binary.AppendUvarint(b, *n)
	}
	b = binary.AppendUvarint(b, uint64(c.Generation))
	b = binary.AppendUvarint(b, uint64(c.ShapeBegan))
	b = binary.AppendUvarint(b, uint64(c.Model))
	b = binary.AppendUvarint(b, uint64(c.StartedAt))
	b = binary.AppendUvarint(b, uint64(c.Hosts))
	b = binary.AppendUvarint(b, uint64(c.Class))
	b = storage.AppendBool(storage.AppendBool(b, c.Stopped), c.Mixed)
	b = storage.AppendFloat(storage.AppendFloat(b, c.Raw), c.Tempered)
	b = append(b, c.Shape[:]...)
	for i := range c.Spans {
		b = binary.AppendUvarint(b, c.Spans[i].Count)
		b = append(b, c.Spans[i].Xor[:]...)
	}
	b = binary.AppendUvarint(b, uint64(len(c.Outcomes)))
	for _, o := range slices.Sorted(maps.Keys(c.Outcomes)) {
		b = binary.AppendUvarint(b, uint64(o))
		b = binary.AppendUvarint(b, c.Outcomes[o])
	}
	b = binary.AppendUvarint(b, uint64(len(c.Refused)))
	for _, r := range slices.Sorted(maps.Keys(c.Refused)) {
		b = storage.AppendString(b, string(r))
		b = binary.AppendUvarint(b, c.Refused[r])
	}
	b = binary.AppendUvarint(b, uint64(len(g)))
	for _, g := range g {
		b = binary.AppendUvarint(b, uint64(g.Current))
		b = binary.AppendUvarint(b, uint64(g.Next))
		for _, n := range g.Keys {
			b = binary.AppendUvarint(b, n)
		}
	}
	return b
}

func decodeCounters(b []byte) (c Counters, g []Generations, err error) {
	r := storage.Reader{Rest: b}
	r.Version(countersVersion)
	for _, n := range c.varints() {
		*n = r.U64()
	}
	c.Generation, c.ShapeBegan, c.Model, c.StartedAt = r.U32(), r.U32(), r.U32(), r.I64()
	c.Hosts, c.Class = r.U32(), r.U32()
	c.Stopped, c.Mixed = r.Bool(), r.Bool()
	c.Raw, c.Tempered = r.Float(), r.Float()
	c.Shape = r.ID()
	for i := range c.Spans {
		c.Spans[i].Count, c.Spans[i].Xor = r.U64(), r.ID()
	}
	c.Outcomes, c.Refused = make(map[schemas.Outcome]uint64), make(map[scope.Reason]uint64)
	for n := r.U64(); n > 0 && r.Err == nil; n-- {
		o := schemas.Outcome(r.U32())
		c.Outcomes[o] = r.U64()
	}
	for n := r.U64(); n > 0 && r.Err == nil; n-- {
		reason := scope.Reason(r.String())
		c.Refused[reason] = r.U64()
	}
	for n := r.U64(); n > 0 && r.Err == nil; n-- {
		g = append(g, Generations{Current: r.U32(), Next: r.U32(), Keys: [Slots]uint64{r.U64(), r.U64()}})
	}
	if err := r.End(); err != nil {
		return c, nil, fmt.Errorf("frontier: counters: %w", err)
	}
	return c, g, nil
}

func newCounters() Counters {
	return Counters{Class: OpenClass + 1, Outcomes: make(map[schemas.Outcome]uint64), Refused: make(map[scope.Reason]uint64)}
}

// Backlog is the number of entries that can still be fetched: those that a policy that leads has a place for, and
// those that wait for another try.
type Backlog struct{ Queued, Waiting uint64 }

// Add adds numbers, which may be negative.
func (b *Backlog) Add(queued, waiting int) {
	b.Queued += uint64(queued)
	b.Waiting += uint64(waiting)
}

// All is the number of entries that can still be fetched.
func (b *Backlog) All() uint64 { return b.Queued + b.Waiting }

// slots of a queue: outside a pass of re-scoring only the first is used; during one the first
// holds the old generation and the second the new one.
const (
	SlotOld = iota
	SlotNew
	Slots
)

// standings of a host decide how its backlog counts.
const (
	Reachable = iota
	// Resting: a request was deferred, and the host waits (Host.NotBefore).
	Resting
	// Refusing: so does it as it responded with 429 or 503.
	Refusing
	// NoRobots: so does it as its robots.txt cannot be read.
	NoRobots
	// Unreached: the host is unreachable, and the crawl waits for it.
	Unreached
	// GivenUp: the host is unreachable, and the crawl does not wait for it any more.
	GivenUp
	// AtCap: the host has had its requests.
	AtCap
	HostStates
)

// Hosts that are not in memory are found by an index in the store: for each policy and generation, the hosts with a queue in the
// order of the heads of these queues, or of what comes before the head (front.bound). A host is in the index or in
// memory, never in both. The index is divided into classes: OpenClass has hosts that were open when they were written,
// each of the others those that were not, as they waited or were at the cap that was in force under that class. The last class is that
// of the cap in force; of the hosts of all classes before it some may be open now, which is checked when they are read.

// OpenClass is the class of hosts that were open.
const OpenClass = 0

// Generations of a policy's queues. They differ while a pass of re-scoring moves entries from
// current to next.
type Generations struct {
	Current, Next uint32
	// Keys in the queues, by slot.
	Keys [Slots]uint64
}

// Passing has a pointer receiver: a copy would read keys, which the shard may be writing concurrently.
func (g *Generations) Passing() bool { return g.Current != g.Next }

// Slot returns which of the two a generation is.
func (g *Generations) Slot(generation uint32) (int, error) {
	switch {
	case generation == g.Current:
		return SlotOld, nil
	case generation == g.Next:
		return SlotNew, nil
	}
	return 0, fmt.Errorf("frontier: queue generation %d is neither %d nor %d", generation, g.Current, g.Next)
}

// Of is the generation of a slot.
func (g Generations) Of(slot int) uint32 {
	if slot == SlotNew {
		return g.Next
	}
	return g.Current
}
