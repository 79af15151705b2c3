package frontier

import (
	"fmt"

	"forager/internal/frontier/state"
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
func (ap *applier) applyReplay(replay schemas.Replay) (duplicate bool, err error) {
	id := replay.ID()
	if duplicate, err := ap.state.Once(id); err != nil || duplicate {
		return duplicate, err
	}
	ap.state.Counters.Clock++
	ap.state.Counters.Spans[state.SpanFound].Add(id)
	e, err := ap.failed(replay)
	if err != nil {
		return false, err
	}
	if e == nil {
		ap.state.Counters.Refused[scope.Replay]++
		return false, nil
	}
	e.Outcome = schemas.Outcome_OUTCOME_UNSPECIFIED
	return false, ap.queue(e)
}

// failed returns the entry that is final because a stage could not handle the request that a replay
// names; nil if there is none.
func (ap *applier) failed(replay schemas.Replay) (*state.Entry, error) {
	e, err := ap.state.Seen(replay.GetUrl())
	if err != nil || e == nil || e.State != state.Final || !schemas.Failed(e.Outcome) ||
		replay.Request() != schemas.RequestID(ap.state.Name.Crawl, e.URL, e.Attempt) {
		return nil, err
	}
	return e, nil
}

// applyRetry queues again every URL whose tries were used up by failures that may have passed since, with all of its
// tries, and lets unreachable hosts be tried at once. As with a replay (replay.go), charges and settled leaps remain.
func (ap *applier) applyRetry(retry schemas.Retry) (duplicate bool, err error) {
	id := retry.ID()
	if duplicate, err := ap.state.Once(id); err != nil || duplicate {
		return duplicate, err
	}
	ap.state.Counters.Clock++
	ap.state.Counters.Spans[state.SpanFound].Add(id)
	if err := ap.waits.ForgetFailures(); err != nil {
		return false, err
	}
	ordinals, err := ap.state.FailedEntries()
	if err != nil {
		return false, err
	}
	for _, ordinal := range ordinals {
		e, err := ap.state.Entry(ordinal)
		if err != nil {
			return false, err
		}
		h, err := ap.hosts.Host(e.Host)
		if err != nil {
			return false, err
		}
		if ap.flights.full(h) && len(ap.flights.unplaced[e.URL]) == 0 {
			ap.state.Counters.Refused[scope.HostCap]++
			continue
		}
		e.Outcome, e.Tries = schemas.Outcome_OUTCOME_UNSPECIFIED, 0
		if err := ap.queue(e); err != nil {
			return false, fmt.Errorf("try %s again: %w", e.URL, err)
		}
		if err := ap.hosts.EvictHosts(); err != nil {
			return false, err
		}
	}
	return false, nil
}
