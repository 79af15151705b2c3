package frontier

import (
	"fmt"
	"time"

	"forager/internal/frontier/place"
	"forager/internal/frontier/queue"
	"forager/internal/frontier/rescore"
	"forager/internal/frontier/state"
	"forager/schemas"
)

// rescoreStep is the number of entries scored at a time if dispatch waits for the end of a
// pass.
const rescoreStep = 1024

// mostDropped is the number of excluded entries that a call of Dispatch drops at most.
const mostDropped = 1024

// dispatcher chooses requests.
type dispatcher struct {
	cfg      *settings
	state    *state.Records
	pages    *state.Pages
	hosts    *queue.Hosts
	queues   *queue.Queues
	waits    *queue.Waits
	places   *place.Placer
	excluder *rescore.Excluder
	arms     *arms
	flights  *flights
	pace     *pace
	peers    *peers
	hubs     *hubs
	renewal  *retraining
}

// Dispatch chooses up to limit requests, best first, as far as state, budget, window and hosts
// allow; a slot of the window may be left empty (throttled.go). They are in flight when it returns. Under
// learning.sync it first finishes the re-scoring, and chooses nothing while a model is due.
func (s *Shard) Dispatch(now time.Time, limit int) ([]*schemas.FetchRequest, error) {
	if err := s.usable(); err != nil {
		return nil, err
	}
	s.prefetch.DropPrepared()
	ms := unixMilli(now)
	if err := s.waits.WakeHosts(ms); err != nil {
		return nil, fmt.Errorf("wake hosts: %w", err)
	}
	if err := s.applier.wakeEntries(ms); err != nil {
		return nil, fmt.Errorf("queue what waited: %w", err)
	}
	var requests []*schemas.FetchRequest
	if s.dispatcher.dispatching() && !s.hosts.OnlyGivenUp() {
		for more := s.cfg.limits.sync; more; {
			var err error
			if more, err = s.Rescore(rescoreStep); err != nil {
				return nil, err
			}
		}
		var held throttled
		dropped := 0
		for len(requests) < limit && s.dispatcher.mayDispatch() && s.flights.reachable(ms) {
			lead, ok, err := s.arms.lead()
			if err != nil {
				return nil, fmt.Errorf("dispatch: %w", err)
			}
			if !ok && s.state.Counters.Unranked > 0 {
				if _, err := s.Rescore(rescoreStep); err != nil {
					return nil, err
				}
				held = throttled{} // the heads have changed
				continue
			}
			if !ok {
				break
			}
			if scored, err := s.rescorer.ScoreHead(lead); err != nil {
				return nil, fmt.Errorf("dispatch: %w", err)
			} else if scored {
				held = throttled{} // the heads have changed
			}
			h, err := s.dispatcher.choose(&held, lead, ms)
			if err != nil {
				return nil, fmt.Errorf("dispatch: %w", err)
			}
			if h == nil {
				break
			}
			r, err := s.dispatcher.dispatchBest(h, lead, ms)
			if err != nil {
				return nil, fmt.Errorf("dispatch: %w", err)
			}
			if r == nil {
				if dropped++; dropped == mostDropped {
					break // Rescore goes on with the others
				}
				held = throttled{} // the heads have changed
				continue
			}
			requests = append(requests, r)
			if s.places.Expands {
				held = throttled{} // the heads of other hosts have changed, too
			} else if err := held.add(s.dispatcher, h); err != nil {
				return nil, fmt.Errorf("dispatch: %w", err)
			}
		}
	}
	return requests, s.save()
}

// dispatching reports whether the crawl runs, and waits for no model, ranking of hubs or guide.
func (ds *dispatcher) dispatching() bool {
	return ds.cfg.ctl.GetState() == schemas.CrawlState_CRAWL_STATE_RUNNING && !ds.state.Counters.Stopped && !ds.modelDue() && !ds.hubs.hubsDue() && !ds.renewal.guideDue()
}

// modelDue reports whether dispatch waits for the model of a boundary.
func (ds *dispatcher) modelDue() bool {
	return ds.cfg.limits.sync && ds.places.AsksModel && ds.state.Counters.Answered < ds.state.Counters.Boundary
}

// dispatchBest puts the best entry of policy lead at a host into flight; the request is nil if it is excluded, and dropped.
func (ds *dispatcher) dispatchBest(h *queue.Host, lead int, now int64) (*schemas.FetchRequest, error) {
	e, err := ds.state.Entry(h.Queues[lead].Bound().Ordinal)
	if err != nil {
		return nil, err
	}
	if e.State != state.Queued {
		return nil, fmt.Errorf("entry %d is queued and has state %d", e.Ordinal, e.State)
	}
	if dropped, err := ds.excluder.Drop(e); err != nil || dropped {
		return nil, err
	}
	at := e.Places[lead]
	shadowed, err := ds.places.Shadowed(e)
	if err != nil {
		return nil, err
	}
	shadows, err := ds.places.ShadowPlaces(shadowed)
	if err != nil {
		return nil, err
	}
	backlinks := ds.mayQuery()
	path, err := ds.places.PathTo(e, shadowed, backlinks)
	if err != nil {
		return nil, err
	}
	if err := ds.queues.Dequeue(e); err != nil {
		return nil, err
	}
	ds.state.Counters.Ordinal++
	e.State, e.Places = state.InFlight, nil
	e.Attempt++
	e.Facts = state.Facts{
		Score: at.Score, Tier: at.Tier, Policy: ds.arms.policyNames[lead], Model: at.Model,
		Ordinal: ds.state.Counters.Ordinal, Clock: ds.state.Counters.Clock,
	}
	if err := ds.state.SaveEntry(e); err != nil {
		return nil, err
	}
	version, err := ds.state.NameOf(at.Model)
	if err != nil {
		return nil, err
	}
	var via string
	if p, ok, err := ds.pages.Page(at.Via); err != nil {
		return nil, err
	} else if ok {
		via = p.URL
	}
	if ds.places.Policies[lead].ExpandsPages() {
		if err := ds.places.Expand(at.Via); err != nil {
			return nil, err
		}
	}
	id := schemas.RequestID(ds.state.Name.Crawl, e.URL, e.Attempt)
	r := &schemas.FetchRequest{
		Id: id.Bytes(), Crawl: ds.state.Name.Crawl, Shard: ds.state.Name.Shard, Url: e.URL, Host: h.Name,
		Attempt: e.Attempt, Epoch: ds.cfg.options.Epoch, Owner: ds.cfg.options.Owner,
		Politeness: ds.cfg.ctl.GetPoliteness(), Score: at.Score, Tier: at.Tier,
		Policy: ds.places.Policies[lead].Name(), Model: version, Depth: e.Depth, Via: via, Hops: e.Hops,
		DispatchedAt: now, PathState: path, Ordinal: ds.state.Counters.Ordinal, Clock: ds.state.Counters.Clock,
		Shadows: shadows, Revision: ds.cfg.revision(), Models: ds.cfg.models,
	}
	if err := ds.countRequest(id, r); err != nil {
		return nil, err
	}
	return r, ds.flights.takeOff(id, &flight{ordinal: e.Ordinal, attempt: e.Attempt, host: e.Host, at: now, asks: backlinks != ""})
}

// Wake returns when time alone will next make an entry ready, or fill a slot that is left empty. The time may be in the past; ok is
// false if nothing waits for a time.
func (s *Shard) Wake(now time.Time) (at time.Time, ok bool) {
	ms, err := s.waits.Next()
	if err != nil {
		return now, true // the next Dispatch returns the error
	}
	if at, ok := s.waits.OutageEnds(); ok && at.After(now) {
		return at, true
	}
	if at, ok := s.dispatcher.patienceEnds(unixMilli(now)); ok && (ms < 0 || at < ms) {
		ms = at
	}
	if ms < 0 {
		return time.Time{}, false
	}
	return time.UnixMilli(ms), true
}

// reachable reports whether the outage, if there is one, lets another request be dispatched.
func (fs *flights) reachable(now int64) bool {
	if fs.waits.Outage.Since == 0 {
		return true
	}
	if now < fs.waits.Outage.Until {
		return false
	}
	probes := 0
	for _, f := range fs.byID {
		if f.at >= fs.waits.Outage.Until {
			probes++
		}
	}
	return probes < queue.ProbeRequests
}
