package frontier

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"forager/schemas"
)

// Backlinks of a page (schemas.Backlinks) come as links of its verdict, after its own, and are leaps like those,
// except that they do not train, as they are not on the page. A query is reserved like a request: whether the source may be queried
// about the page is decided at dispatch and sent in the request's path_state; the verdict has the number of queries
// (docs/decisions/0107).

// hold adds a request in flight, and the query that it may cost.
func (s *Shard) hold(id schemas.ID, f *flight) {
	s.flights[id] = f
	if f.asks {
		s.asking++
	}
}

// release removes a request in flight.
func (s *Shard) release(id schemas.ID, f *flight) {
	delete(s.flights, id)
	if f.asks {
		s.asking--
	}
}

// roomFor reports whether n more requests may be charged, in addition to what those in flight may cost.
func (s *Shard) roomFor(n uint64) bool {
	used := s.c.requests + uint64(len(s.flights)) + s.asking
	if s.limits.shards > 1 {
		return used+n <= s.lease.GetLease().GetRequests()
	}
	return s.limits.requests == 0 || used+n <= s.limits.requests
}

// mayAsk reports whether the source of backlinks may be queried about one more page. Each shard has its part of the ration.
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

// allows reports whether a request in the log lets the source of backlinks be queried.
func allows(r *schemas.FetchRequest) (bool, error) {
	path := new(schemas.Path)
	if err := proto.Unmarshal(r.GetPathState(), path); err != nil {
		return false, fmt.Errorf("frontier: the state of the path to %s: %w", r.GetUrl(), err)
	}
	return path.GetBacklinks() != "", nil
}
