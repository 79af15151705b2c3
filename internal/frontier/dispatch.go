package frontier

import (
	"fmt"
	"time"

	"forager/schemas"
)

// rescoreStep is the number of entries scored at a time if dispatch waits for the end of a
// pass.
const rescoreStep = 1024

// Dispatch chooses up to max requests, best first, as far as state, budget, window and hosts
// allow; a slot of the window may be left empty (held.go). They are in flight when it returns. Under
// learning.sync it first finishes the re-scoring, and chooses nothing while a model is due.
func (s *Shard) Dispatch(now time.Time, max int) ([]*schemas.FetchRequest, error) {
	if err := s.usable(); err != nil {
		return nil, err
	}
	s.forgetPrepared()
	ms := unixMilli(now)
	if err := s.wakeHosts(ms); err != nil {
		return nil, fmt.Errorf("wake hosts: %w", err)
	}
	if err := s.wakeEntries(ms); err != nil {
		return nil, fmt.Errorf("queue what waited: %w", err)
	}
	var requests []*schemas.FetchRequest
	if s.dispatching() && !s.onlyGivenUp() {
		for more := s.limits.sync; more; {
			var err error
			if more, err = s.Rescore(rescoreStep); err != nil {
				return nil, err
			}
		}
		var held heldBack
		for len(requests) < max && s.room() && s.reachable(ms) {
			lead, ok, err := s.lead()
			if err != nil {
				return nil, fmt.Errorf("dispatch: %w", err)
			}
			if !ok && s.c.unranked > 0 {
				if _, err := s.Rescore(rescoreStep); err != nil {
					return nil, err
				}
				held = heldBack{} // the heads have changed
				continue
			}
			if !ok {
				break
			}
			h, err := s.choose(&held, lead, ms)
			if err != nil {
				return nil, fmt.Errorf("dispatch: %w", err)
			}
			if h == nil {
				break
			}
			r, err := s.dispatchBest(h, lead, ms)
			if err != nil {
				return nil, fmt.Errorf("dispatch: %w", err)
			}
			requests = append(requests, r)
			if s.expands {
				held = heldBack{} // the heads of other hosts have changed, too
			} else if err := held.add(s, h); err != nil {
				return nil, fmt.Errorf("dispatch: %w", err)
			}
		}
	}
	return requests, s.save()
}

// dispatching reports whether the crawl runs, and waits for no model, ranking of hubs or guide.
func (s *Shard) dispatching() bool {
	return s.ctl.GetState() == schemas.CrawlState_CRAWL_STATE_RUNNING && !s.c.stopped && !s.modelDue() && !s.hubsDue() && !s.guideDue()
}

// modelDue reports whether dispatch waits for the model of a boundary.
func (s *Shard) modelDue() bool {
	return s.limits.sync && s.asksModel && s.c.answered < s.c.boundary
}

// dispatchBest puts the best entry of policy lead at a host into flight.
func (s *Shard) dispatchBest(h *host, lead int, now int64) (*schemas.FetchRequest, error) {
	e, err := s.entry(h.queues[lead].bound().ordinal)
	if err != nil {
		return nil, err
	}
	if e.state != stateQueued {
		return nil, fmt.Errorf("entry %d is queued and has state %d", e.ordinal, e.state)
	}
	at := e.places[lead]
	shadowed, err := s.shadowed(e)
	if err != nil {
		return nil, err
	}
	shadows, err := s.shadowPlaces(shadowed)
	if err != nil {
		return nil, err
	}
	path, asks, err := s.pathTo(e, shadowed)
	if err != nil {
		return nil, err
	}
	if err := s.dequeue(e); err != nil {
		return nil, err
	}
	s.c.ordinal++
	e.state, e.places = stateFlight, nil
	e.attempt++
	e.facts = facts{
		score: at.Score, tier: at.Tier, policy: s.policyNames[lead], model: at.model,
		ordinal: s.c.ordinal, clock: s.c.clock,
	}
	if err := s.saveEntry(e); err != nil {
		return nil, err
	}
	version, err := s.nameOf(at.model)
	if err != nil {
		return nil, err
	}
	var via string
	if p, ok, err := s.page(at.Via); err != nil {
		return nil, err
	} else if ok {
		via = p.url
	}
	if s.policies[lead].ExpandsPages() {
		if err := s.expand(at.Via); err != nil {
			return nil, err
		}
	}
	id := schemas.RequestID(s.name.Crawl, e.url, e.attempt)
	r := &schemas.FetchRequest{
		Id: id.Bytes(), Crawl: s.name.Crawl, Shard: s.name.Shard, Url: e.url, Host: h.name,
		Attempt: e.attempt, Epoch: s.options.Epoch, Owner: s.options.Owner,
		Politeness: s.ctl.GetPoliteness(), Score: at.Score, Tier: at.Tier,
		Policy: s.policies[lead].Name(), Model: version, Depth: e.depth, Via: via, Hops: e.hops,
		DispatchedAt: now, PathState: path, Ordinal: s.c.ordinal, Clock: s.c.clock,
		Shadows: shadows, Revision: s.revision(), Models: s.models,
	}
	if err := s.countRequest(id, r); err != nil {
		return nil, err
	}
	return r, s.takeOff(id, &flight{ordinal: e.ordinal, attempt: e.attempt, host: e.host, at: now, asks: asks})
}
