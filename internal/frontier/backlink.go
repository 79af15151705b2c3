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
func (fs *flights) hold(id schemas.ID, f *flight) {
	fs.byID[id] = f
	if f.asks {
		fs.asking++
	}
}

// release removes a request in flight.
func (fs *flights) release(id schemas.ID, f *flight) {
	delete(fs.byID, id)
	if f.asks {
		fs.asking--
	}
}

// roomFor reports whether n more requests may be charged, in addition to what those in flight may cost.
func (ds *dispatcher) roomFor(n uint64) bool {
	used := ds.state.Counters.Requests + uint64(len(ds.flights.byID)) + ds.flights.asking
	if ds.cfg.limits.shards > 1 {
		return used+n <= ds.peers.lease.GetLease().GetRequests()
	}
	return ds.cfg.limits.requests == 0 || used+n <= ds.cfg.limits.requests
}

// mayQuery returns the source of backlinks if it may be queried about one more page, else "". Each shard has its part of the ration.
func (ds *dispatcher) mayQuery() (source string) {
	source = ds.cfg.ctl.GetBacklinks().GetSource()
	n := uint64(ds.cfg.limits.shards)
	part := ds.cfg.limits.queries / n
	if uint64(ds.state.Name.Shard) < ds.cfg.limits.queries%n {
		part++
	}
	if ds.state.Counters.Queries+ds.flights.asking >= part || !ds.roomFor(2) {
		return ""
	}
	return source
}

// allows reports whether a request in the log lets the source of backlinks be queried.
func allows(r *schemas.FetchRequest) (bool, error) {
	path := new(schemas.Path)
	if err := proto.Unmarshal(r.GetPathState(), path); err != nil {
		return false, fmt.Errorf("frontier: the state of the path to %s: %w", r.GetUrl(), err)
	}
	return path.GetBacklinks() != "", nil
}
