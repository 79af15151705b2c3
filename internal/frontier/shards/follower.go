package shards

import (
	"maps"
	"time"

	"forager/schemas"
)

// pause is the time between two reports of a shard if no shard waits for the second.
const pause = 100 * time.Millisecond

// Follower decides for one owner of a shard other than 0 when to report to shard 0.
type Follower struct {
	epoch, sequence uint64
	// Stride is the number of pages delivered after which a report is due; 0 = pages alone make none due.
	Stride uint64

	last *schemas.ShardReport
	at   time.Time
}

// NewFollower makes the follower of an owner.
func NewFollower(epoch uint64) *Follower { return &Follower{epoch: epoch} }

// Due reports whether shard 0 should get this report; if not yet, at is when it should, unless
// the report changes again (zero = not at all). links: since the last report links came from other
// shards, or were sent to them.
func (m *Follower) Due(r *schemas.ShardReport, links bool, now time.Time) (due bool, at time.Time) {
	switch {
	case r.GetLeaseEpoch() == 0:
		return false, time.Time{} // shard 0 has not sent a note
	case m.last == nil || m.urgent(r, links):
		return true, time.Time{}
	case !m.news(r):
		return false, time.Time{}
	}
	at = m.at.Add(pause)
	return !now.Before(at), at
}

// Note returns the note with a report that is sent now.
func (m *Follower) Note(r *schemas.ShardReport, now time.Time) *schemas.ShardNote {
	m.sequence++
	m.last, m.at = r, now
	return &schemas.ShardNote{Epoch: m.epoch, Sequence: m.sequence, Report: r}
}

// urgent reports whether shard 0, or another shard, may be waiting for the report.
func (m *Follower) urgent(r *schemas.ShardReport, links bool) bool {
	was := m.last
	return r.GetLeaseEpoch() != was.GetLeaseEpoch() || r.GetLeaseSequence() != was.GetLeaseSequence() ||
		atRest(r) && (links || !atRest(was) || r.GetStopped() != was.GetStopped() || !maps.Equal(r.GetSent(), was.GetSent())) ||
		exhausted(r) && !exhausted(was)
}

// news reports whether the report could change a decision of shard 0.
func (m *Follower) news(r *schemas.ShardReport) bool {
	was := m.last
	before, now := used(was), used(r)
	for of, level := range levelsOf(r.GetLease()) {
		if now[of] > level && now[of] != before[of] {
			return true // what it uses above a lowered level is not given to others before it reports
		}
		if of := resource(of); of != window && r.GetWant() > 0 && level-min(level, now[of]) < (level-min(level, before[of]))/2 {
			return true // half of what it had is used up
		}
	}
	return m.Stride > 0 && r.GetPages() >= was.GetPages()+m.Stride ||
		conditionOf(r) != conditionOf(was)
}

// condition is the part of a report that decides, apart from its numbers.
type condition struct{ needs, full, rests, stopped, backlog, outside, givenUp bool }

func conditionOf(r *schemas.ShardReport) condition {
	return condition{
		needs: r.GetWant() > 0, full: full(r), rests: atRest(r), stopped: r.GetStopped(),
		backlog: r.GetBacklog() > 0, outside: r.GetOutside() > 0, givenUp: r.GetGivenUp() > 0,
	}
}

// exhausted reports whether the shard could dispatch and its lease has no pages or requests left.
func exhausted(r *schemas.ShardReport) bool {
	u, level := used(r), levelsOf(r.GetLease())
	return r.GetWant() > 0 && (u[pages] >= level[pages] || u[requests] >= level[requests])
}

// full reports whether the shard could dispatch and its lease of the window is used up.
func full(r *schemas.ShardReport) bool {
	return r.GetWant() > 0 && r.GetInFlight() >= r.GetLease().GetWindow() && r.GetInFlight() < r.GetWindow()
}

// atRest reports whether the shard does nothing until it gets a record.
func atRest(r *schemas.ShardReport) bool {
	return r.GetInFlight() == 0 && (r.GetWant() == 0 || exhausted(r) || r.GetLease().GetWindow() == 0 || r.GetLease().GetEnd() != "")
}
