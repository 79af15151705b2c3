package shards

import (
	"maps"
	"time"

	"forager/schemas"
)

// pause lies between two reports of a shard of which nobody waits for the second.
const pause = 100 * time.Millisecond

// Member decides for one owner of a shard other than 0 when shard 0 should hear of it.
type Member struct {
	epoch, sequence uint64
	// Stride is the number of pages delivered behind which shard 0 is told; 0 = it need not know.
	Stride uint64

	last *schemas.ShardReport
	at   time.Time
}

// NewMember makes the Member of an owner.
func NewMember(epoch uint64) *Member { return &Member{epoch: epoch} }

// Due says whether shard 0 should get this report; if not yet, at is when it should, unless
// things change again (zero = not at all). links: since the last report links came from other
// shards, or went to them.
func (m *Member) Due(r *schemas.ShardReport, links bool, now time.Time) (due bool, at time.Time) {
	switch {
	case r.GetLeaseEpoch() == 0:
		return false, time.Time{} // nobody has asked
	case m.last == nil || m.urgent(r, links):
		return true, time.Time{}
	case !m.news(r):
		return false, time.Time{}
	}
	at = m.at.Add(pause)
	return !now.Before(at), at
}

// Note is the note with a report that is sent now.
func (m *Member) Note(r *schemas.ShardReport, now time.Time) *schemas.ShardNote {
	m.sequence++
	m.last, m.at = r, now
	return &schemas.ShardNote{Epoch: m.epoch, Sequence: m.sequence, Report: r}
}

// urgent says that shard 0, or another shard, may be waiting for the report.
func (m *Member) urgent(r *schemas.ShardReport, links bool) bool {
	was := m.last
	return r.GetLeaseEpoch() != was.GetLeaseEpoch() || r.GetLeaseSequence() != was.GetLeaseSequence() ||
		atRest(r) && (links || !atRest(was) || r.GetStopped() != was.GetStopped() || !maps.Equal(r.GetSent(), was.GetSent())) ||
		hungry(r) && !hungry(was)
}

// news says that shard 0 would decide otherwise if it knew.
func (m *Member) news(r *schemas.ShardReport) bool {
	was := m.last
	before, now := used(was), used(r)
	for of, level := range levelsOf(r.GetLease()) {
		if now[of] > level && now[of] != before[of] {
			return true // what it uses above a lowered level is not given out before it says so
		}
		if of := resource(of); of != window && r.GetWant() > 0 && level-min(level, now[of]) < (level-min(level, before[of]))/2 {
			return true // half of what it had is used up
		}
	}
	return m.Stride > 0 && r.GetPages() >= was.GetPages()+m.Stride ||
		moodOf(r) != moodOf(was)
}

// mood is what of a report changes decisions whatever its numbers are.
type mood struct{ wants, full, rests, stopped, backlog, outside, givenUp bool }

func moodOf(r *schemas.ShardReport) mood {
	return mood{
		wants: r.GetWant() > 0, full: full(r), rests: atRest(r), stopped: r.GetStopped(),
		backlog: r.GetBacklog() > 0, outside: r.GetOutside() > 0, givenUp: r.GetGivenUp() > 0,
	}
}

// hungry says that the shard could dispatch and its lease has no pages or requests left. A level
// of a resource that has no limit is 0 and never read.
func hungry(r *schemas.ShardReport) bool {
	u, level := used(r), levelsOf(r.GetLease())
	return r.GetWant() > 0 && (u[pages] >= level[pages] || u[requests] >= level[requests])
}

// full says that the shard could dispatch and its lease of the window is used up.
func full(r *schemas.ShardReport) bool {
	return r.GetWant() > 0 && r.GetInFlight() >= r.GetLease().GetWindow() && r.GetInFlight() < r.GetWindow()
}

// atRest says that the shard does nothing until it is told something.
func atRest(r *schemas.ShardReport) bool {
	return r.GetInFlight() == 0 && (r.GetWant() == 0 || hungry(r) || r.GetLease().GetWindow() == 0 || r.GetLease().GetEnd() != "")
}
