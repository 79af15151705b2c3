package rescore

import (
	"fmt"

	"forager/internal/frontier/place"
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
	RerankFirst = 4096
)

// Rerank empties all queues and begins to place every unvisited entry again.
func (rs *Rescorer) Rerank(shape schemas.ID) error {
	heads, err := rs.queues.BestHeads(rerankHeads)
	if err != nil {
		return err
	}
	rs.state.Counters.Shape, rs.state.Counters.Mixed, rs.Batch, rs.places.Scored = shape, false, nil, nil
	if err := rs.queues.Reset(len(rs.places.Policies)); err != nil {
		return err
	}
	if rs.places.Using.Model == nil {
		// Not set yet after Open: entries are placed without a model, and SetModel begins a pass.
		if rs.Newest.Model == nil {
			rs.Newest = place.VersionedModel{}
		}
		rs.places.Using, rs.state.Counters.Model, rs.state.Counters.ModelPages = place.VersionedModel{}, 0, 0
	}
	for _, ordinal := range heads {
		e, err := rs.state.Entry(ordinal)
		if err != nil {
			return err
		}
		if err := rs.places.Replace(e); err != nil {
			return err
		}
	}
	n := rs.RerankFirst
	if left, err := rs.RankSome(&n); err != nil || left {
		return err
	}
	return rs.NextPass()
}

// RankSome places up to n unranked entries, subtracts them from n and reports whether some are left.
func (rs *Rescorer) RankSome(n *int) (left bool, err error) {
	if rs.state.Counters.Unranked == 0 || *n <= 0 {
		return rs.state.Counters.Unranked > 0, nil
	}
	done, end, err := rs.scan(*n)
	if err == nil && end && rs.state.Counters.Unranked > 0 {
		err = fmt.Errorf("frontier: %d entries of older policies are missing", rs.state.Counters.Unranked)
	}
	*n -= done
	return rs.state.Counters.Unranked > 0, err
}
