package frontier

import "fmt"

// generations of a policy's queues. They differ while a pass of re-scoring moves entries from
// current to next.
type generations struct{ current, next uint32 }

func (g generations) passing() bool { return g.current != g.next }

// slot says which of the two a generation is.
func (g generations) slot(generation uint32) (int, error) {
	switch {
	case generation == g.current:
		return slotOld, nil
	case generation == g.next:
		return slotNew, nil
	}
	return 0, fmt.Errorf("frontier: queue generation %d is neither %d nor %d", generation, g.current, g.next)
}

// newHeaps makes the heaps of one policy: hosts that may be asked now by the best of their
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

// bestReady is the host with the best head of those that may be asked now, of which there are some. Its bound is its head.
func (s *Shard) bestReady(p int) (*host, error) {
	for {
		h := s.ready[p].top()
		unread, err := s.fill(h, p, h.queues[p].better())
		if err != nil || !unread {
			return h, err
		}
		s.refreshQueue(h, p, true)
	}
}

// oldHead is the best key in the old generation of policy p, which has some.
func (s *Shard) oldHead(p int) (order, error) {
	for {
		h := s.old[p].top()
		unread, err := s.fill(h, p, slotOld)
		if err != nil || !unread {
			return h.queues[p].fronts[slotOld].bound(), err
		}
		s.refreshQueue(h, p, s.open(h))
	}
}

// refresh puts the host where it belongs in every heap.
func (s *Shard) refresh(h *host) {
	open := s.open(h)
	for p := range s.generations {
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
	s.countQueued(e, 1)
	return nil
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
	s.countQueued(e, -1)
	return nil
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
	if is := s.within(e.places); is != s.within(before) {
		if is {
			s.c.outside--
			s.countBacklog(s.hosts[e.host], 1)
		} else {
			s.c.outside++
			s.countBacklog(s.hosts[e.host], -1)
		}
	}
	return nil
}

// countQueued counts the entry as one that can be fetched, or as left outside.
func (s *Shard) countQueued(e *entry, by int) {
	if s.within(e.places) {
		s.countBacklog(s.hosts[e.host], by)
	} else {
		s.c.outside = uint64(int64(s.c.outside) + int64(by))
	}
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
	h, o := s.hosts[e.host], e.order(p)
	if err := s.store.Set(s.keys.queue(uint8(p), generation, e.host, o), nil); err != nil {
		return err
	}
	s.queued[p][slot]++
	f := &h.queues[p].fronts[slot]
	if f.insert(o, s.frontSize); f.bound() == o {
		s.refreshQueue(h, p, s.open(h))
	}
	return nil
}

// leftBehind says that a key in a queue of policy p is one that a sweep has left behind: its entry was moved, and the key
// stays where it is until the pass ends and clears all that are left.
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
	h := s.hosts[e.host]
	o := order{tier: was.Tier, tries: e.tries, score: was.Score, ordinal: e.ordinal}
	if !s.leftBehind(p, slot, e.ordinal) {
		if err := s.store.Delete(s.keys.queue(uint8(p), was.generation, e.host, o)); err != nil {
			return err
		}
	}
	s.queued[p][slot]--
	f := &h.queues[p].fronts[slot]
	if f.empty() {
		return fmt.Errorf("frontier: entry %d is not in the queue of its host %d", e.ordinal, h.number)
	}
	before := f.bound()
	if f.remove(o); f.empty() || f.bound() != before {
		s.refreshQueue(h, p, s.open(h))
	}
	return nil
}

// loadQueues reads the begin of every queue and counts the keys: one scan over all of them.
func (s *Shard) loadQueues() error {
	var counted marks // the entries of a mixture may be in the queues of some policies only
	if s.c.mixes {
		counted = newMarks(s.c.entries)
	}
	from := append([]byte(nil), s.keys.kind(kindQueue)...)
	return s.store.Scan(from, after(from), func(key, _ []byte) (bool, error) {
		k, err := s.keys.parseQueue(key)
		if err != nil {
			return false, err
		}
		if int(k.policy) >= len(s.generations) || int(k.host) >= len(s.hosts) || k.order.ordinal > s.c.entries {
			return false, fmt.Errorf("frontier: queue key %x has an unknown policy, host or entry", key)
		}
		slot, err := s.generations[k.policy].slot(k.generation)
		if err != nil {
			return false, err
		}
		if s.leftBehind(int(k.policy), slot, k.order.ordinal) {
			return true, nil
		}
		h := s.hosts[k.host]
		h.queues[k.policy].fronts[slot].append(k.order, s.frontSize)
		s.queued[k.policy][slot]++
		if counted.mark(k.order.ordinal) || counted == nil && k.policy == 0 {
			h.backlog++
		}
		return true, nil
	})
}
