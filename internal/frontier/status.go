package frontier

import (
	"fmt"
	"time"

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
// are added or its budget is raised, unless it was stopped.
func (s *Shard) Finished() (reason string, ok bool) {
	switch {
	case s.ctl == nil || len(s.flights) > 0:
		return "", false
	case s.limits.shards > 1: // shard 0 decides for all (package shards)
		end := s.lease.GetLease().GetEnd()
		return end, end != ""
	case s.c.stopped:
		return EndStopped, true
	case s.limits.pages > 0 && s.c.pages >= s.limits.pages:
		return EndPages, true
	case s.limits.requests > 0 && s.c.requests >= s.limits.requests:
		return EndRequests, true
	case s.c.seeds == 0 || s.backlog() > 0 || s.c.unranked > 0:
		return "", false
	case s.c.backlog[givenUp].all() > 0:
		return EndUnreachable, true
	case s.c.outside > 0:
		return EndStagnated, true
	}
	return EndEmpty, true
}

// Status returns the status of the shard. Spans lack offsets, which the frontier does not know.
func (s *Shard) Status(now time.Time) *schemas.CrawlStatus {
	st := &schemas.CrawlStatus{
		Crawl: s.name.Crawl, Shard: s.name.Shard, Epoch: s.options.Epoch,
		Dispatched: s.c.dispatched, InFlight: uint64(len(s.flights)), Queued: s.backlog() + s.c.unranked,
		Outcomes: make(map[string]uint64), Refused: make(map[string]uint64),
		Pages: s.c.pages, RelevanceRaw: s.c.raw, RelevanceTempered: s.c.tempered, Requests: s.c.requests,
		Links: s.c.links, Leaps: s.c.leaps, Trained: s.c.trained, Duplicates: s.c.duplicates,
		At: now.UnixMilli(), StartedAt: s.c.startedAt, Spans: make(map[string]*schemas.TopicSpan),
	}
	for o, n := range s.c.outcomes {
		st.Outcomes[schemas.OutcomeName(o)] = n
	}
	for r, n := range s.c.refused {
		st.Refused[string(r)] = n
	}
	for i, span := range s.c.spans {
		st.Spans[spanNames[i]] = &schemas.TopicSpan{Count: span.count, Xor: span.xor.Bytes()}
	}
	st.LatencyP50Ms, st.LatencyP95Ms = s.percentiles()
	if s.ctl == nil {
		return st
	}
	st.PagesLeft = left(s.limits.pages, s.c.pages, st.InFlight)
	st.RequestsLeft = left(s.limits.requests, s.c.requests, st.InFlight+s.asking)
	st.Window = uint32(s.window())
	if s.limits.shards > 1 {
		s.leaseStatus(st)
	}
	if s.policies[0].Learns() || s.mixture != nil && s.learns {
		st.Model, _ = s.Model()
	}
	st.Arms, st.Unreachable = s.armsStatus(), s.unreachable(now)
	var ended bool
	st.EndReason, ended = s.Finished()
	switch {
	case ended:
		st.State = schemas.ShardState_SHARD_STATE_FINISHED
	case s.c.stopped:
		st.State = schemas.ShardState_SHARD_STATE_STOPPING
	case s.ctl.GetState() == schemas.CrawlState_CRAWL_STATE_PAUSED:
		st.State = schemas.ShardState_SHARD_STATE_PAUSED
	default:
		st.State = schemas.ShardState_SHARD_STATE_RUNNING
	}
	if !ended {
		st.Activity, st.Outage = s.activity(), s.outageStatus()
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
	if s.outage.since > 0 {
		return "waiting for the network"
	}
	if s.modelDue() {
		return "model wait"
	}
	if s.hubsDue() {
		return "hub wait"
	}
	if s.guideDue() {
		return "guide wait"
	}
	if s.limits.shards > 1 && s.want() > 0 && !s.room() {
		return "waiting for a lease"
	}
	if n := s.c.unranked; n > 0 {
		return fmt.Sprintf("other policies: %d entries still to be placed", n)
	}
	var done, all uint64
	for _, g := range s.generations {
		if g.passing() {
			done += g.keys[slotNew]
			all += g.keys[slotOld] + g.keys[slotNew]
		}
	}
	if all == 0 {
		return ""
	}
	return fmt.Sprintf("%s %d%%", Rescoring, done*100/all)
}
