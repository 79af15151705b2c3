package audit

import (
	"bytes"
	"encoding/binary"

	"forager/schemas"
)

// limits compares what was charged with the limits of the crawl.
func (j *judge) limits() {
	t := &j.tally
	requests := t.requests + t.queries
	if ration := j.Control.GetBacklinks().GetRation(); j.Control.GetBacklinks() != nil && t.queries > uint64(ration) {
		j.problem("%d queries of backlinks were made, the ration is %d", t.queries, ration)
	}
	b := j.Control.GetBudget()
	if b.GetPages() > 0 && t.pages > b.GetPages() {
		j.problem("%d pages were delivered, the budget is %d", t.pages, b.GetPages())
	}
	if b.GetRequests() > 0 && requests > b.GetRequests() {
		j.problem("%d requests were charged, the budget is %d", requests, b.GetRequests())
	}
	hosts := j.hosts()
	j.figure("pages delivered", int(t.pages))
	j.figure("requests charged", int(requests))
	if t.queries > 0 {
		j.figure("queries of backlinks among them", int(t.queries))
	}
	j.figure("hosts", hosts)
}

// hosts compares the requests to each host with its cap, and notes the hosts that were at their cap until a
// request was deferred: links found meanwhile were refused if no earlier link led to their URL.
func (j *judge) hosts() (n int) {
	most := int(j.Control.GetScope().GetHostCap())
	var host []byte
	all, asked, deferred := 0, 0, false
	over := func() {
		if host == nil {
			return
		}
		n++
		if most > 0 && asked > most {
			j.problem("host %s was asked %d times, its cap is %d", host, asked, most)
		}
		if most > 0 && deferred && all >= most {
			j.put(keyOf(kindCapped, host), nil)
		}
	}
	j.each(kindHost).all(func(e entry) {
		name := e.key[:len(e.key)-len(schemas.ID{})-1]
		if host == nil || !bytes.Equal(name, host) {
			over()
			host, all, asked, deferred = name, 0, 0, false
		}
		all++
		if string(e.value) == "true" {
			deferred = true
		} else {
			asked++
		}
	})
	over()
	return n
}

// window is the largest permitted number of requests in flight: that of the control record, or the upper bound if prioritize adapts it.
func (c *Case) window() int {
	if w := c.Control.GetWindow(); w > 0 {
		return int(w)
	}
	budget := c.Control.GetBudget().GetPages()
	if budget == 0 {
		budget = c.Control.GetBudget().GetRequests()
	}
	return int(max(1, uint64(c.Control.GetShards()), budget/20))
}

func (c *Case) hostWindow() int {
	if w := c.Control.GetHostWindow(); w > 0 {
		return int(w)
	}
	if schemas.Pause(c.Control.GetPoliteness()) == 0 {
		return 100
	}
	return 2
}

// flights recounts, for every dispatch, the requests that were in flight when it was chosen.
//
// A dispatch contains its ordinal in the shard and the shard's clock: the number of records of link.found that
// the shard had applied. The n-th applied record is the n-th of its partition, counting the first of each id.
// So the requests in flight are the dispatches of a lower ordinal that none of the first clock records ends,
// also if the owner changed in between.
func (j *judge) flights() {
	shards := schemas.ShardsOf(j.Control)
	if shards > 1 && j.byCounts(schemas.TopicLinkFound) {
		return // when links of other shards arrived is no longer known
	}
	most, mostAtHost := 0, 0
	for shard := range shards {
		all, host := j.flightsOf(shard, shards)
		most, mostAtHost = max(most, all), max(mostAtHost, host)
	}
	what := "requests in flight at once, at most"
	if shards > 1 {
		what = "requests in flight at once in one shard, at most"
	}
	j.figure(what, most)
	j.figure("of one host", mostAtHost)
}

// flightsOf recounts the requests in flight of a shard, and returns the maximum.
func (j *judge) flightsOf(shard, shards uint32) (most, mostAtHost int) {
	ticks := j.each(kindTick, be32(shard))
	lease := newLease(j, shard, shards)
	flying := make(map[schemas.ID]string) // hosts
	hosts := make(map[string]int)
	var last *schemas.FetchRequest
	clock := uint64(0)
	orders := j.each(kindOrder, be32(shard))
	for e, ok := orders.next(); ok; e, ok = orders.next() {
		id := schemas.ID(e.key[len(e.key)-len(schemas.ID{}):])
		r := j.request(id)
		if r == nil {
			return most, mostAtHost // the store failed
		}
		if last.GetOrdinal() == r.GetOrdinal() {
			j.problem("%s and %s are both dispatch %d of shard %d", last.GetUrl(), r.GetUrl(), r.GetOrdinal(), shard)
		}
		last = r
		for ; clock < r.GetClock(); clock++ {
			tick, ok := ticks.next()
			if !ok {
				if !j.Running { // records after the ends are not read
					j.problem("dispatch %d of shard %d was chosen after %d records of link.found, there are %d", r.GetOrdinal(), shard, r.GetClock(), clock)
				}
				return most, mostAtHost
			}
			lease.reach(binary.BigEndian.Uint64(tick.key[len(tick.key)-8:]))
			answered := schemas.ID(tick.value)
			if host, ok := flying[answered]; ok {
				hosts[host]--
				delete(flying, answered)
			} else if r := j.request(answered); r != nil && !j.has(keyOf(kindSent, answered[:])) {
				j.problem("the verdict on %s was applied before its dispatch %d", r.GetUrl(), r.GetOrdinal())
			}
		}
		if r.GetClock() < clock {
			j.problem("dispatch %d of shard %d was chosen after %d records of link.found, an earlier one after %d", r.GetOrdinal(), shard, r.GetClock(), clock)
		}
		flying[id] = r.GetHost()
		hosts[r.GetHost()]++
		most, mostAtHost = max(most, len(flying)), max(mostAtHost, hosts[r.GetHost()])
		lease.check(r, len(flying), ticks)
		if n := hosts[r.GetHost()]; n > j.hostWindow() {
			j.problem("with dispatch %d of shard %d (%s) %d requests to %s were in flight, the host's window is %d",
				r.GetOrdinal(), shard, r.GetUrl(), n, r.GetHost(), j.hostWindow())
		}
	}
	return most, mostAtHost
}
