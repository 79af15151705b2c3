package frontier

import (
	"forager/internal/frontier/queue"
	"forager/internal/frontier/state"
	"forager/schemas"
)

// requeue queues the entry for another attempt: a deferral makes the whole host wait, a failed try
// only its own URL (docs/decisions/0100).
func (ap *applier) requeue(e *state.Entry, rec *schemas.LinkFound, charged bool, now int64) error {
	at := min(rec.GetNotBefore(), now+queue.LongestWait)
	h, err := ap.hosts.Host(e.Host)
	if err != nil {
		return err
	}
	switch schemas.Outcomes[rec.GetOutcome()].Unreachable {
	case schemas.UnreachableHost:
		if err := ap.waits.HostFailed(h, rec, now); err != nil {
			return err
		}
		return ap.queue(e)
	case schemas.UnreachableNetwork:
		if err := ap.waits.NetworkFailed(h, rec, now); err != nil {
			return err
		}
		return ap.queue(e)
	}
	if !charged {
		if at <= 0 {
			at = ap.waits.RetryAt(now, 0)
		}
		if at > now {
			if err := ap.waits.Sleep(h, at, restOf(rec)); err != nil {
				return err
			}
		}
		return ap.queue(e)
	}
	e.Tries++
	if away, err := ap.away(e); err != nil || away {
		return err
	}
	if at <= 0 {
		at = ap.waits.RetryAt(now, e.Tries-1)
	}
	e.NotBefore = at
	if err := ap.waits.Wait(e); err != nil {
		return err
	}
	return ap.state.SaveEntry(e)
}

// Status codes of HTTP with which a host asks for a pause.
const tooManyRequests, unavailable = 429, 503

// restOf is why the host of a deferred request waits.
func restOf(rec *schemas.LinkFound) int {
	switch {
	case rec.GetStatus() == tooManyRequests || rec.GetStatus() == unavailable:
		return state.Refusing
	case rec.GetOutcome() == schemas.Outcome_OUTCOME_ROBOTS_UNAVAILABLE:
		return state.NoRobots
	}
	return state.Resting
}
