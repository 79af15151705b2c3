package frontier

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"forager/schemas"
)

// Recover takes a dispatch found in the log that the state may lack: it was made after the
// state was last committed. The request is in flight from now on. Its URL may not be
// discovered yet, or an earlier attempt of it may still be in flight here, because the
// verdicts that led to the dispatch are applied again only now; then the entry takes the
// request over as soon as it gets there, and no fresh choice is made for it.
func (s *Shard) Recover(r *schemas.FetchRequest) error {
	if s.ctl == nil {
		return errNotConfigured
	}
	id, err := schemas.ParseID(r.GetId())
	if err != nil {
		return fmt.Errorf("recover the request for %s: %w", r.GetUrl(), err)
	}
	if r.GetCrawl() != s.name.Crawl || r.GetShard() != s.name.Shard || r.GetAttempt() == 0 ||
		id != schemas.RequestID(r.GetCrawl(), r.GetUrl(), r.GetAttempt()) {
		return fmt.Errorf("frontier: request %s (%s, attempt %d of %s) does not belong to shard %d of %s",
			id, r.GetUrl(), r.GetAttempt(), schemas.ShardKey(r.GetCrawl(), r.GetShard()), s.name.Shard, s.name.Crawl)
	}
	if _, ok := s.flights[id]; ok {
		return nil
	}
	e, err := s.seen(r.GetUrl())
	if err != nil || e != nil && e.attempt >= r.GetAttempt() {
		return err
	}
	h, err := s.hostNamed(r.GetHost())
	if err != nil {
		return err
	}
	f := &flight{attempt: r.GetAttempt(), host: h.number, at: max(0, r.GetDispatchedAt()), request: proto.CloneOf(r)}
	if f.asks, err = allows(r); err != nil {
		return err
	}
	s.unplaced[r.GetUrl()] = append(s.unplaced[r.GetUrl()], id)
	if err := s.takeOff(id, f); err != nil {
		return err
	}
	if s.limits.hostCap > 0 {
		s.early[h.number] = append(s.early[h.number], r.GetClock())
	}
	if err := s.countRequest(id, r); err != nil {
		return err
	}
	if e != nil && (e.state == stateQueued || e.state == stateWaiting) {
		if err := s.unqueue(e); err != nil {
			return err
		}
		adopted, err := s.adopt(e)
		if err != nil {
			return err
		}
		if !adopted {
			return fmt.Errorf("frontier: %s did not take over its request", r.GetUrl())
		}
	}
	return s.save()
}

// countRequest counts a request that was dispatched, by this owner or an earlier one.
func (s *Shard) countRequest(id schemas.ID, r *schemas.FetchRequest) error {
	s.c.dispatched++
	s.c.spans[spanRequested].add(id)
	s.c.ordinal = max(s.c.ordinal, r.GetOrdinal())
	if at := max(0, r.GetDispatchedAt()); s.c.startedAt == 0 || at < s.c.startedAt {
		s.c.startedAt = at
	}
	return s.countChosen(r.GetPolicy())
}

// unqueue takes an unvisited entry out of the queues, or out of the waiting ones.
func (s *Shard) unqueue(e *entry) error {
	if e.state == stateWaiting {
		return s.stopWaiting(e)
	}
	return s.dequeue(e)
}

// adopt makes the entry take over the recovered request of its next attempt, if there is one.
// The entry must be in no queue; it is stored.
func (s *Shard) adopt(e *entry) (bool, error) {
	ids := s.unplaced[e.url]
	if len(ids) == 0 {
		return false, nil
	}
	next := -1
	for i, id := range ids {
		if a := s.flights[id].attempt; a > e.attempt && (next < 0 || a < s.flights[ids[next]].attempt) {
			next = i
		}
	}
	if next < 0 {
		return false, nil
	}
	id := ids[next]
	f := s.flights[id]
	if err := s.board(e, f.request); err != nil {
		return false, err
	}
	s.takenOver(id, e.url)
	f.ordinal, f.request = e.ordinal, nil
	if err := s.saveFlight(id, f); err != nil {
		return false, err
	}
	return true, s.saveEntry(e)
}

// board puts the entry into flight with the facts of a recovered request.
func (s *Shard) board(e *entry, r *schemas.FetchRequest) error {
	policy, err := s.nameNumber(r.GetPolicy())
	if err != nil {
		return err
	}
	version, err := s.nameNumber(r.GetModel())
	if err != nil {
		return err
	}
	e.state, e.places, e.attempt = stateFlight, nil, r.GetAttempt()
	e.facts = facts{
		score: r.GetScore(), tier: r.GetTier(), policy: policy, model: version,
		ordinal: r.GetOrdinal(), clock: r.GetClock(),
	}
	return nil
}

// takenOver notes that an entry has taken over a recovered request.
func (s *Shard) takenOver(id schemas.ID, url string) {
	ids := slices.DeleteFunc(s.unplaced[url], func(other schemas.ID) bool { return other == id })
	if len(ids) == 0 {
		delete(s.unplaced, url)
	} else {
		s.unplaced[url] = ids
	}
}

// landUnplaced finds the entry for a verdict on a recovered request that no entry took over:
// what led to the request did not happen again (for instance because the scope has changed). The
// request was made and its verdict counts, so the URL enters the frontier by it.
func (s *Shard) landUnplaced(id schemas.ID, r *schemas.FetchRequest) (*entry, error) {
	s.takenOver(id, r.GetUrl())
	e, err := s.seen(r.GetUrl())
	if err != nil {
		return nil, err
	}
	if e == nil {
		e, err = s.discover(r.GetUrl(), r.GetDepth(), r.GetHops())
	} else {
		switch {
		case e.attempt >= r.GetAttempt() || e.state == stateFinal || e.state == stateAlias || e.state == stateMoved:
			return nil, nil
		case e.state == stateQueued || e.state == stateWaiting:
			err = s.unqueue(e)
		}
	}
	if err != nil {
		return nil, err
	}
	return e, s.board(e, r)
}

// full reports whether the host had reached its cap when the record that is applied now came first. While records are applied again,
// dispatches that followed them are known from the log already, and count for the cap; a URL that was admitted before them must be
// admitted again, or leaps that depend on it would be settled in another way.
func (s *Shard) full(h *host) bool {
	if !s.capped(h) {
		return false
	}
	clocks := s.early[h.number]
	at, _ := slices.BinarySearch(clocks, s.c.clock)
	if clocks = clocks[at:]; len(clocks) > 0 {
		s.early[h.number] = clocks
	} else {
		delete(s.early, h.number)
	}
	return h.dispatched >= s.limits.hostCap+uint64(len(clocks))
}

// loadEarly finds the requests in flight whose dispatch followed records that the state has not applied yet.
func (s *Shard) loadEarly() error {
	s.early = make(map[uint32][]uint64)
	for _, f := range s.flights {
		clock := f.request.GetClock()
		if f.request == nil {
			e, err := s.entry(f.ordinal)
			if err != nil {
				return err
			}
			clock = e.facts.clock
		}
		if clock > s.c.clock {
			s.early[f.host] = append(s.early[f.host], clock)
		}
	}
	for _, clocks := range s.early {
		slices.Sort(clocks)
	}
	return nil
}
