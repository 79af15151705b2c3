package frontier

import (
	"fmt"

	"forager/schemas"
)

// A change of policies places the whole frontier again. The queues are emptied at once, and filled again by Rescore,
// call by call, in the order of discovery; dispatch goes on with what is placed already. Entries that are not
// placed yet (unranked) keep their former places, recognised by their generation, and have no keys; any call that
// changes one places it. So no request is ever chosen by policies that are not in force any more.
//
// The oldest entries of a frontier are the ones with low scores, and would be all that is dispatched at
// first. Therefore the heads of the hosts that were best before are placed first.

// What is placed before Configure returns: heads of hosts, and entries in the order of discovery.
const (
	rerankHeads = 1024
	rerankFirst = 4096
)

// rerank empties all queues and begins to place every unvisited entry again.
func (s *Shard) rerank(shape schemas.ID) error {
	heads, err := s.bestHeads(rerankHeads)
	if err != nil {
		return err
	}
	for _, kind := range []byte{kindQueue, kindIndex} {
		from := append([]byte(nil), s.keys.kind(kind)...)
		if err := s.store.DeleteRange(from, after(from)); err != nil {
			return err
		}
	}
	s.c.unranked += s.c.outside
	for i := range s.c.backlog {
		s.c.unranked += s.c.backlog[i].queued
		s.c.backlog[i].queued = 0
	}
	for _, x := range s.hosts.at { // hosts that are not in memory are stored with the generation of their queues
		h := x.item
		h.queues, h.backlog.queued = newHostQueues(len(s.policies)), 0
		s.change(h)
	}
	s.c.shape, s.c.outside, s.c.mixed = shape, 0, false
	s.c.generation++
	s.c.shapeBegan = s.c.generation
	s.generations = make([]generations, len(s.policies))
	for p := range s.generations {
		s.generations[p] = generations{current: s.c.generation, next: s.c.generation}
	}
	s.c.swept, s.stretch = 0, nil
	s.newIndex()
	s.rebuildHeaps()
	if s.using.model == nil {
		// Not set yet after Open: entries are placed without a model, and SetModel begins a pass.
		if s.newest.model == nil {
			s.newest = model{}
		}
		s.using, s.c.model, s.c.modelPages = model{}, 0, 0
	}
	for _, ordinal := range heads {
		e, err := s.entry(ordinal)
		if err != nil {
			return err
		}
		if err := s.replace(e); err != nil {
			return err
		}
	}
	n := s.rerankFirst
	if left, err := s.rankSome(&n); err != nil || left {
		return err
	}
	return s.nextPass()
}

// bestHeads returns the heads of the n hosts that are best under the first policy, best first. It discards the
// heaps.
func (s *Shard) bestHeads(n int) (ordinals []uint64, err error) {
	if len(s.generations) == 0 {
		return nil, nil // the first policies
	}
	all, _ := newHeaps(0)
	s.ready, s.old = nil, nil
	for _, x := range s.hosts.at {
		x.item.queues[0].ready = -1
		all.fix(x.item, !x.item.queues[0].empty())
	}
	for len(ordinals) < n {
		x, ok, err := s.leastIndexed(0, false, slotOld, slotNew)
		if err != nil {
			return nil, err
		}
		if ok && (all.len() == 0 || x.less(all.top().queues[0].bound())) {
			h, err := s.host(x.host)
			if err != nil {
				return nil, err
			}
			all.fix(h, true)
			continue
		}
		if all.len() == 0 {
			break
		}
		h := all.top()
		unread, err := s.fill(h, 0, h.queues[0].better())
		if err != nil {
			return nil, err
		}
		if !unread {
			ordinals = append(ordinals, h.queues[0].bound().ordinal)
		}
		all.fix(h, unread)
	}
	return ordinals, nil
}

// unranked reports whether the places of a queued entry are those of another shape.
func (s *Shard) unranked(places []placed) bool {
	return s.c.unranked > 0 && places[0].generation < s.c.shapeBegan
}

// rankSome places up to n unranked entries, subtracts them from n and reports whether some are left.
func (s *Shard) rankSome(n *int) (left bool, err error) {
	if s.c.unranked == 0 || *n <= 0 {
		return s.c.unranked > 0, nil
	}
	done, end, err := s.sweep(*n)
	if err == nil && end && s.c.unranked > 0 {
		err = fmt.Errorf("frontier: %d entries of older policies are missing", s.c.unranked)
	}
	*n -= done
	return s.c.unranked > 0, err
}
