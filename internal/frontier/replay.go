package frontier

import (
	"fmt"

	"forager/internal/web/scope"
	"forager/schemas"
)

// applyReplay takes, once, an operator's request for one more attempt at a request that a stage could
// not handle. If that request was the last one for its URL and the URL is final by it, the URL is
// queued again and dispatched as the next attempt; otherwise the replay is counted as refused.
//
// What the failed request was charged stays charged, and the leaps that its verdict settled stay
// settled, without an R(v): both were sent. The new attempt reserves and is charged like any
// other, and settles the links into the URL that are found from now on.
func (s *Shard) applyReplay(id schemas.ID, rec *schemas.LinkFound) (duplicate bool, err error) {
	if duplicate, err := s.once(id); err != nil || duplicate {
		return duplicate, err
	}
	s.c.clock++
	s.c.spans[spanFound].add(id)
	e, err := s.failed(rec)
	if err != nil {
		return false, err
	}
	if e == nil {
		s.c.refused[scope.Replay]++
		return false, nil
	}
	e.outcome = schemas.Outcome_OUTCOME_UNSPECIFIED
	return false, s.queue(e)
}

// failed returns the entry that is final because a stage could not handle the request that a replay
// names; nil if there is none.
func (s *Shard) failed(rec *schemas.LinkFound) (*entry, error) {
	request, err := schemas.ParseID(rec.GetReplay())
	if err != nil {
		return nil, fmt.Errorf("request to be replayed: %w", err)
	}
	e, err := s.seen(rec.GetUrl())
	if err != nil || e == nil || e.state != stateFinal || !schemas.Failed(e.outcome) ||
		request != schemas.RequestID(s.name.Crawl, e.url, e.attempt) {
		return nil, err
	}
	return e, nil
}
