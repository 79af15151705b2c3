package frontier

import (
	"math"

	"forager/schemas"
)

// again queues the entry for another attempt: a deferral makes the whole host wait, a failed try
// only its own URL (docs/decisions/0100).
func (s *Shard) again(e *entry, rec *schemas.LinkFound, charged bool, now int64) error {
	at := min(rec.GetNotBefore(), now+longestWait)
	h, err := s.host(e.host)
	if err != nil {
		return err
	}
	switch schemas.Outcomes[rec.GetOutcome()].Unreachable {
	case schemas.UnreachableHost:
		if err := s.hostFailed(h, rec, now); err != nil {
			return err
		}
		return s.queue(e)
	case schemas.UnreachableNetwork:
		if err := s.networkFailed(h, rec, now); err != nil {
			return err
		}
		return s.queue(e)
	}
	if !charged {
		if at <= 0 {
			at = later(now, s.options.RetryDelay.Milliseconds(), 0)
		}
		if at > now {
			if err := s.sleep(h, at); err != nil {
				return err
			}
		}
		return s.queue(e)
	}
	e.tries++
	if adopted, err := s.adopt(e); err != nil || adopted {
		return err
	}
	if at <= 0 {
		at = later(now, s.options.RetryDelay.Milliseconds(), e.tries-1)
	}
	e.notBefore = at
	if err := s.wait(e); err != nil {
		return err
	}
	return s.saveEntry(e)
}

// longestWait is the longest wait that a server may ask for (Retry-After), milliseconds: a day.
const longestWait = 24 * 60 * 60 * 1000

// later is now + delay·2^doublings, without overflow.
func later(now, delay int64, doublings uint32) int64 {
	if doublings > 20 {
		doublings = 20
	}
	if delay > math.MaxInt32 {
		delay = math.MaxInt32
	}
	return now + delay<<doublings
}
