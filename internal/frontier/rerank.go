package frontier

import (
	"fmt"

	"forager/schemas"
)

// Other policies place the whole frontier anew. Its queues are emptied at once, and filled again by Rescore,
// slice by slice, in the order of discovery; dispatch goes on with what is placed already. Entries that are not
// yet (unranked) keep the places of before, whose generation tells them, and have no keys; whatever
// touches one places it. So no request is ever chosen by policies that are not in force any more.
//
// The oldest entries of a frontier are those that nobody wanted, and would be all that is dispatched at
// first. Therefore the heads of the hosts that were best before are placed first of all.

// What is placed before Configure returns: so many heads of hosts, and so many entries.
const (
	rerankHeads = 1024
	rerankFirst = 4096
)

// rerank empties all queues and begins to place every unvisited entry anew.
func (s *Shard) rerank(shape schemas.ID) error {
	heads, err := s.bestHeads(rerankHeads)
	if err != nil {
		return err
	}
	from := append([]byte(nil), s.keys.kind(kindQueue)...)
	if err := s.store.DeleteRange(from, after(from)); err != nil {
		return err
	}
	s.c.unranked += s.c.outside
	for _, h := range s.hosts {
		s.c.unranked += uint64(h.backlog)
		h.queues, h.backlog = newHostQueues(len(s.policies)), 0
	}
	s.c.unranked -= uint64(len(s.waiters))
	for _, w := range s.waiters {
		s.hosts[w.host].backlog++
	}
	s.c.shape, s.c.mixes, s.c.outside, s.c.mixed = shape, s.mixture != nil, 0, false
	s.c.generation++
	s.c.shapeBegan = s.c.generation
	s.generations = make([]generations, len(s.policies))
	for p := range s.generations {
		s.generations[p] = generations{current: s.c.generation, next: s.c.generation}
	}
	s.queued = make([][slots]int, len(s.policies))
	s.c.swept, s.stretch = 0, nil
	s.rebuildHeaps()
	if s.using.model == nil {
		// Not given yet after Open: entries are placed without a model, and SetModel starts over.
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

// bestHeads are the heads of the n hosts that are best under the first policy, best first. The heaps of before are no more
// then.
func (s *Shard) bestHeads(n int) (ordinals []uint64, err error) {
	if len(s.generations) == 0 {
		return nil, nil // the first policies
	}
	all, _ := newHeaps(0)
	for _, h := range s.hosts {
		h.queues[0].ready = -1
		all.fix(h, !h.queues[0].empty())
	}
	for len(ordinals) < n && all.len() > 0 {
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

// unranked says of the places of a queued entry that they are those of another shape.
func (s *Shard) unranked(places []placed) bool {
	return s.c.unranked > 0 && places[0].generation < s.c.shapeBegan
}

// rankSome places up to n entries that are unranked, takes them off n and says whether some are left.
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
