package audit

import (
	"cmp"
	"slices"

	"forager/schemas"
)

// limits recounts what was charged.
func (j *judge) limits() {
	pages, requests, queries := 0, 0, 0
	hosts := make(map[string]int)
	for id, r := range j.requests {
		v := j.verdicts[id]
		c := schemas.Outcomes[v.GetOutcome()]
		if v != nil && c.Page {
			pages++
		}
		if v != nil && c.Request {
			requests++
		}
		queries += int(v.GetJudgement().GetBacklinks().GetQueries())
		if v == nil || v.GetOutcome() != schemas.Outcome_OUTCOME_DEFERRED {
			hosts[r.GetHost()]++
		}
		if reason := j.Scope.Check(r.GetUrl(), r.GetDepth()); reason != "" {
			j.problem("%s was asked for at depth %d, which the scope refuses: %s", r.GetUrl(), r.GetDepth(), reason)
		}
	}
	requests += queries
	if ration := j.Control.GetBacklinks().GetRation(); j.Control.GetBacklinks() != nil && queries > int(ration) {
		j.problem("%d queries of backlinks were made, the ration is %d", queries, ration)
	}
	b, hostCap := j.Control.GetBudget(), int(j.Control.GetScope().GetHostCap())
	if b.GetPages() > 0 && pages > int(b.GetPages()) {
		j.problem("%d pages were delivered, the budget is %d", pages, b.GetPages())
	}
	if b.GetRequests() > 0 && requests > int(b.GetRequests()) {
		j.problem("%d requests were charged, the budget is %d", requests, b.GetRequests())
	}
	for _, host := range sorted(hosts) {
		if hostCap > 0 && hosts[host] > hostCap {
			j.problem("host %s was asked %d times, its cap is %d", host, hosts[host], hostCap)
		}
	}
	j.figure("pages delivered", pages)
	j.figure("requests charged", requests)
	if queries > 0 {
		j.figure("queries of backlinks among them", queries)
	}
	j.figure("hosts", len(hosts))
}

// window is the most requests that may be in flight at once: what the control record sets, or the
// bound of what prioritize may find by trying.
func (j *judge) window() int {
	if w := j.Control.GetWindow(); w > 0 {
		return int(w)
	}
	budget := j.Control.GetBudget().GetPages()
	if budget == 0 {
		budget = j.Control.GetBudget().GetRequests()
	}
	return int(max(1, uint64(j.Control.GetShards()), budget/20))
}

func (j *judge) hostWindow() int {
	if w := j.Control.GetHostWindow(); w > 0 {
		return int(w)
	}
	if j.Control.GetPoliteness().GetDelayMs() == 0 {
		return 100
	}
	return 2
}

// flights recounts, for every dispatch, how many requests were in flight as it was chosen.
//
// A dispatch says its ordinal in the shard and the shard's clock: how many records of link.found
// the shard had applied. The n-th applied one is the n-th of its partition, first of its id. So
// what was in flight is every dispatch of a lower ordinal that none of the first clock records
// answers, also where the owner changed in between.
func (j *judge) flights() {
	shards := make(map[uint32][]*schemas.FetchRequest)
	for _, r := range j.requests {
		shards[r.GetShard()] = append(shards[r.GetShard()], r)
	}
	if schemas.ShardsOf(j.Control) > 1 && j.byCounts(schemas.TopicLinkFound) {
		return // nobody knows when links of other shards came
	}
	most, mostAtHost := 0, 0
	for _, requests := range shards {
		all, host := j.flightsOf(requests)
		most, mostAtHost = max(most, all), max(mostAtHost, host)
	}
	j.figure("requests in flight at once, at most", most)
	j.figure("of one host", mostAtHost)
}

// flightsOf recounts the flights of a shard's requests, and returns the most there were at once.
func (j *judge) flightsOf(requests []*schemas.FetchRequest) (most, mostAtHost int) {
	slices.SortFunc(requests, func(a, b *schemas.FetchRequest) int { return cmp.Compare(a.GetOrdinal(), b.GetOrdinal()) })
	shard := requests[0].GetShard()
	var applied []*schemas.LinkFound
	for _, v := range j.ticks {
		if v.GetShard() == shard {
			applied = append(applied, v)
		}
	}
	flying := make(map[schemas.ID]*schemas.FetchRequest)
	hosts := make(map[string]int)
	var last *schemas.FetchRequest
	clock := uint64(0)
	for _, r := range requests {
		if last.GetOrdinal() == r.GetOrdinal() {
			j.problem("%s and %s are both dispatch %d of shard %d", last.GetUrl(), r.GetUrl(), r.GetOrdinal(), shard)
		}
		last = r
		for ; clock < r.GetClock(); clock++ {
			if clock >= uint64(len(applied)) {
				j.problem("dispatch %d of shard %d was chosen after %d records of link.found, there are %d", r.GetOrdinal(), shard, r.GetClock(), len(applied))
				return most, mostAtHost
			}
			id := schemas.ID(applied[clock].GetId())
			if f := flying[id]; f != nil {
				hosts[f.GetHost()]--
				delete(flying, id)
			} else if r := j.requests[id]; r != nil {
				j.problem("the verdict on %s was applied before its dispatch %d", r.GetUrl(), r.GetOrdinal())
			}
		}
		if r.GetClock() < clock {
			j.problem("dispatch %d of shard %d was chosen after %d records of link.found, an earlier one after %d", r.GetOrdinal(), shard, r.GetClock(), clock)
		}
		flying[schemas.ID(r.GetId())] = r
		hosts[r.GetHost()]++
		most, mostAtHost = max(most, len(flying)), max(mostAtHost, hosts[r.GetHost()])
		if n := len(flying); n > j.window() {
			j.problem("with dispatch %d of shard %d (%s) %d requests were in flight, the window is %d", r.GetOrdinal(), shard, r.GetUrl(), n, j.window())
		}
		if n := hosts[r.GetHost()]; n > j.hostWindow() {
			j.problem("with dispatch %d of shard %d (%s) %d requests to %s were in flight, the host's window is %d",
				r.GetOrdinal(), shard, r.GetUrl(), n, r.GetHost(), j.hostWindow())
		}
	}
	return most, mostAtHost
}
