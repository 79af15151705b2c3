package frontier

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"forager/internal/web/scope"
	"forager/schemas"
)

// counters are the state of a shard that is one number or a few. They are stored as one
// value at the end of every call that changes them.
type counters struct {
	// clock counts applied records of link.found, entries the URLs discovered, ordinal the last
	// dispatch, generation the last generation of queues.
	clock, entries, ordinal uint64
	generation              uint32
	// dispatched requests and verdicts by outcome; links refused by reason.
	dispatched uint64
	outcomes   map[schemas.Outcome]uint64
	refused    map[scope.Reason]uint64
	// pages delivered with the sums of their R, and charged requests.
	pages, requests uint64
	// queries of backlinks, which are among requests.
	queries       uint64
	raw, tempered float64
	// links known, leaps settled, leaps that train; duplicate records; virtual pages of seeds.
	links, leaps, trained, duplicates, seeds uint64
	// outside is the number of unvisited entries that no policy that leads has a place for.
	outside uint64
	// startedAt is when the first request was dispatched, Unix milliseconds.
	startedAt int64
	// stopped: the crawl was stopped, which is final.
	stopped bool
	// boundary is the last boundary sent, answered the newest model set, in pages.
	boundary, answered uint64
	// model that queues are scored by (a name number, 0 = none) and the pages it was trained through;
	// mixed: the pass under way was begun under another model, so one more must follow.
	model      uint32
	modelPages uint64
	mixed      bool
	// shape of the policies that the queues were built for.
	shape schemas.ID
	// unranked entries were queued under another shape, and are in no queue until they are placed under
	// this one, which began with the generation shapeBegan (rerank.go).
	unranked   uint64
	shapeBegan uint32
	// swept is the ordinal up to which a pass, or such placing, has gone in the order of discovery.
	swept uint64
	// hosts known, and the cap and the patience under which their backlog was counted. class is that of the cap (hostindex.go).
	hosts, class          uint32
	hostCap, hostPatience uint64
	// backlog is that of all hosts by their standing; failing is the number of unreachable hosts, by the standing that they would have
	// without a cap.
	backlog [standings]backlog
	failing [standings]uint64
	// latency samples so far, and how the window was found, see window.go.
	samples, windowNow, bestRate, tunedAt, widened uint64
	// spans by topic.
	spans [spanTopics]span
}

// span counts the distinct ids of a topic's records and keeps their XOR.
type span struct {
	count uint64
	xor   schemas.ID
}

func (s *span) add(id schemas.ID) {
	s.count++
	s.xor = schemas.ID(id.Xor(s.xor[:]))
}

const (
	spanRequested = iota
	spanFound
	spanSettled
	spanTopics
)

var spanNames = [spanTopics]string{schemas.TopicFetchRequested, schemas.TopicLinkFound, schemas.TopicLeapSettled}

const countersVersion = 6

// varints lists the counters that are encoded as varints, in their order.
func (c *counters) varints() []*uint64 {
	all := []*uint64{
		&c.clock, &c.entries, &c.ordinal, &c.dispatched, &c.pages, &c.requests,
		&c.links, &c.leaps, &c.trained, &c.duplicates, &c.seeds, &c.outside,
		&c.boundary, &c.answered, &c.modelPages, &c.samples, &c.windowNow, &c.bestRate, &c.tunedAt, &c.widened, &c.unranked, &c.queries, &c.swept,
		&c.hostCap, &c.hostPatience, &c.failing[unreached], &c.failing[givenUp],
	}
	for i := range c.backlog {
		all = append(all, &c.backlog[i].queued, &c.backlog[i].waiting)
	}
	return all
}

func (c *counters) append(b []byte, g []generations) []byte {
	b = append(b, countersVersion)
	for _, n := range c.varints() {
		b = binary.AppendUvarint(b, *n)
	}
	b = binary.AppendUvarint(b, uint64(c.generation))
	b = binary.AppendUvarint(b, uint64(c.shapeBegan))
	b = binary.AppendUvarint(b, uint64(c.model))
	b = binary.AppendUvarint(b, uint64(c.startedAt))
	b = binary.AppendUvarint(b, uint64(c.hosts))
	b = binary.AppendUvarint(b, uint64(c.class))
	b = appendBool(appendBool(b, c.stopped), c.mixed)
	b = appendFloat(appendFloat(b, c.raw), c.tempered)
	b = append(b, c.shape[:]...)
	for i := range c.spans {
		b = binary.AppendUvarint(b, c.spans[i].count)
		b = append(b, c.spans[i].xor[:]...)
	}
	b = binary.AppendUvarint(b, uint64(len(c.outcomes)))
	for _, o := range slices.Sorted(maps.Keys(c.outcomes)) {
		b = binary.AppendUvarint(b, uint64(o))
		b = binary.AppendUvarint(b, c.outcomes[o])
	}
	b = binary.AppendUvarint(b, uint64(len(c.refused)))
	for _, r := range slices.Sorted(maps.Keys(c.refused)) {
		b = appendString(b, string(r))
		b = binary.AppendUvarint(b, c.refused[r])
	}
	b = binary.AppendUvarint(b, uint64(len(g)))
	for _, g := range g {
		b = binary.AppendUvarint(b, uint64(g.current))
		b = binary.AppendUvarint(b, uint64(g.next))
		for _, n := range g.keys {
			b = binary.AppendUvarint(b, n)
		}
	}
	return b
}

func decodeCounters(b []byte) (c counters, g []generations, err error) {
	r := reader{b: b}
	r.version(countersVersion)
	for _, n := range c.varints() {
		*n = r.u64()
	}
	c.generation, c.shapeBegan, c.model, c.startedAt = r.u32(), r.u32(), r.u32(), r.i64()
	c.hosts, c.class = r.u32(), r.u32()
	c.stopped, c.mixed = r.bool(), r.bool()
	c.raw, c.tempered = r.float(), r.float()
	c.shape = r.id()
	for i := range c.spans {
		c.spans[i].count, c.spans[i].xor = r.u64(), r.id()
	}
	c.outcomes, c.refused = make(map[schemas.Outcome]uint64), make(map[scope.Reason]uint64)
	for n := r.u64(); n > 0 && r.err == nil; n-- {
		o := schemas.Outcome(r.u32())
		c.outcomes[o] = r.u64()
	}
	for n := r.u64(); n > 0 && r.err == nil; n-- {
		reason := scope.Reason(r.string())
		c.refused[reason] = r.u64()
	}
	for n := r.u64(); n > 0 && r.err == nil; n-- {
		g = append(g, generations{current: r.u32(), next: r.u32(), keys: [slots]uint64{r.u64(), r.u64()}})
	}
	if err := r.end(); err != nil {
		return c, nil, fmt.Errorf("frontier: counters: %w", err)
	}
	return c, g, nil
}

// save stores the counters, and the hosts that changed.
func (s *Shard) save() error {
	if err := s.saveHosts(); err != nil {
		return err
	}
	s.value = s.c.append(s.value[:0], s.generations)
	return s.store.Set(s.keys.kind(kindCounters), s.value)
}

func newCounters() counters {
	return counters{class: openClass + 1, outcomes: make(map[schemas.Outcome]uint64), refused: make(map[scope.Reason]uint64)}
}

func (s *Shard) loadCounters() error {
	b, ok, err := s.store.Get(s.keys.kind(kindCounters))
	if err != nil {
		return err
	}
	if !ok {
		s.c = newCounters()
		return nil
	}
	s.c, s.generations, err = decodeCounters(b)
	return err
}
