package frontier

import (
	"encoding/binary"
	"fmt"
	"slices"
	"unsafe"

	"forager/schemas"
)

// host is one politeness key, with the heads of its queues.
type host struct {
	number uint32
	name   string
	// dispatched requests, those that were deferred not counted (Scope.host_cap).
	dispatched uint64
	// notBefore: nothing is dispatched before it, Unix milliseconds; 0 = the host does not wait.
	notBefore int64
	// failingSince is when the host was first found unreachable, failedAt when last (unreachable.go), Unix milliseconds;
	// 0 = it is reachable.
	failingSince, failedAt int64
	// inFlight requests. A host that has some stays in memory.
	inFlight uint32
	backlog  backlog
	// queues by policy.
	queues []hostQueue
	// place in the lru; changed: the stored host differs from the one in memory.
	place   *cached[uint32, *host]
	changed bool
}

// backlog is the number of entries that can still be fetched: those that a policy that leads has a place for, and
// those that wait for another try.
type backlog struct{ queued, waiting uint64 }

func (b *backlog) add(queued, waiting int) {
	b.queued += uint64(queued)
	b.waiting += uint64(waiting)
}

func (b *backlog) all() uint64 { return b.queued + b.waiting }

// slots of a queue: outside a pass of re-scoring only the first is used; during one the first
// holds the old generation and the second the new one.
const (
	slotOld = iota
	slotNew
	slots
)

// hostQueue is what is in memory of one policy's queue of a host: its first keys in each generation.
type hostQueue struct {
	fronts [slots]front
	// ready and old are positions in the policy's heaps.
	ready, old int
}

func (q *hostQueue) empty() bool { return q.fronts[slotOld].empty() && q.fronts[slotNew].empty() }

// better is the slot of the generation whose head, or bound, is the better one; the queue is not empty.
func (q *hostQueue) better() (slot int) {
	a, b := &q.fronts[slotOld], &q.fronts[slotNew]
	if b.empty() || (!a.empty() && a.bound().less(b.bound())) {
		return slotOld
	}
	return slotNew
}

// bound is the head of a queue that is not empty, or comes before it (front.bound).
func (q *hostQueue) bound() order { return q.fronts[q.better()].bound() }

func newHostQueues(policies int) []hostQueue {
	q := make([]hostQueue, policies)
	for i := range q {
		q[i].ready, q[i].old = -1, -1
	}
	return q
}

// What a host takes in memory, bytes, including its places in two maps and a list, and for each policy its places in heaps.
const (
	hostCost      = int(unsafe.Sizeof(host{})) + 192
	hostQueueCost = int(unsafe.Sizeof(hostQueue{})) + 16
	orderCost     = int(unsafe.Sizeof(order{}))
)

// cost estimates what the host takes in memory, bytes.
func (h *host) cost() int {
	bytes := hostCost + len(h.name) + hostQueueCost*len(h.queues)
	for i := range h.queues {
		for slot := range h.queues[i].fronts {
			bytes += orderCost * cap(h.queues[i].fronts[slot].keys)
		}
	}
	return bytes
}

// capped reports whether the host has reached its cap.
func (s *Shard) capped(h *host) bool { return s.standing(h.dispatched, 0, 0) == atCap }

// open reports whether a request may be dispatched to the host now.
func (s *Shard) open(h *host) bool {
	return h.inFlight < s.hostLimit(h) && h.notBefore == 0 && !s.capped(h)
}

// countDispatched changes the number of requests that count for the host's cap.
func (s *Shard) countDispatched(h *host, by int) {
	s.tally(h, -1)
	h.dispatched = uint64(int64(h.dispatched) + int64(by))
	s.tally(h, 1)
	s.change(h)
}

// countBacklog changes the number of entries that the host still has to fetch.
func (s *Shard) countBacklog(h *host, queued, waiting int) {
	s.tally(h, -1)
	h.backlog.add(queued, waiting)
	s.tally(h, 1)
	s.change(h)
}

// standings of a host decide how its backlog counts.
const (
	reachable = iota
	// unreached: the host is unreachable, and the crawl waits for it.
	unreached
	// givenUp: the host is unreachable, and the crawl does not wait for it any more.
	givenUp
	// atCap: the host has had its requests.
	atCap
	standings
)

// standing of a host with a number of dispatched requests that was first and last found unreachable at these times.
func (s *Shard) standing(dispatched uint64, failingSince, failedAt int64) int {
	switch {
	case s.limits.hostCap > 0 && dispatched >= s.limits.hostCap:
		return atCap
	case failingSince == 0:
		return reachable
	case failedAt-failingSince >= s.limits.hostPatience:
		return givenUp
	}
	return unreached
}

// tally adds the host to the totals of the shard, by = 1, or subtracts it, by = -1.
func (s *Shard) tally(h *host, by int) {
	s.tallyOf(h.dispatched, h.failingSince, h.failedAt, h.backlog, by)
}

func (s *Shard) tallyOf(dispatched uint64, failingSince, failedAt int64, b backlog, by int) {
	s.c.backlog[s.standing(dispatched, failingSince, failedAt)].add(by*int(b.queued), by*int(b.waiting))
	if failingSince > 0 {
		s.c.failing[s.standing(0, failingSince, failedAt)] += uint64(by)
	}
}

// backlog is what can still be fetched, at hosts that have not reached their cap and were not given up.
func (s *Shard) backlog() uint64 { return s.c.backlog[reachable].all() + s.c.backlog[unreached].all() }

// countHosts counts the backlog of all hosts again if the cap or the patience of the crawl has changed.
func (s *Shard) countHosts() error {
	if s.limits.hostCap == s.c.hostCap && uint64(s.limits.hostPatience) == s.c.hostPatience {
		return nil
	}
	capped := s.limits.hostCap != s.c.hostCap
	s.c.hostCap, s.c.hostPatience = s.limits.hostCap, uint64(s.limits.hostPatience)
	s.c.backlog, s.c.failing = [standings]backlog{}, [standings]uint64{}
	if s.c.hosts == 0 {
		return nil
	}
	if capped {
		s.c.class++
		s.newIndex()
	}
	if err := s.saveHosts(); err != nil {
		return err
	}
	from := append([]byte(nil), s.keys.kind(kindHost)...)
	return s.store.Scan(from, after(from), func(key, value []byte) (bool, error) {
		r, err := decodeHost(value)
		if err == nil {
			s.tallyOf(r.dispatched, r.failingSince, r.failedAt, r.backlogSince(s.c.shapeBegan), 1)
		}
		return err == nil, err
	})
}

// sleep makes the host wait until at, unless it waits longer already.
func (s *Shard) sleep(h *host, at int64) error {
	if at <= h.notBefore {
		return nil
	}
	if err := s.wakeUp(h); err != nil {
		return err
	}
	h.notBefore = at
	s.refresh(h)
	s.change(h)
	unreachable := h.failingSince > 0
	s.sleepers(unreachable).insert(timed{at, uint64(h.number)})
	return s.store.Set(s.keys.sleeping(unreachable, at, h.number), nil)
}

// wakeUp ends the wait of a host, if it waits.
func (s *Shard) wakeUp(h *host) error {
	if h.notBefore == 0 {
		return nil
	}
	at := h.notBefore
	h.notBefore = 0
	s.refresh(h)
	s.change(h)
	unreachable := h.failingSince > 0
	s.sleepers(unreachable).remove(timed{at, uint64(h.number)})
	return s.store.Delete(s.keys.sleeping(unreachable, at, h.number))
}

// wakeHosts ends the wait of hosts whose time has come.
func (s *Shard) wakeHosts(now int64) error {
	for _, sleeping := range []*rangeHead[timed]{&s.sleeping, &s.sleepingUnreached} {
		for {
			first, ok, err := sleeping.least()
			if err != nil {
				return err
			}
			if !ok || first.at > now {
				break
			}
			h, err := s.host(uint32(first.id))
			if err == nil {
				err = s.wakeUp(h)
			}
			if err == nil {
				err = s.evictHosts()
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// sleepers are the hosts that wait and are unreachable, or the others that wait.
func (s *Shard) sleepers(unreachable bool) *rangeHead[timed] {
	if unreachable {
		return &s.sleepingUnreached
	}
	return &s.sleeping
}

// newSleeping is the head of the hosts that wait, by the end of their wait.
func (s *Shard) newSleeping(unreachable bool) rangeHead[timed] {
	return rangeHead[timed]{compare: compareTimed, scan: func(last *timed, f func(timed) bool) error {
		from := slices.Clone(s.keys.sleepers(unreachable))
		end := after(from)
		if last != nil {
			from = slices.Clone(s.keys.sleeping(unreachable, last.at, uint32(last.id)))
		}
		return s.store.Scan(from, end, func(key, _ []byte) (bool, error) {
			at, number, err := s.keys.parseSleeping(key)
			return err == nil && f(timed{at, uint64(number)}), err
		})
	}}
}

// storedHost is a host as it is stored.
type storedHost struct {
	name                   string
	dispatched             uint64
	notBefore              int64
	failingSince, failedAt int64
	// place is 0 for a host in memory, else its class in the index, plus 1.
	place uint32
	// shape is the generation at which the policies came under which entries are queued; under others none are.
	shape   uint32
	backlog backlog
	// fronts of queues that are not empty.
	fronts []storedFront
}

// storedFront is the front of a queue with its bound alone.
type storedFront struct {
	policy     uint8
	generation uint32
	stored     uint32
	unread     bool
	bound      order
}

// backlogSince is the backlog under the policies that came at a generation.
func (r *storedHost) backlogSince(shape uint32) backlog {
	if r.shape != shape {
		return backlog{waiting: r.backlog.waiting}
	}
	return r.backlog
}

const hostVersion = 3

func (r *storedHost) append(b []byte) []byte {
	b = append(b, hostVersion)
	b = appendString(b, r.name)
	b = binary.AppendUvarint(b, r.dispatched)
	b = binary.AppendUvarint(b, uint64(r.notBefore))
	b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(r.failingSince)), uint64(r.failedAt))
	b = binary.AppendUvarint(b, uint64(r.place))
	b = binary.AppendUvarint(b, uint64(r.shape))
	b = binary.AppendUvarint(b, r.backlog.queued)
	b = binary.AppendUvarint(b, r.backlog.waiting)
	b = binary.AppendUvarint(b, uint64(len(r.fronts)))
	for i := range r.fronts {
		f := &r.fronts[i]
		b = binary.AppendUvarint(append(b, f.policy), uint64(f.generation))
		b = appendBool(binary.AppendUvarint(b, uint64(f.stored)), f.unread)
		b = appendOrder(b, f.bound)
	}
	return b
}

func decodeHost(b []byte) (*storedHost, error) {
	r := reader{b: b}
	r.version(hostVersion)
	h := &storedHost{
		name: r.string(), dispatched: r.u64(), notBefore: r.i64(), failingSince: r.i64(), failedAt: r.i64(),
		place: r.u32(), shape: r.u32(),
		backlog: backlog{queued: r.u64(), waiting: r.u64()},
	}
	for n := r.u64(); n > 0 && r.err == nil; n-- {
		f := storedFront{policy: r.byte(), generation: r.u32(), stored: r.u32(), unread: r.bool()}
		if f.stored == 0 {
			r.fail(errNumber)
		}
		f.bound = r.order()
		h.fronts = append(h.fronts, f)
	}
	if err := r.end(); err != nil {
		return nil, fmt.Errorf("frontier: host: %w", err)
	}
	return h, nil
}

// saveHost stores a host with a place (storedHost.place).
func (s *Shard) saveHost(h *host, place uint32) error {
	h.changed = false
	r := storedHost{
		name: h.name, dispatched: h.dispatched, notBefore: h.notBefore, failingSince: h.failingSince, failedAt: h.failedAt,
		place: place, shape: s.c.shapeBegan, backlog: h.backlog,
		fronts: s.fronts[:0],
	}
	for p := range h.queues {
		for slot := range h.queues[p].fronts {
			if f := &h.queues[p].fronts[slot]; !f.empty() {
				r.fronts = append(r.fronts, storedFront{
					policy: uint8(p), generation: s.generations[p].of(slot), stored: f.stored, unread: f.unread, bound: f.bound(),
				})
			}
		}
	}
	s.fronts, s.value = r.fronts, r.append(s.value[:0])
	return s.store.Set(s.keys.u32(kindHost, h.number), s.value)
}

// restore makes a host of what is stored. Queues of generations that no longer exist are empty.
func (s *Shard) restore(number uint32, r *storedHost) *host {
	h := &host{
		number: number, name: r.name, dispatched: r.dispatched, notBefore: r.notBefore,
		failingSince: r.failingSince, failedAt: r.failedAt, backlog: r.backlogSince(s.c.shapeBegan), queues: newHostQueues(len(s.generations)),
	}
	for _, f := range r.fronts {
		if int(f.policy) >= len(s.generations) {
			continue
		}
		if slot, err := s.generations[f.policy].slot(f.generation); err == nil {
			h.queues[f.policy].fronts[slot] = front{keys: []order{f.bound}, stored: f.stored, unread: f.unread}
		}
	}
	return h
}

// hostID is the id by which the number of a host is found. No URL has it.
func hostID(name string) schemas.ID { return schemas.URLID(name) }
