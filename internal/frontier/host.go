package frontier

import (
	"encoding/binary"
	"fmt"
)

// host is one politeness key with what is in memory of it: its standing and the heads of its
// queues.
type host struct {
	number uint32
	name   string
	// dispatched requests, those that were deferred not counted (Scope.host_cap).
	dispatched uint64
	// notBefore: nothing is dispatched before, Unix milliseconds; 0 = it does not wait.
	notBefore int64
	// inFlight requests.
	inFlight uint32
	// backlog is the number of its entries that a policy that leads has a place for, and of those
	// that wait.
	backlog int
	// queues by policy.
	queues []hostQueue
	// sleeping is its position in Shard.sleeping.
	sleeping int
}

// slots of a queue: outside a pass of re-scoring only the first is used; during one the first
// holds the old generation and the second the new one.
const (
	slotOld = iota
	slotNew
	slots
)

// hostQueue is what is in memory of one policy's queue of a host: its begin in each generation.
type hostQueue struct {
	fronts [slots]front
	// ready and old are positions in the policy's heaps.
	ready, old int
}

func (q *hostQueue) empty() bool { return q.fronts[slotOld].empty() && q.fronts[slotNew].empty() }

// better is the generation of a queue that is not empty whose head, or bound, is the better one.
func (q *hostQueue) better() (slot int) {
	a, b := &q.fronts[slotOld], &q.fronts[slotNew]
	if b.empty() || (!a.empty() && a.bound().less(b.bound())) {
		return slotOld
	}
	return slotNew
}

// bound is the head of a queue that is not empty, or comes before it (front.bound).
func (q *hostQueue) bound() order { return q.fronts[q.better()].bound() }

const hostVersion = 1

func (h *host) append(b []byte) []byte {
	b = append(b, hostVersion)
	b = appendString(b, h.name)
	b = binary.AppendUvarint(b, h.dispatched)
	return binary.AppendUvarint(b, uint64(h.notBefore))
}

func decodeHost(number uint32, b []byte) (*host, error) {
	r := reader{b: b}
	r.version(hostVersion)
	h := &host{number: number, sleeping: -1, name: r.string(), dispatched: r.u64(), notBefore: r.i64()}
	if err := r.end(); err != nil {
		return nil, fmt.Errorf("frontier: host %d: %w", number, err)
	}
	return h, nil
}

// hostNamed returns the host of that name; a new one is numbered and stored.
func (s *Shard) hostNamed(name string) (*host, error) {
	if h, ok := s.hostByName[name]; ok {
		return h, nil
	}
	h := &host{number: uint32(len(s.hosts)), name: name, sleeping: -1}
	s.addHost(h)
	return h, s.saveHost(h)
}

func (s *Shard) addHost(h *host) {
	h.queues = newHostQueues(len(s.generations))
	s.hosts = append(s.hosts, h)
	if len(s.hosts) > 2*s.fittedHosts {
		s.fitFronts()
	}
	s.hostByName[h.name] = h
}

func newHostQueues(policies int) []hostQueue {
	q := make([]hostQueue, policies)
	for i := range q {
		q[i].ready, q[i].old = -1, -1
	}
	return q
}

func (s *Shard) saveHost(h *host) error {
	s.value = h.append(s.value[:0])
	return s.store.Set(s.keys.u32(kindHost, h.number), s.value)
}

// capped says that no further request may be dispatched to the host.
func (s *Shard) capped(h *host) bool {
	return s.limits.hostCap > 0 && h.dispatched >= s.limits.hostCap
}

// open says that the host may be asked for something now.
func (s *Shard) open(h *host) bool {
	return h.inFlight < s.limits.hostWindow && h.notBefore == 0 && !s.capped(h)
}

// countDispatched changes the number of requests that count for the host's cap.
func (s *Shard) countDispatched(h *host, by int) {
	before := s.capped(h)
	h.dispatched = uint64(int64(h.dispatched) + int64(by))
	switch after := s.capped(h); {
	case after && !before:
		s.backlog -= h.backlog
	case before && !after:
		s.backlog += h.backlog
	}
}

// countBacklog changes the number of entries that the host still has to fetch.
func (s *Shard) countBacklog(h *host, by int) {
	h.backlog += by
	if !s.capped(h) {
		s.backlog += by
	}
}

// sleep makes the host wait until at, unless it waits longer already.
func (s *Shard) sleep(h *host, at int64) error {
	if at <= h.notBefore {
		return nil
	}
	h.notBefore = at
	s.sleeping.fix(h, true)
	s.refresh(h)
	return s.saveHost(h)
}

// wakeHosts ends the wait of hosts whose time has come.
func (s *Shard) wakeHosts(now int64) error {
	for s.sleeping.len() > 0 && s.sleeping.top().notBefore <= now {
		h := s.sleeping.top()
		s.sleeping.fix(h, false)
		h.notBefore = 0
		s.refresh(h)
		if err := s.saveHost(h); err != nil {
			return err
		}
	}
	return nil
}

func (s *Shard) loadHosts() error {
	from := append([]byte(nil), s.keys.kind(kindHost)...)
	return s.store.Scan(from, after(from), func(key, value []byte) (bool, error) {
		n, err := s.keys.parseU32(key)
		if err != nil {
			return false, err
		}
		if int(n) != len(s.hosts) {
			return false, fmt.Errorf("frontier: host %d follows %d hosts", n, len(s.hosts))
		}
		h, err := decodeHost(n, value)
		if err != nil {
			return false, err
		}
		s.addHost(h)
		if h.notBefore > 0 {
			s.sleeping.fix(h, true)
		}
		return true, nil
	})
}
