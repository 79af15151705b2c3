package frontier

import (
	"fmt"
	"math"
	"time"

	"forager/internal/frontier/state"
	"forager/schemas"
)

// End reasons, CrawlStatus.end_reason.
const (
	EndPages     = "pages budget spent"
	EndRequests  = "requests budget spent"
	EndEmpty     = "frontier empty"
	EndStagnated = "stagnated: the gate let no link through"
	EndStopped   = "stopped"
	// EndUnreachable: hosts that were unreachable for the crawl's patience still have URLs.
	EndUnreachable = "unreachable: only hosts that do not answer are left"
)

// Finished reports whether the crawl has ended, and why. A crawl that ended goes on when seeds
// are added, its budget is raised, or it runs again after it was stopped.
func (s *Shard) Finished() (reason string, ok bool) {
	switch {
	case s.cfg.ctl == nil || len(s.flights.byID) > 0:
		return "", false
	case s.cfg.limits.shards > 1: // shard 0 decides for all (package shards)
		end := s.peers.lease.GetLease().GetEnd()
		return end, end != ""
	case s.state.Counters.Stopped:
		return EndStopped, true
	case s.cfg.limits.pages > 0 && s.state.Counters.Pages >= s.cfg.limits.pages:
		return EndPages, true
	case s.cfg.limits.requests > 0 && s.state.Counters.Requests >= s.cfg.limits.requests:
		return EndRequests, true
	case s.state.Counters.Seeds == 0 || s.hosts.Backlog() > 0 || s.state.Counters.Unranked > 0 || s.excluder.Left() > 0:
		return "", false
	case s.state.Counters.Backlog[state.GivenUp].All() > 0:
		return EndUnreachable, true
	case s.state.Counters.Outside > 0:
		return EndStagnated, true
	}
	return EndEmpty, true
}

// Status returns the status of the shard. Spans lack offsets, which the frontier does not know.
func (s *Shard) Status(now time.Time) *schemas.CrawlStatus {
	st := &schemas.CrawlStatus{
		Crawl: s.state.Name.Crawl, Shard: s.state.Name.Shard, Epoch: s.cfg.options.Epoch,
		Dispatched: s.state.Counters.Dispatched, InFlight: uint64(len(s.flights.byID)), Queued: s.hosts.Backlog() + s.state.Counters.Unranked,
		Outcomes: make(map[string]uint64), Refused: make(map[string]uint64),
		Pages: s.state.Counters.Pages, RelevanceRaw: s.state.Counters.Raw, RelevanceTempered: s.state.Counters.Tempered, Requests: s.state.Counters.Requests,
		Links: s.state.Counters.Links, Leaps: s.state.Counters.Leaps, Trained: s.state.Counters.Trained, Duplicates: s.state.Counters.Duplicates,
		At: now.UnixMilli(), StartedAt: s.state.Counters.StartedAt, Spans: make(map[string]*schemas.TopicSpan),
	}
	for o, n := range s.state.Counters.Outcomes {
		st.Outcomes[schemas.OutcomeName(o)] = n
	}
	for r, n := range s.state.Counters.Refused {
		st.Refused[string(r)] = n
	}
	for i, span := range s.state.Counters.Spans {
		st.Spans[state.SpanNames[i]] = &schemas.TopicSpan{Count: span.Count, Xor: span.Xor.Bytes()}
	}
	st.LatencyP50Ms, st.LatencyP95Ms = s.pace.percentiles()
	if s.cfg.ctl == nil {
		return st
	}
	st.PagesLeft = left(s.cfg.limits.pages, s.state.Counters.Pages, st.InFlight)
	st.RequestsLeft = left(s.cfg.limits.requests, s.state.Counters.Requests, st.InFlight+s.flights.asking)
	st.Window = uint32(s.pace.window())
	if s.cfg.limits.shards > 1 {
		s.leaseStatus(st)
	}
	if s.places.Policies[0].Learns() || s.arms.mixture != nil && s.places.Learns {
		st.Model, _ = s.Model()
	}
	st.Arms, st.Unreachable = s.arms.armsStatus(), s.waits.Unreachable(unixMilli(now))
	var ended bool
	st.EndReason, ended = s.Finished()
	switch {
	case ended:
		st.State = schemas.ShardState_SHARD_STATE_FINISHED
	case s.state.Counters.Stopped:
		st.State = schemas.ShardState_SHARD_STATE_STOPPING
	case s.cfg.ctl.GetState() == schemas.CrawlState_CRAWL_STATE_PAUSED:
		st.State = schemas.ShardState_SHARD_STATE_PAUSED
	default:
		st.State = schemas.ShardState_SHARD_STATE_RUNNING
	}
	st.Waits = s.waitsFor()
	if !ended {
		st.Activity, st.Outage = s.activity(), s.waits.OutageStatus()
	}
	return st
}

// left is what remains of a limit after what is charged and what is reserved.
func left(limit, charged, reserved uint64) uint64 {
	if charged+reserved >= limit {
		return 0
	}
	return limit - charged - reserved
}

// Rescoring is the first word of the activity of a shard that scores its entries again under a new model.
const Rescoring = "re-scoring"

// activity is what the shard does or waits for apart from dispatching.
func (s *Shard) activity() string {
	if s.waits.Outage.Since > 0 {
		return "waiting for the network"
	}
	if s.dispatcher.modelDue() {
		return "model wait"
	}
	if s.hubs.hubsDue() {
		return "hub wait"
	}
	if s.renewal.guideDue() {
		return "guide wait"
	}
	if s.cfg.limits.shards > 1 && s.dispatcher.want() > 0 && !s.dispatcher.mayDispatch() {
		return "waiting for a lease"
	}
	if n := s.excluder.Left(); n > 0 {
		return fmt.Sprintf("other excludes: %d URLs still to be checked", n)
	}
	if n := s.state.Counters.Unranked; n > 0 {
		return fmt.Sprintf("other policies: %d entries still to be placed", n)
	}
	var done, all uint64
	for _, g := range s.state.Generations {
		if g.Passing() {
			done += g.Keys[state.SlotNew]
			all += g.Keys[state.SlotOld] + g.Keys[state.SlotNew]
		}
	}
	if all == 0 {
		return ""
	}
	return fmt.Sprintf("%s %d%%", Rescoring, done*100/all)
}

// hold is what keeps all URLs of the shard from being fetched, with its object; WAIT_CAUSE_UNSPECIFIED = nothing does.
func (s *Shard) hold() (cause schemas.WaitCause, object string) {
	ds, l := s.dispatcher, &s.cfg.limits
	end := s.peers.lease.GetLease().GetEnd()
	inFlight := uint64(len(s.flights.byID))
	switch {
	case s.state.Counters.Stopped:
		return schemas.WaitCause_WAIT_CAUSE_STOPPED, ""
	case end == EndPages || end == EndRequests, l.shards == 1 && (s.left() == 0 || !ds.roomFor(1)):
		return schemas.WaitCause_WAIT_CAUSE_BUDGET, ""
	case s.cfg.ctl.GetState() == schemas.CrawlState_CRAWL_STATE_PAUSED:
		return schemas.WaitCause_WAIT_CAUSE_PAUSED, ""
	case s.waits.Outage.Since > 0:
		return schemas.WaitCause_WAIT_CAUSE_OUTAGE, ""
	case ds.modelDue():
		return schemas.WaitCause_WAIT_CAUSE_STAGE, "apprentice-train"
	case s.hubs.hubsDue() || s.renewal.guideDue():
		return schemas.WaitCause_WAIT_CAUSE_STAGE, "distill"
	case l.shards > 1 && inFlight < ds.windowInForce() && !ds.mayDispatch(): // shard 0 has not given it a share of the budget
		return schemas.WaitCause_WAIT_CAUSE_STAGE, "prioritize"
	}
	return schemas.WaitCause_WAIT_CAUSE_UNSPECIFIED, ""
}

// left is the number of requests that the budget lets the crawl begin now, if one shard has all of it.
func (s *Shard) left() uint64 {
	return Left(s.cfg.ctl, &s.state.Counters, uint64(len(s.flights.byID)), s.flights.asking)
}

// Left is the number of requests that the budget of a crawl with one shard lets it begin, with so many in flight, some of which may
// query backlinks.
func Left(ctl *schemas.CrawlControl, c *state.Counters, inFlight, asking uint64) uint64 {
	n, b := uint64(math.MaxUint64), ctl.GetBudget()
	if b.GetPages() > 0 {
		n = left(b.GetPages(), c.Pages, inFlight)
	}
	if b.GetRequests() > 0 {
		n = min(n, left(b.GetRequests(), c.Requests, inFlight+asking))
	}
	return n
}

// waitsFor counts the URLs that are known and not fetched by what they wait for.
func (s *Shard) waitsFor() (waits []*schemas.Wait) {
	first := uint64(math.MaxUint64)
	if s.cfg.limits.shards == 1 && s.arms.mixture == nil {
		first = s.left()
	}
	urls := s.waits.Waiting(first)
	for c := schemas.WaitCause_WAIT_CAUSE_GATE; c <= schemas.WaitCause_WAIT_CAUSE_WINDOW; c++ {
		if urls[c] > 0 {
			waits = append(waits, &schemas.Wait{Cause: c, Object: s.waits.Example(c), Urls: urls[c]})
		}
	}
	if cause, object := s.hold(); cause > 0 {
		waits = schemas.Hold(waits, cause, object)
	}
	return waits
}
