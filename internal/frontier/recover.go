package frontier

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"forager/internal/frontier/queue"
	"forager/internal/frontier/state"
	"forager/schemas"
)

// Recover takes a dispatch found in the log that the state may lack: it was made after the
// state was last committed. The request is in flight from now on. Its URL may not be
// discovered yet, or an earlier attempt of it may still be in flight here, because the
// verdicts that led to the dispatch are applied again only now; then the entry takes the
// request over as soon as it gets there, and no fresh choice is made for it.
func (s *Shard) Recover(r *schemas.FetchRequest) error {
	if s.cfg.ctl == nil {
		return errNotConfigured
	}
	id, err := schemas.ParseID(r.GetId())
	if err != nil {
		return fmt.Errorf("recover the request for %s: %w", r.GetUrl(), err)
	}
	if r.GetCrawl() != s.state.Name.Crawl || r.GetShard() != s.state.Name.Shard || r.GetAttempt() == 0 ||
		id != schemas.RequestID(r.GetCrawl(), r.GetUrl(), r.GetAttempt()) {
		return fmt.Errorf("frontier: request %s (%s, attempt %d of %s) does not belong to shard %d of %s",
			id, r.GetUrl(), r.GetAttempt(), schemas.ShardKey(r.GetCrawl(), r.GetShard()), s.state.Name.Shard, s.state.Name.Crawl)
	}
	if _, ok := s.flights.byID[id]; ok {
		return nil
	}
	e, err := s.state.Seen(r.GetUrl())
	if err != nil || e != nil && e.Attempt >= r.GetAttempt() {
		return err
	}
	h, err := s.hosts.HostNamed(r.GetHost())
	if err != nil {
		return err
	}
	f := &flight{attempt: r.GetAttempt(), host: h.Number, at: max(0, r.GetDispatchedAt()), request: proto.CloneOf(r)}
	if f.asks, err = allows(r); err != nil {
		return err
	}
	s.flights.unplaced[r.GetUrl()] = append(s.flights.unplaced[r.GetUrl()], id)
	if err := s.flights.takeOff(id, f); err != nil {
		return err
	}
	if s.cfg.limits.hostCap > 0 {
		s.flights.early[h.Number] = append(s.flights.early[h.Number], r.GetClock())
	}
	if err := s.dispatcher.countRequest(id, r); err != nil {
		return err
	}
	if e != nil && e.Unvisited() {
		if err := s.flights.unqueue(e); err != nil {
			return err
		}
		adopted, err := s.flights.adopt(e)
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
func (ds *dispatcher) countRequest(id schemas.ID, r *schemas.FetchRequest) error {
	ds.state.Counters.Dispatched++
	ds.state.Counters.Spans[state.SpanRequested].Add(id)
	ds.state.Counters.Ordinal = max(ds.state.Counters.Ordinal, r.GetOrdinal())
	if at := max(0, r.GetDispatchedAt()); ds.state.Counters.StartedAt == 0 || at < ds.state.Counters.StartedAt {
		ds.state.Counters.StartedAt = at
	}
	return ds.arms.countChosen(r.GetPolicy())
}

// unqueue takes an unvisited entry out of the queues, of the waiting ones, or of those that are excluded.
func (fs *flights) unqueue(e *state.Entry) error {
	switch e.State {
	case state.Waiting:
		return fs.waits.StopWaiting(e)
	case state.Excluded:
		fs.excluder.Release()
		return nil
	}
	return fs.queues.Dequeue(e)
}

// adopt makes the entry take over the recovered request of its next attempt, if there is one.
// The entry must be in no queue; it is stored.
func (fs *flights) adopt(e *state.Entry) (bool, error) {
	ids := fs.unplaced[e.URL]
	if len(ids) == 0 {
		return false, nil
	}
	next := -1
	for i, id := range ids {
		if a := fs.byID[id].attempt; a > e.Attempt && (next < 0 || a < fs.byID[ids[next]].attempt) {
			next = i
		}
	}
	if next < 0 {
		return false, nil
	}
	id := ids[next]
	f := fs.byID[id]
	if err := fs.board(e, f.request); err != nil {
		return false, err
	}
	fs.takenOver(id, e.URL)
	f.ordinal, f.request = e.Ordinal, nil
	if err := fs.saveFlight(id, f); err != nil {
		return false, err
	}
	return true, fs.state.SaveEntry(e)
}

// board puts the entry into flight with the facts of a recovered request.
func (fs *flights) board(e *state.Entry, r *schemas.FetchRequest) error {
	policy, err := fs.state.NameNumber(r.GetPolicy())
	if err != nil {
		return err
	}
	version, err := fs.state.NameNumber(r.GetModel())
	if err != nil {
		return err
	}
	e.State, e.Places, e.Attempt = state.InFlight, nil, r.GetAttempt()
	e.Facts = state.Facts{
		Score: r.GetScore(), Tier: r.GetTier(), Policy: policy, Model: version,
		Ordinal: r.GetOrdinal(), Clock: r.GetClock(),
	}
	return nil
}

// takenOver notes that an entry has taken over a recovered request.
func (fs *flights) takenOver(id schemas.ID, url string) {
	ids := slices.DeleteFunc(fs.unplaced[url], func(other schemas.ID) bool { return other == id })
	if len(ids) == 0 {
		delete(fs.unplaced, url)
	} else {
		fs.unplaced[url] = ids
	}
}

// placeRecovered finds the entry for a verdict on a recovered request that no entry took over:
// what led to the request did not happen again (for instance because the scope has changed). The
// request was made and its verdict counts, so the URL enters the frontier by it.
func (fs *flights) placeRecovered(id schemas.ID, r *schemas.FetchRequest) (*state.Entry, error) {
	fs.takenOver(id, r.GetUrl())
	e, err := fs.state.Seen(r.GetUrl())
	if err != nil {
		return nil, err
	}
	if e == nil {
		e, err = fs.hosts.Discover(r.GetUrl(), r.GetDepth(), r.GetHops())
	} else {
		switch {
		case e.Attempt >= r.GetAttempt() || e.State == state.Final || e.State == state.Alias || e.State == state.Moved:
			return nil, nil
		case e.Unvisited():
			err = fs.unqueue(e)
		}
	}
	if err != nil {
		return nil, err
	}
	return e, fs.board(e, r)
}

// full reports whether the host had reached its cap when the record that is applied now came first. While records are applied again,
// dispatches that followed them are known from the log already, and count for the cap; a URL that was admitted before them must be
// admitted again, or leaps that depend on it would be settled in another way.
func (fs *flights) full(h *queue.Host) bool {
	if !fs.hosts.Capped(h) {
		return false
	}
	clocks := fs.early[h.Number]
	at, _ := slices.BinarySearch(clocks, fs.state.Counters.Clock)
	if clocks = clocks[at:]; len(clocks) > 0 {
		fs.early[h.Number] = clocks
	} else {
		delete(fs.early, h.Number)
	}
	return h.Dispatched >= fs.cfg.limits.hostCap+uint64(len(clocks))
}

// loadEarly finds the requests in flight whose dispatch followed records that the state has not applied yet.
func (fs *flights) loadEarly() error {
	fs.early = make(map[uint32][]uint64)
	for _, f := range fs.byID {
		clock := f.request.GetClock()
		if f.request == nil {
			e, err := fs.state.Entry(f.ordinal)
			if err != nil {
				return err
			}
			clock = e.Facts.Clock
		}
		if clock > fs.state.Counters.Clock {
			fs.early[f.host] = append(fs.early[f.host], clock)
		}
	}
	for _, clocks := range fs.early {
		slices.Sort(clocks)
	}
	return nil
}
