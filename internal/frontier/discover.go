package frontier

import (
	"fmt"

	"forager/internal/weburl"
)

// discover makes the entry of a URL that was not seen before. It is not stored yet, and in no
// queue.
func (s *Shard) discover(url string, depth, hops uint32) (*entry, error) {
	h, err := s.hostNamed(weburl.Host(url))
	if err != nil {
		return nil, err
	}
	s.c.entries++
	e := &entry{ordinal: s.c.entries, url: url, host: h.number, depth: depth, hops: hops, loaded: true}
	return e, s.see(url, e.ordinal)
}

// resolve reads the entry that a seen URL stands for: itself, or where it redirected to.
func (s *Shard) resolve(ordinal uint64) (*entry, error) {
	for steps := uint64(0); steps <= s.c.entries; steps++ {
		e, err := s.entry(ordinal)
		if err != nil || e.state != stateAlias {
			return e, err
		}
		ordinal = e.target
	}
	return nil, fmt.Errorf("frontier: entry %d redirects in a circle", ordinal)
}

// queue places an unvisited entry from all its links and puts it into the queues, or into
// flight where its next attempt is known to be dispatched already. It stores the entry.
func (s *Shard) queue(e *entry) error {
	adopted, err := s.adopt(e)
	if err != nil || adopted {
		return err
	}
	if err := s.place(e); err != nil {
		return err
	}
	return s.queuePlaced(e)
}

// queuePlaced is queue for an entry whose places are made.
func (s *Shard) queuePlaced(e *entry) error {
	e.state = stateQueued
	if err := s.enqueue(e); err != nil {
		return err
	}
	return s.saveEntry(e)
}
