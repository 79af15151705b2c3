package shards

import (
	"math"
	"slices"

	"google.golang.org/protobuf/proto"

	"forager/schemas"
)

// Limits are those of a whole crawl. Pages and Requests: 0 = no limit, at least one is set;
// Window is at least the number of shards.
type Limits struct{ Pages, Requests, Window uint64 }

// Ends are the reasons for which a crawl can end, the texts of CrawlStatus.end_reason.
type Ends struct{ Stopped, Pages, Requests, Empty, Stagnated, Unreachable string }

// resource is one of the quantities that are leased.
type resource int

const (
	pages resource = iota
	requests
	window
	resources
)

// levelsOf lists the levels of a lease.
func levelsOf(l *schemas.ShardLease) [resources]uint64 {
	return [resources]uint64{l.GetPages(), l.GetRequests(), l.GetWindow()}
}

// used is what a shard uses of each resource by its report.
func used(r *schemas.ShardReport) [resources]uint64 {
	return [resources]uint64{r.GetPages() + r.GetInFlight(), r.GetRequests() + r.GetInFlight(), r.GetInFlight()}
}

// Coordinator decides for shard 0 what every shard may use, and when the crawl has ended. Each
// owner of shard 0 makes its own.
type Coordinator struct {
	epoch  uint64
	ends   Ends
	shards []shardState
}

// shardState is what a shard has reported, and what was assigned to it.
type shardState struct {
	// report is the newest, of reportEpoch and reportSequence; nil before the first that follows a note of
	// this coordinator.
	report                      *schemas.ShardReport
	reportEpoch, reportSequence uint64
	// sent is the newest lease that was sent, or the one in the shard's first report.
	sent     *schemas.ShardLease
	sequence uint64 // of the last note
	asked    bool
	// ceiling is the most that it may use, whichever leases it has read.
	ceiling [resources]uint64
}

// NewCoordinator makes the coordinator of an owner of shard 0 of n.
func NewCoordinator(epoch uint64, n uint32, ends Ends) *Coordinator {
	l := &Coordinator{epoch: epoch, ends: ends, shards: make([]shardState, n)}
	l.shards[0].sent = &schemas.ShardLease{}
	return l
}

// Observe takes a note of shard from. A report on a lease of another owner of shard 0
// changes nothing.
func (l *Coordinator) Observe(from uint32, note *schemas.ShardNote) {
	r := note.GetReport()
	if from == 0 || int(from) >= len(l.shards) || r.GetLeaseEpoch() != l.epoch {
		return
	}
	s := &l.shards[from]
	older := note.GetEpoch() < s.reportEpoch || note.GetEpoch() == s.reportEpoch && note.GetSequence() <= s.reportSequence
	if s.report != nil && older {
		return
	}
	if s.report == nil {
		u := levelsOf(r.GetLease())
		s.sent = &schemas.ShardLease{Pages: u[pages], Requests: u[requests], Window: u[window], End: r.GetLease().GetEnd()}
	}
	s.report, s.reportEpoch, s.reportSequence = r, note.GetEpoch(), note.GetSequence()
	if r.GetLeaseSequence() == s.sequence {
		s.settle()
	}
}

// settle notes that the shard's newest report is on its newest lease.
func (s *shardState) settle() {
	s.ceiling = levelsOf(s.sent)
	for r, n := range used(s.report) {
		s.ceiling[r] = max(s.ceiling[r], n)
	}
}

// Decide computes leases from all reports; own is the state of shard 0 now. It returns shard
// 0's own lease, in force at once, and the notes to other shards, by shard.
func (l *Coordinator) Decide(limits Limits, own *schemas.ShardReport) (*schemas.ShardLease, map[uint32]*schemas.ShardNote) {
	zero := &l.shards[0]
	if zero.report == nil { // of former owners' leases only what is used remains
		u := used(own)
		zero.sent = &schemas.ShardLease{Pages: u[pages], Requests: u[requests], Window: u[window], End: own.GetLease().GetEnd()}
	}
	zero.report = own
	zero.settle()
	notes := make(map[uint32]*schemas.ShardNote)
	if slices.ContainsFunc(l.shards, func(s shardState) bool { return s.report == nil }) {
		for k := 1; k < len(l.shards); k++ {
			if s := &l.shards[k]; !s.asked {
				s.asked = true
				notes[uint32(k)] = l.note(k, &schemas.ShardLease{Keep: true})
			}
		}
		return zero.sent, notes
	}
	next := make([]*schemas.ShardLease, len(l.shards))
	for k := range l.shards {
		next[k] = proto.CloneOf(l.shards[k].sent)
		next[k].End = l.end(limits)
	}
	l.lease(pages, limits.Pages, next)
	l.lease(requests, limits.Requests, next)
	l.lease(window, limits.Window, next)
	zero.sent = next[0]
	zero.settle()
	for k := 1; k < len(l.shards); k++ {
		s := &l.shards[k]
		if proto.Equal(next[k], s.sent) {
			continue
		}
		s.sent = next[k]
		for r, n := range levelsOf(s.sent) {
			s.ceiling[r] = max(s.ceiling[r], n)
		}
		notes[uint32(k)] = l.note(k, s.sent)
	}
	return zero.sent, notes
}

func (l *Coordinator) note(k int, lease *schemas.ShardLease) *schemas.ShardNote {
	l.shards[k].sequence++
	return &schemas.ShardNote{Epoch: l.epoch, Sequence: l.shards[k].sequence, Lease: lease}
}

// Quiet reports whether every shard has read its newest lease.
func (l *Coordinator) Quiet() bool {
	for k := 1; k < len(l.shards); k++ {
		if s := &l.shards[k]; s.report.GetLeaseEpoch() != l.epoch || s.report.GetLeaseSequence() != s.sequence {
			return false
		}
	}
	return true
}

// lease sets one level of the next leases. Levels are raised from what no shard may use; if that
// is not enough for an exhausted shard, the levels of shards that hold more than they should are
// lowered, and what that frees is given out when they have reported. The same happens if the limit
// was lowered.
func (l *Coordinator) lease(of resource, total uint64, next []*schemas.ShardLease) {
	if total == 0 {
		for k := range next {
			set(next[k], of, math.MaxUint64)
		}
		return
	}
	shares := make([]share, len(l.shards))
	for k := range l.shards {
		s := &l.shards[k]
		shares[k] = share{used: used(s.report)[of], want: s.report.GetWant(), level: levelsOf(next[k])[of]}
		if of == window {
			most := s.report.GetWindow()
			shares[k].want = min(shares[k].want, most-min(most, shares[k].used))
		}
	}
	targets := budgetLevels
	if of == window {
		targets = windowLevels
	}
	levels := targets(total, shares)
	free, within := total, true
	for k := range l.shards {
		ceiling := l.ceiling(k, of, next)
		within = within && ceiling <= free
		free -= min(free, ceiling)
	}
	exhausted := false
	for k := range shares {
		s := &shares[k]
		if levels[k] <= s.level || 2*s.headroom() > levels[k]-s.used {
			continue // it has enough for a while
		}
		n := min(free, levels[k]-s.level)
		set(next[k], of, s.level+n)
		free -= n
		exhausted = exhausted || n == 0 && s.want > 0 && s.headroom() == 0
	}
	if !exhausted && within {
		return
	}
	for k := range shares {
		if shares[k].level > levels[k] {
			set(next[k], of, levels[k])
		}
	}
}

// ceiling is the most that shard k may use; for shard 0 its newest lease counts at once.
func (l *Coordinator) ceiling(k int, of resource, next []*schemas.ShardLease) uint64 {
	if k == 0 {
		return max(levelsOf(next[0])[of], used(l.shards[0].report)[of])
	}
	return l.shards[k].ceiling[of]
}

func set(lease *schemas.ShardLease, of resource, level uint64) {
	switch of {
	case pages:
		lease.Pages = level
	case requests:
		lease.Requests = level
	case window:
		lease.Window = level
	}
}

// end returns why the crawl has ended; empty while it has not.
func (l *Coordinator) end(limits Limits) string {
	var charged, requested, want, backlog, outside, givenUp uint64
	stopped := true
	for k := range l.shards {
		r := l.shards[k].report
		if r.GetInFlight() > 0 || !l.applied(k) {
			return ""
		}
		charged += r.GetPages()
		requested += r.GetRequests()
		want += r.GetWant()
		backlog += r.GetBacklog()
		outside += r.GetOutside()
		givenUp += r.GetGivenUp()
		stopped = stopped && r.GetStopped()
	}
	switch {
	case stopped:
		return l.ends.Stopped
	case limits.Pages > 0 && charged >= limits.Pages:
		return l.ends.Pages
	case limits.Requests > 0 && requested >= limits.Requests:
		return l.ends.Requests
	case want > 0 || backlog > 0 || l.shards[0].report.GetSeeds() == 0:
		return ""
	case givenUp > 0:
		return l.ends.Unreachable
	case outside > 0:
		return l.ends.Stagnated
	}
	return l.ends.Empty
}

// applied reports whether shard k has applied all links that any shard has sent it.
func (l *Coordinator) applied(k int) bool {
	for i := range l.shards {
		if at, ok := l.shards[i].report.GetSent()[uint32(k)]; ok && at >= l.shards[k].report.GetNext() {
			return false
		}
	}
	return true
}
