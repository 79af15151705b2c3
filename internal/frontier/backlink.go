package frontier

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"forager/schemas"
)

// Backlinks of a page (schemas.Backlinks) come as links of its verdict, behind its own, and are leaps as those
// are; only nothing is learnt from them, as they stand nowhere on the page. What a query costs is
// reserved as a request is: at dispatch it is decided whether the source may be asked about the page, which the request
// says in its path_state, and the verdict says what was asked.

// hold remembers a request in flight, and what it may cost beside itself.
func (s *Shard) hold(id schemas.ID, f *flight) {
	s.flights[id] = f
	if f.asks {
		s.asking++
	}
}

// release forgets a request in flight.
func (s *Shard) release(id schemas.ID, f *flight) {
	delete(s.flights, id)
	if f.asks {
		s.asking--
	}
}

// roomFor says whether so many requests more may be charged, besides what those in flight may come to cost.
func (s *Shard) roomFor(n uint64) bool {
	used := s.c.requests + uint64(len(s.flights)) + s.asking
	if s.limits.shards > 1 {
		return used+n <= s.lease.GetLease().GetRequests()
	}
	return s.limits.requests == 0 || used+n <= s.limits.requests
}

// mayAsk says whether the source of backlinks may be asked about one more page. Each shard has its part of the ration.
func (s *Shard) mayAsk() bool {
	if s.ctl.GetBacklinks().GetSource() == "" {
		return false
	}
	n := uint64(s.limits.shards)
	part := s.limits.queries / n
	if uint64(s.name.Shard) < s.limits.queries%n {
		part++
	}
	return s.c.queries+s.asking < part && s.roomFor(2)
}

// allows says whether a request in the log lets the source of backlinks be asked.
func allows(r *schemas.FetchRequest) (bool, error) {
	path := new(schemas.Path)
	if err := proto.Unmarshal(r.GetPathState(), path); err != nil {
		return false, fmt.Errorf("frontier: the state of the path to %s: %w", r.GetUrl(), err)
	}
	return path.GetBacklinks() != "", nil
}
