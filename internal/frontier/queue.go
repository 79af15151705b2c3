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
		less: func(a, b *host) bool {
			x, _, _ := a.queues[p].best()
			y, _, _ := b.queues[p].best()
			return x.less(y)
		},
		at: func(h *host) *int { return &h.queues[p].ready },
	}
	old = &heap[*host]{
		less: func(a, b *host) bool { return a.queues[p].heads[slotOld].less(b.queues[p].heads[slotOld]) },
		at:   func(h *host) *int { return &h.queues[p].old },
	}
	return ready, old
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
	s.ready[p].fix(h, open && (q.has[slotOld] || q.has[slotNew]))
	s.old[p].fix(h, s.generations[p].passing() && q.has[slotOld])
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
	if before[0].In != e.places[0].In {
		if e.places[0].In {
			s.c.outside--
			s.countBacklog(s.hosts[e.host], 1)
		} else {
			s.c.outside++
			s.countBacklog(s.hosts[e.host], -1)
		}
	}
	return nil
}

// countQueued counts the entry as in the frontier of the first policy, or as left outside.
func (s *Shard) countQueued(e *entry, by int) {
	if e.places[0].In {
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
	if q := &h.queues[p]; !q.has[slot] || o.less(q.heads[slot]) {
		q.heads[slot], q.has[slot] = o, true
		s.refreshQueue(h, p, s.open(h))
	}
	return nil
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
	key := s.keys.queue(uint8(p), was.generation, e.host, o)
	if err := s.store.Delete(key); err != nil {
		return err
	}
	s.queued[p][slot]--
	q := &h.queues[p]
	if !q.has[slot] || q.heads[slot].ordinal != e.ordinal {
		return nil
	}
	// Nothing lies before the deleted head: the next one is sought from there on, so that the
	// scan never meets the tombstones of heads deleted earlier.
	s.from = append(s.from[:0], key...)
	q.heads[slot], q.has[slot] = order{}, false
	err = s.store.Scan(s.from, after(s.keys.queueHost(uint8(p), was.generation, e.host)), func(key, _ []byte) (bool, error) {
		k, err := s.keys.parseQueue(key)
		q.heads[slot], q.has[slot] = k.order, true
		return false, err
	})
	if err != nil {
		return err
	}
	s.refreshQueue(h, p, s.open(h))
	return nil
}

// loadQueues finds the head of every queue and counts the keys: one scan over all of them.
func (s *Shard) loadQueues() error {
	from := append([]byte(nil), s.keys.kind(kindQueue)...)
	return s.store.Scan(from, after(from), func(key, _ []byte) (bool, error) {
		k, err := s.keys.parseQueue(key)
		if err != nil {
			return false, err
		}
		if int(k.policy) >= len(s.generations) || int(k.host) >= len(s.hosts) {
			return false, fmt.Errorf("frontier: queue key %x has an unknown policy or host", key)
		}
		slot, err := s.generations[k.policy].slot(k.generation)
		if err != nil {
			return false, err
		}
		h := s.hosts[k.host]
		if q := &h.queues[k.policy]; !q.has[slot] {
			q.heads[slot], q.has[slot] = k.order, true
		}
		s.queued[k.policy][slot]++
		if k.policy == 0 {
			h.backlog++
		}
		return true, nil
	})
}
