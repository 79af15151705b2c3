package queue

import (
	"encoding/binary"
	"fmt"
	"unsafe"

	"forager/internal/frontier/state"
	"forager/internal/frontier/storage"
	"forager/schemas"
)

// Host is one politeness key, with the heads of its queues.
type Host struct {
	Number uint32
	Name   string
	// Dispatched requests, those that were deferred not counted (Scope.host_cap).
	Dispatched uint64
	// NotBefore: nothing is dispatched before it, Unix milliseconds; 0 = the host does not wait.
	NotBefore int64
	// rest is why the host waits: state.Resting, Refusing or NoRobots; Reachable if it does not.
	rest int
	// FailingSince is when the host was first found unreachable, FailedAt when last (unreachable.go), Unix milliseconds;
	// 0 = it is reachable.
	failingSince, failedAt int64
	// InFlight requests. A host that has some stays in memory.
	InFlight uint32
	backlog  state.Backlog
	// Queues by policy.
	Queues []hostQueue
	// place in the lru; changed: the stored host differs from the one in memory.
	place   *storage.Cached[uint32, *Host]
	changed bool
}

// hostQueue is what is in memory of one policy's queue of a host: its first keys in each generation.
type hostQueue struct {
	Fronts [state.Slots]headCache
	// ready and old are positions in the policy's heaps.
	ready, old int
}

func (q *hostQueue) Empty() bool {
	return q.Fronts[state.SlotOld].empty() && q.Fronts[state.SlotNew].empty()
}

// Better is the slot of the generation whose head, or bound, is the better one; the queue is not empty.
func (q *hostQueue) Better() (slot int) {
	a, b := &q.Fronts[state.SlotOld], &q.Fronts[state.SlotNew]
	if b.empty() || (!a.empty() && a.bound().Less(b.bound())) {
		return state.SlotOld
	}
	return state.SlotNew
}

// Bound is the head of a queue that is not empty, or comes before it (front.bound).
func (q *hostQueue) Bound() state.Order { return q.Fronts[q.Better()].bound() }

func newHostQueues(policies int) []hostQueue {
	q := make([]hostQueue, policies)
	for i := range q {
		q[i].ready, q[i].old = -1, -1
	}
	return q
}

// What a host takes in memory, bytes, including its places in two maps and a list, and for each policy its places in heaps.
const (
	HostCost      = int(unsafe.Sizeof(Host{})) + 192
	HostQueueCost = int(unsafe.Sizeof(hostQueue{})) + 16
	orderCost     = int(unsafe.Sizeof(state.Order{}))
)

// Cost estimates what the host takes in memory, bytes.
func (h *Host) Cost() int {
	bytes := HostCost + len(h.Name) + HostQueueCost*len(h.Queues)
	for i := range h.Queues {
		for slot := range h.Queues[i].Fronts {
			bytes += orderCost * cap(h.Queues[i].Fronts[slot].keys)
		}
	}
	return bytes
}

// Capped reports whether the host has reached its cap.
func (hs *Hosts) Capped(h *Host) bool { return hs.Reachability(h.Dispatched, 0, 0, 0) == state.AtCap }

// Limits are the limits of each host, by the control record.
type Limits struct {
	Window   uint32 // ≥ 1; 0 before Configure
	Cap      uint64 // 0 = no limit
	Patience int64  // milliseconds
}

// open reports whether a request may be dispatched to the host now.
func (hs *Hosts) open(h *Host) bool {
	return h.InFlight < hs.HostLimit(h) && h.NotBefore == 0 && !hs.Capped(h)
}

// OnlyGivenUp reports whether nothing is left to fetch but URLs on hosts that were given up: these get no more requests, or
// a crawl with many of them would not end.
func (hs *Hosts) OnlyGivenUp() bool {
	return hs.state.Counters.Backlog[state.GivenUp].All() > 0 && hs.Backlog() == 0 && hs.state.Counters.Unranked == 0
}

// Cause is what the URLs of a stored host wait for that are queued, or waiting for another try.
func (hs *Hosts) Cause(r *StoredHost, inFlight uint32, waiting bool) schemas.WaitCause {
	c := Cause(hs.Reachability(r.Dispatched, r.FailingSince, r.FailedAt, r.Rest), waiting)
	if c == schemas.WaitCause_WAIT_CAUSE_WINDOW && inFlight >= hs.Limits.Window {
		return schemas.WaitCause_WAIT_CAUSE_HOST_PAUSE
	}
	return c
}

// HostLimit is the number of requests that may be in flight to the host: one if it is unreachable.
func (hs *Hosts) HostLimit(h *Host) uint32 {
	if h.failingSince > 0 {
		return 1
	}
	return hs.Limits.Window
}

// CountRequests changes the number of requests in flight to the host, and of those that count for its cap.
func (hs *Hosts) CountRequests(h *Host, inFlight, counted int) {
	hs.tally(h, -1)
	h.InFlight = uint32(int(h.InFlight) + inFlight)
	h.Dispatched = uint64(int64(h.Dispatched) + int64(counted))
	hs.tally(h, 1)
	hs.Refresh(h)
	if counted != 0 {
		hs.change(h)
	}
}

// countBacklog changes the number of entries that the host still has to fetch.
func (hs *Hosts) countBacklog(h *Host, queued, waiting int) {
	hs.tally(h, -1)
	h.backlog.Add(queued, waiting)
	hs.tally(h, 1)
	hs.change(h)
}

// Reachability of a host with a number of dispatched requests that was first and last found unreachable at these times, and rests for a reason.
func (hs *Hosts) Reachability(dispatched uint64, failingSince, failedAt int64, rest int) int {
	switch {
	case hs.Limits.Cap > 0 && dispatched >= hs.Limits.Cap:
		return state.AtCap
	case failingSince == 0:
		return rest
	case failedAt-failingSince >= hs.Limits.Patience:
		return state.GivenUp
	}
	return state.Unreached
}

// tally adds the host to the totals of the shard, by = 1, or subtracts it, by = -1.
func (hs *Hosts) tally(h *Host, by int) {
	hs.tallyOf(h.Dispatched, h.failingSince, h.failedAt, h.rest, h.backlog, by)
	if hs.busyAt(h) {
		hs.busy += uint64(by) * h.backlog.Queued
	}
}

func (hs *Hosts) tallyOf(dispatched uint64, failingSince, failedAt int64, rest int, b state.Backlog, by int) {
	hs.state.Counters.Backlog[hs.Reachability(dispatched, failingSince, failedAt, rest)].Add(by*int(b.Queued), by*int(b.Waiting))
	if failingSince > 0 {
		hs.state.Counters.Failing[hs.Reachability(0, failingSince, failedAt, rest)] += uint64(by)
	}
}

// Backlog is what can still be fetched, at hosts that have not reached their cap and were not given up.
func (hs *Hosts) Backlog() (n uint64) {
	for reachability := range state.GivenUp {
		n += hs.state.Counters.Backlog[reachability].All()
	}
	return n
}

// CountHosts counts the backlog of all hosts again if the cap or the patience of the crawl has changed.
func (hs *Hosts) CountHosts() error {
	if hs.Limits.Cap == hs.state.Counters.HostCap && uint64(hs.Limits.Patience) == hs.state.Counters.HostPatience {
		return nil
	}
	capped := hs.Limits.Cap != hs.state.Counters.HostCap
	hs.state.Counters.HostCap, hs.state.Counters.HostPatience = hs.Limits.Cap, uint64(hs.Limits.Patience)
	hs.state.Counters.Backlog, hs.state.Counters.Failing = [state.HostStates]state.Backlog{}, [state.HostStates]uint64{}
	if hs.state.Counters.Hosts == 0 {
		return nil
	}
	if capped {
		hs.state.Counters.Class++
		hs.newIndex()
	}
	if err := hs.SaveHosts(); err != nil {
		return err
	}
	from := append([]byte(nil), hs.state.Keys.Kind(state.KindHost)...)
	return hs.state.Store.Scan(from, state.After(from), func(_, value []byte) (bool, error) {
		r, err := decodeHost(value)
		if err == nil {
			hs.tallyOf(r.Dispatched, r.FailingSince, r.FailedAt, r.Rest, r.BacklogSince(hs.state.Counters.ShapeBegan), 1)
		}
		return err == nil, err
	})
}

// StoredHost is a host as it is stored.
type StoredHost struct {
	Name                   string
	Dispatched             uint64
	NotBefore              int64
	FailingSince, FailedAt int64
	// Rest is why the host waits: state.Resting, Refusing or NoRobots; Reachable if it does not.
	Rest int
	// Place is 0 for a host in memory, else its class in the index, plus 1.
	Place uint32
	// shape is the generation at which the policies came under which entries are queued; under others none are.
	shape   uint32
	backlog state.Backlog
	// Fronts of queues that are not empty.
	Fronts []storedFront
}

// storedFront is the front of a queue with its bound alone.
type storedFront struct {
	Policy     uint8
	Generation uint32
	Stored     uint32
	Unread     bool
	Bound      state.Order
}

// BacklogSince is the backlog under the policies that came at a generation.
func (r *StoredHost) BacklogSince(shape uint32) state.Backlog {
	if r.shape != shape {
		return state.Backlog{Waiting: r.backlog.Waiting}
	}
	return r.backlog
}

const hostVersion = 4

func (r *StoredHost) append(b []byte) []byte {
	b = append(b, hostVersion)
	b = storage.AppendString(b, r.Name)
	b = binary.AppendUvarint(b, r.Dispatched)
	b = binary.AppendUvarint(b, uint64(r.NotBefore))
	b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(r.FailingSince)), uint64(r.FailedAt))
	b = append(b, byte(r.Rest))
	b = binary.AppendUvarint(b, uint64(r.Place))
	b = binary.AppendUvarint(b, uint64(r.shape))
	b = binary.AppendUvarint(b, r.backlog.Queued)
	b = binary.AppendUvarint(b, r.backlog.Waiting)
	b = binary.AppendUvarint(b, uint64(len(r.Fronts)))
	for i := range r.Fronts {
		f := &r.Fronts[i]
		b = binary.AppendUvarint(append(b, f.Policy), uint64(f.Generation))
		b = storage.AppendBool(binary.AppendUvarint(b, uint64(f.Stored)), f.Unread)
		b = state.AppendOrder(b, f.Bound)
	}
	return b
}

func decodeHost(b []byte) (*StoredHost, error) {
	r := storage.Reader{Rest: b}
	r.Version(hostVersion)
	h := &StoredHost{
		Name: r.String(), Dispatched: r.U64(), NotBefore: r.I64(), FailingSince: r.I64(), FailedAt: r.I64(),
		Rest: int(r.Byte()), Place: r.U32(), shape: r.U32(),
		backlog: state.Backlog{Queued: r.U64(), Waiting: r.U64()},
	}
	if h.Rest > state.NoRobots || (h.Rest == state.Reachable) != (h.NotBefore == 0) {
		r.Fail(storage.ErrNumber)
	}
	for n := r.U64(); n > 0 && r.Err == nil; n-- {
		f := storedFront{Policy: r.Byte(), Generation: r.U32(), Stored: r.U32(), Unread: r.Bool()}
		if f.Stored == 0 {
			r.Fail(storage.ErrNumber)
		}
		f.Bound = state.OrderOf(&r)
		h.Fronts = append(h.Fronts, f)
	}
	if err := r.End(); err != nil {
		return nil, fmt.Errorf("frontier: host: %w", err)
	}
	return h, nil
}

// saveHost stores a host with a place (StoredHost.place).
func (hs *Hosts) saveHost(h *Host, place uint32) error {
	h.changed = false
	r := StoredHost{
		Name: h.Name, Dispatched: h.Dispatched, NotBefore: h.NotBefore, FailingSince: h.failingSince, FailedAt: h.failedAt,
		Rest: h.rest, Place: place, shape: hs.state.Counters.ShapeBegan, backlog: h.backlog,
		Fronts: hs.fronts[:0],
	}
	for p := range h.Queues {
		for slot := range h.Queues[p].Fronts {
			if f := &h.Queues[p].Fronts[slot]; !f.empty() {
				r.Fronts = append(r.Fronts, storedFront{
					Policy: uint8(p), Generation: hs.state.Generations[p].Of(slot), Stored: f.stored, Unread: f.Unread, Bound: f.bound(),
				})
			}
		}
	}
	hs.fronts, hs.state.Buffer = r.Fronts, r.append(hs.state.Buffer[:0])
	return hs.state.Store.Set(hs.state.Keys.U32(state.KindHost, h.Number), hs.state.Buffer)
}

// restore makes a host of what is stored. Queues of generations that no longer exist are empty.
func (hs *Hosts) restore(number uint32, r *StoredHost) *Host {
	h := &Host{
		Number: number, Name: r.Name, Dispatched: r.Dispatched, NotBefore: r.NotBefore, rest: r.Rest,
		failingSince: r.FailingSince, failedAt: r.FailedAt, backlog: r.BacklogSince(hs.state.Counters.ShapeBegan), Queues: newHostQueues(len(hs.state.Generations)),
	}
	for _, f := range r.Fronts {
		if int(f.Policy) >= len(hs.state.Generations) {
			continue
		}
		if slot, err := hs.state.Generations[f.Policy].Slot(f.Generation); err == nil {
			h.Queues[f.Policy].Fronts[slot] = headCache{keys: []state.Order{f.Bound}, stored: f.Stored, Unread: f.Unread}
		}
	}
	return h
}

// hostID is the id by which the number of a host is found. No URL has it.
func hostID(name string) schemas.ID { return schemas.URLID(name) }
