package schemas

import (
	"hash/fnv"
	"math"
	"strconv"
	"time"

	"google.golang.org/protobuf/proto"
)

// ShardOf returns the shard, of n, that a host's URLs belong to; n = 0 means 1. The hash is another
// one than that of keys and partitions, so that the hosts of a shard spread over the partitions of
// fetch.requested.
func ShardOf(host string, n uint32) uint32 {
	if n <= 1 {
		return 0
	}
	h := fnv.New64a()
	h.Write([]byte(host))
	x := h.Sum64()
	x ^= x >> 33 // the finalizer of MurmurHash3: FNV's upper bits depend little on the last bytes
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return uint32(x % uint64(n))
}

// ShardsOf returns the number of shards of a crawl, at least 1.
func ShardsOf(ctl *CrawlControl) uint32 { return max(1, ctl.GetShards()) }

// MaxHostWindow bounds the requests in flight to one host.
const MaxHostWindow = 100

// HostWindow returns the number of requests of a crawl that may be in flight to one host. If the crawl
// keeps a pause the default is 2, one being made and one waiting; without a pause (the operator's own
// servers) it is MaxHostWindow.
func HostWindow(ctl *CrawlControl) uint32 {
	switch {
	case ctl.GetHostWindow() > 0:
		return ctl.GetHostWindow()
	case Pause(ctl.GetPoliteness()) > 0:
		return 2
	}
	return MaxHostWindow
}

// Pause returns the pause that a crawl keeps between two requests to a host, without what robots.txt or the host itself
// asks for: those of addresses and networks hold for a host too.
func Pause(p *Politeness) time.Duration {
	return time.Duration(max(p.GetDelayMs(), p.GetAddressDelayMs(), p.GetNetworkDelayMs())) * time.Millisecond
}

// MaxHostPatience bounds CrawlControl.host_patience_s.
const MaxHostPatience = 366 * 24 * time.Hour

// HostPatience returns how long a crawl waits for a host that cannot be connected to.
func HostPatience(ctl *CrawlControl) time.Duration {
	if s := ctl.GetHostPatienceS(); s > 0 {
		return time.Duration(s) * time.Second
	}
	return 3 * time.Hour
}

// WholeCrawl returns the sum of the newest statuses of a crawl's shards; nil if there is none. The
// crawl is running until every shard has reported its end; shard 0, which decides about the end,
// has the reason. Latencies are the largest of any shard, the revision is the smallest, times are the first and the last.
func WholeCrawl(ctl *CrawlControl, of map[uint32]*CrawlStatus) *CrawlStatus {
	n := ShardsOf(ctl)
	if len(of) == 0 || n == 1 {
		return proto.CloneOf(of[0])
	}
	sum := &CrawlStatus{
		Crawl: ctl.GetCrawl(), Shards: n, State: ShardState_SHARD_STATE_FINISHED, EndReason: of[0].GetEndReason(), Model: of[0].GetModel(),
		Outcomes: make(map[string]uint64), Refused: make(map[string]uint64), Rejected: make(map[string]uint64),
		Spans: make(map[string]*TopicSpan), Revision: math.MaxUint64,
	}
	for k := range n {
		st := of[k]
		sum.Revision = min(sum.Revision, st.GetRevision())
		if st == nil {
			sum.State, sum.Activity = ShardState_SHARD_STATE_RUNNING, "waiting for shard "+strconv.FormatUint(uint64(k), 10)
			continue
		}
		sum.add(st)
	}
	if sum.State != ShardState_SHARD_STATE_FINISHED {
		sum.EndReason = ""
	}
	reserved := sum.GetInFlight()
	sum.PagesLeft = left(ctl.GetBudget().GetPages(), sum.GetPages()+reserved)
	sum.RequestsLeft = left(ctl.GetBudget().GetRequests(), sum.GetRequests()+reserved)
	return sum
}

// left returns the rest of a budget; 0 if it is not set.
func left(limit, taken uint64) uint64 { return limit - min(limit, taken) }

// add adds the status of one more shard.
func (sum *CrawlStatus) add(st *CrawlStatus) {
	sum.State = leastDone(sum.State, st.GetState())
	if sum.Activity == "" {
		sum.Activity = st.GetActivity()
	}
	if st.GetDiskNeeded() > 0 && (sum.DiskNeeded == 0 || st.GetDiskFree() < sum.DiskFree) {
		sum.Activity = st.GetActivity()
		sum.DiskDir, sum.DiskFree, sum.DiskNeeded = st.GetDiskDir(), st.GetDiskFree(), st.GetDiskNeeded()
	}
	sum.Outage = longerOutage(sum.GetOutage(), st.GetOutage())
	if u := st.GetUnreachable(); u != nil {
		if sum.Unreachable == nil {
			sum.Unreachable = new(UnreachableHosts)
		}
		sum.Unreachable.add(u)
	}
	sum.Epoch = max(sum.Epoch, st.GetEpoch())
	sum.At = max(sum.At, st.GetAt())
	if at := st.GetStartedAt(); at > 0 && (sum.StartedAt == 0 || at < sum.StartedAt) {
		sum.StartedAt = at
	}
	sum.LatencyP50Ms, sum.LatencyP95Ms = max(sum.LatencyP50Ms, st.GetLatencyP50Ms()), max(sum.LatencyP95Ms, st.GetLatencyP95Ms())
	sum.Window += st.GetWindow()
	sum.RelevanceRaw += st.GetRelevanceRaw()
	sum.RelevanceTempered += st.GetRelevanceTempered()
	for _, c := range []struct {
		to *uint64
		n  uint64
	}{
		{&sum.Dispatched, st.GetDispatched()}, {&sum.InFlight, st.GetInFlight()}, {&sum.Queued, st.GetQueued()},
		{&sum.Pages, st.GetPages()}, {&sum.Requests, st.GetRequests()}, {&sum.Links, st.GetLinks()},
		{&sum.Leaps, st.GetLeaps()}, {&sum.Trained, st.GetTrained()}, {&sum.Duplicates, st.GetDuplicates()},
	} {
		*c.to += c.n
	}
	for i, a := range st.GetArms() {
		if i == len(sum.Arms) {
			sum.Arms = append(sum.Arms, &Arm{Policy: a.GetPolicy(), Alpha: 1, Beta: 1})
		}
		sum.Arms[i].add(a)
	}
	sum.Waits = addWaits(sum.Waits, st.GetWaits())
	for _, m := range [][2]map[string]uint64{{sum.Outcomes, st.GetOutcomes()}, {sum.Refused, st.GetRefused()}, {sum.Rejected, st.GetRejected()}} {
		for name, n := range m[1] {
			m[0][name] += n
		}
	}
	for topic, s := range st.GetSpans() {
		if sum.Spans[topic] == nil {
			sum.Spans[topic] = &TopicSpan{First: make(map[uint32]int64), Last: make(map[uint32]int64), Xor: make([]byte, len(ID{}))}
		}
		sum.Spans[topic].add(s)
	}
}

// longerOutage returns the one of two that began first.
func longerOutage(a, b *Outage) *Outage {
	if a == nil || b != nil && b.GetSince() < a.GetSince() {
		return b
	}
	return a
}

// add adds the unreachable hosts of one more shard.
func (sum *UnreachableHosts) add(u *UnreachableHosts) {
	sum.Hosts += u.GetHosts()
	sum.Urls += u.GetUrls()
	sum.GivenUpHosts += u.GetGivenUpHosts()
	sum.GivenUpUrls += u.GetGivenUpUrls()
	if sum.Host == "" {
		sum.Host, sum.Cause = u.GetHost(), u.GetCause()
	}
	if at := u.GetNextTry(); at > 0 && (sum.NextTry == 0 || at < sum.NextTry) {
		sum.NextTry = at
	}
	sum.Until = max(sum.Until, u.GetUntil())
}

// add adds the counts of another shard's arm of the same policy. Shards may follow another revision of
// the crawl for a moment; then the arm of another policy is left out.
func (sum *Arm) add(a *Arm) {
	if sum.GetPolicy() != a.GetPolicy() {
		return
	}
	sum.Chosen += a.GetChosen()
	sum.Credited += a.GetCredited()
	sum.Reward += a.GetReward()
	sum.Alpha += a.GetAlpha() - 1
	sum.Beta += a.GetBeta() - 1
}

// add adds the span of one more shard; no record is in the spans of two.
func (sum *TopicSpan) add(s *TopicSpan) {
	sum.Count += s.GetCount()
	sum.Xor = ID(sum.Xor).Xor(s.GetXor())
	for p, at := range s.GetFirst() {
		if first, ok := sum.First[p]; !ok || at < first {
			sum.First[p] = at
		}
	}
	for p, at := range s.GetLast() {
		sum.Last[p] = max(sum.Last[p], at)
	}
}

// leastDone returns the state of two shards together: a crawl runs while any of them does.
func leastDone(a, b ShardState) ShardState {
	for _, s := range []ShardState{ShardState_SHARD_STATE_RUNNING, ShardState_SHARD_STATE_STOPPING, ShardState_SHARD_STATE_PAUSED} {
		if a == s || b == s {
			return s
		}
	}
	return a
}
