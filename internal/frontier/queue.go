package frontier

import "fmt"

// generations of a policy's queues. They differ while a pass of re-scoring moves entries from
// current to next.
type generations struct {
	current, next uint32
	// keys in the queues, by slot.
	keys [slots]uint64
}

// passing has a pointer receiver: a copy would read keys, which the shard may be writing concurrently.
func (g *generations) passing() bool { return g.current != g.next }

// slot returns which of the two a generation is.
func (g *generations) slot(generation uint32) (int, error) {
	switch {
	case generation == g.current:
		return slotOld, nil
	case generation == g.next:
		return slotNew, nil
	}
	return 0, fmt.Errorf("frontier: queue generation %d is neither %d nor %d", generation, g.current, g.next)
}

// of is the generation of a slot.
func (g generations) of(slot int) uint32 {
	if slot == slotNew {
		return g.next
	}
	return g.current
}

// newHeaps makes the heaps of one policy over the hosts in memory: open hosts by the best of their
// heads, and, for a pass, all hosts by the head of their old generation.
func newHeaps(p int) (ready, old *heap[*host]) {
	ready = &heap[*host]{
		less: func(a, b *host) bool { return a.queues[p].bound().less(b.queues[p].bound()) },
		at:   func(h *host) *int { return &h.queues[p].ready },
	}
	old = &heap[*host]{
		less: func(a, b *host) bool {
			return a.queues[p].fronts[slotOld].bound().less(b.queues[p].fronts[slotOld].bound())
		},
		at: func(h *host) *int { return &h.queues[p].old },
	}
	return ready, old
}

// head is the head of a host's queue under policy p, which is not empty.
func (s *Shard) head(h *host, p int) (order, error) {
	for {
		unread, err := s.fill(h, p, h.queues[p].better())
		if err != nil || !unread {
			return h.queues[p].bound(), err
		}
		s.refreshQueue(h, p, s.open(h))
	}
}

// bestReady is the open host with the best head; there must be one. Its bound is its head.
func (s *Shard) bestReady(p int) (*host, error) {
	for {
		x, ok, err := s.leastIndexed(p, true, slotOld, slotNew)
		if err != nil {
			return nil, err
		}
		if ok && (s.ready[p].len() == 0 || x.less(s.ready[p].top().queues[p].bound())) {
			if _, err := s.host(x.host); err != nil {
				return nil, err
			}
			continue
		}
		h := s.ready[p].top()
		unread, err := s.fill(h, p, h.queues[p].better())
		if err != nil || !unread {
			return h, err
		}
		s.refreshQueue(h, p, true)
	}
}

// hasReady reports whether an open host has an entry in the queue of policy p. Then one of them is in memory.
func (s *Shard) hasReady(p int) (bool, error) {
	for s.ready[p].len() == 0 {
		x, ok, err := s.leastIndexed(p, true, slotOld, slotNew)
		if err != nil || !ok {
			return false, err
		}
		if _, err := s.host(x.host); err != nil {
			return false, err
		}
	}
	return true, nil
}

// hasOld reports whether a pass of re-scoring has entries left under policy p.
func (s *Shard) hasOld(p int) bool {
	return s.generations[p].passing() && s.generations[p].keys[slotOld] > 0
}

// oldHead is the best key in the old generation of policy p, which has some.
func (s *Shard) oldHead(p int) (order, error) {
	for {
		x, ok, err := s.leastIndexed(p, false, slotOld)
		if err != nil {
			return order{}, err
		}
		if ok && (s.old[p].len() == 0 || x.less(s.old[p].top().queues[p].fronts[slotOld].bound())) {
			if _, err := s.host(x.host); err != nil {
				return order{}, err
			}
			continue
		}
		h := s.old[p].top()
		unread, err := s.fill(h, p, slotOld)
		if err != nil || !unread {
			return h.queues[p].fronts[slotOld].bound(), err
		}
		s.refreshQueue(h, p, s.open(h))
	}
}

// refresh restores the host's position in every heap.
func (s *Shard) refresh(h *host) {
	open := s.open(h)
	for p := range s.ready {
		s.refreshQueue(h, p, open)
	}
}

func (s *Shard) refreshQueue(h *host, p int, open bool) {
	q := &h.queues[p]
	s.ready[p].fix(h, open && !q.empty())
	s.old[p].fix(h, s.generations[p].passing() && !q.fronts[slotOld].empty())
}

// enqueue puts the entry into the queue of every policy that has a place for it.
func (s *Shard) enqueue(e *entry) error {
	for p := range s.policies {
		if err := s.put(e, p, e.places[p].generation); err != nil {
			return err
		}
	}
	return s.countQueued(e, 1)
}

// dequeue takes the entry out of all queues.
func (s *Shard) dequeue(e *entry) error {
	if s.unranked(e.places) {
		s.c.unranked--
		return nil
	}
	for p := range s.policies {
		if err := s.remove(e, p, e.places[p]); err != nil {
			return err
		}
	}
	return s.countQueued(e, -1)
}

// requeue moves a queued entry from where its places were before to where they are now.
func (s *Shard) requeue(e *entry, before []placed) error {
	if s.unranked(before) {
		s.c.unranked--
		return s.enqueue(e)
	}
	for p := range s.policies {
		was, is := before[p], e.places[p]
		if was.In == is.In && was.generation == is.generation && was.Tier == is.Tier && was.Score == is.Score {
			continue
		}
		if err := s.remove(e, p, was); err != nil {
			return err
		}
		if err := s.put(e, p, is.generation); err != nil {
			return err
		}
	}
	is := s.within(e.places)
	if is == s.within(before) {
		return nil
	}
	by := 1
	if !is {
		by = -1
	}
	s.c.outside -= uint64(by)
	h, err := s.host(e.host)
	if err == nil {
		s.countBacklog(h, by, 0)
	}
	return err
}

// countQueued counts the entry as one that can be fetched, or as left outside.
func (s *Shard) countQueued(e *entry, by int) error {
	if !s.within(e.places) {
		s.c.outside += uint64(by)
		return nil
	}
	h, err := s.host(e.host)
	if err == nil {
		s.countBacklog(h, by, 0)
	}
	return err
}

// put writes the queue key of the entry under policy p.
func (s *Shard) put(e *entry, p int, generation uint32) error {
	if !e.places[p].In {
		return nil
	}
	slot, err := s.generations[p].slot(generation)
	if err != nil {
		return err
	}
	h, err := s.host(e.host)
	if err != nil {
		return err
	}
	o := e.order(p)
	if err := s.store.Set(s.keys.queue(uint8(p), generation, e.host, o), nil); err != nil {
		return err
	}
	s.generations[p].keys[slot]++
	f := &h.queues[p].fronts[slot]
	if f.insert(o, s.frontSize); f.bound() == o {
		s.refreshQueue(h, p, s.open(h))
	}
	s.change(h)
	return nil
}

// leftBehind reports whether a key in a queue of policy p was left behind by a sweep: its entry was moved, and the key
// remains until the end of the pass, which clears all that are left.
func (s *Shard) leftBehind(p, slot int, ordinal uint64) bool {
	return slot == slotOld && ordinal <= s.c.swept && s.generations[p].passing()
}

// remove deletes the queue key that the entry has under policy p and place was.
func (s *Shard) remove(e *entry, p int, was placed) error {
	if !was.In {
		return nil
	}
	slot, err := s.generations[p].slot(was.generation)
	if err != nil {
		return err
	}
	h, err := s.host(e.host)
	if err != nil {
		return err
	}
	o := order{tier: was.Tier, tries: e.tries, score: was.Score, ordinal: e.ordinal}
	if !s.leftBehind(p, slot, e.ordinal) {
		if err := s.store.Delete(s.keys.queue(uint8(p), was.generation, e.host, o)); err != nil {
			return err
		}
	}
	s.generations[p].keys[slot]--
	f := &h.queues[p].fronts[slot]
	if f.empty() {
		return fmt.Errorf("frontier: entry %d is not in the queue of its host %d", e.ordinal, h.number)
	}
	before := f.bound()
	if f.remove(o); f.empty() || f.bound() != before {
		s.refreshQueue(h, p, s.open(h))
	}
	s.change(h)
	return nil
}
