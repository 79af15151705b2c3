package frontier

import (
	"fmt"

	"forager/internal/web/weburl"
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
	s.keep(e) // it can be looked up by its URL from now on
	return e, s.see(url, e.ordinal)
}

// unvisited reads the queued entry of an ordinal, or the one to which that has redirected since; nil if it is
// not queued.
func (s *Shard) unvisited(ordinal uint64) (*entry, error) {
	e, err := s.entry(ordinal)
	if err == nil {
		e, err = s.resolve(e)
	}
	if err != nil || e.state != stateQueued {
		return nil, err
	}
	return e, nil
}

// resolve follows redirects from the entry of a seen URL; an entry that is no alias is returned as it is.
func (s *Shard) resolve(e *entry) (_ *entry, err error) {
	for steps := uint64(0); e.state == stateAlias; steps++ {
		if steps > s.c.entries {
			return nil, fmt.Errorf("frontier: entry %d redirects in a circle", e.ordinal)
		}
		if e, err = s.entry(e.target); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// queue places an unvisited entry by all its links and puts it into the queues, or into
// flight if its next attempt is known to be dispatched already. It stores the entry.
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
