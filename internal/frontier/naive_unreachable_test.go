package frontier

import (
	"forager/internal/frontier/state"
	"forager/internal/web/weburl"
	"forager/schemas"
)

// The naive frontier's handling of hosts and networks that do not respond.

func (n *naive) patienceOfHosts() int64 {
	return int64(or(n.ctl.GetHostPatienceS(), 3*3600)) * 1000
}

func (n *naive) givenUp(h *nHost) bool {
	return h.failingSince > 0 && h.failedAt >= h.failingSince+n.patienceOfHosts()
}

// givenUpURLs counts the unvisited URLs of such hosts.
func (n *naive) givenUpURLs() (urls uint64) {
	for _, e := range n.entries {
		h := n.host(e.url)
		if (e.state == state.Queued && !e.unranked && n.within(e) || e.state == state.Waiting) && !n.capped(e.url) && n.givenUp(h) {
			urls++
		}
	}
	return urls
}

// reach notes whether a verdict shows that a host and the network can be reached.
func (n *naive) reach(h *nHost, rec *schemas.LinkFound, now int64) {
	at := rec.GetFetchedAt()
	if at == 0 {
		at = now
	}
	if rec.GetOutcome() != schemas.Outcome_OUTCOME_DELIVERED && rec.GetStatus() == 0 {
		return
	}
	if h.failedAt <= at {
		h.failingSince, h.failedAt = 0, 0
	}
	if n.last < at {
		n.since, n.last, n.until = 0, 0, 0
	}
}

func (n *naive) unreachable(e *nEntry, rec *schemas.LinkFound, now int64) {
	h, at := n.host(e.url), rec.GetFetchedAt()
	if at == 0 {
		at = now
	}
	sleep := func(until int64) {
		if until > h.notBefore {
			h.sleep(until, schemas.WaitCause_WAIT_CAUSE_HOST_PAUSE)
		}
	}
	if rec.GetOutcome() == schemas.Outcome_OUTCOME_HOST_UNREACHABLE {
		h.failedAt = max(h.failedAt, at)
		if h.failingSince == 0 {
			h.failingSince = at
		}
		pause := min(3600_000, max(n.options.RetryDelay.Milliseconds(), h.failedAt-h.failingSince))
		pause += pause / 8 * int64(schemas.ShardOf(weburl.Host(e.url), 4)) / 4
		sleep(min(max(h.failedAt, rec.GetNotBefore())+pause, now+3600_000+pause))
		return
	}
	if n.since == 0 {
		n.since = at
	}
	until := rec.GetNotBefore()
	if until <= 0 {
		until = now + n.options.RetryDelay.Milliseconds()
	}
	until = min(until, now+3600_000)
	n.last, n.until = max(n.last, at), max(n.until, until)
	if h.failingSince > 0 {
		h.failedAt = max(h.failedAt, at)
	}
	others := false
	for _, o := range n.entries {
		counts := o.state == state.Waiting || o.state == state.Queued && !o.unranked && n.within(o)
		if counts && weburl.Host(o.url) != weburl.Host(e.url) && !n.capped(o.url) && !n.givenUp(n.host(o.url)) {
			others = true
		}
	}
	if until > now && others {
		sleep(2*until - now)
	} else if until > now {
		sleep(until)
	}
}

// reachable reports whether the network lets another request be dispatched.
func (n *naive) reachable(now int64) bool {
	probes := 0
	for _, f := range n.flights {
		if f.request.GetDispatchedAt() >= n.until {
			probes++
		}
	}
	return n.since == 0 || now >= n.until && probes < 2
}

func (n *naive) retryFailed() {
	for _, h := range n.hosts {
		if h.failingSince > 0 {
			h.failingSince, h.failedAt, h.notBefore, h.rest = 0, 0, 0, 0
		}
	}
	for _, e := range n.entries {
		switch e.outcome {
		case schemas.Outcome_OUTCOME_SERVER_ERROR, schemas.Outcome_OUTCOME_TIMEOUT, schemas.Outcome_OUTCOME_CONNECTION_FAILED:
			if e.state != state.Final {
				continue
			}
			if n.capped(e.url) {
				n.refused["host-cap"]++
				continue
			}
			e.tries, e.outcome = 0, 0
			n.queue(e)
		}
	}
}

func (n *naive) unreachableStatus(now int64) *schemas.UnreachableHosts {
	u := &schemas.UnreachableHosts{GivenUpUrls: n.givenUpURLs()}
	for name, h := range n.hosts {
		switch {
		case h.failingSince == 0:
			continue
		case h.notBefore > now && (u.NextTry == 0 || h.notBefore < u.NextTry):
			u.NextTry = h.notBefore
		}
		u.Until = max(u.Until, h.failingSince+n.patienceOfHosts())
		if n.givenUp(h) {
			u.GivenUpHosts++
			continue
		}
		u.Hosts++
		for _, e := range n.entries {
			if weburl.Host(e.url) == name && (e.state == state.Waiting || e.state == state.Queued && !e.unranked && n.within(e)) && !n.capped(e.url) {
				u.Urls++
			}
		}
	}
	if u.Hosts+u.GivenUpHosts == 0 {
		return nil
	}
	if u.Hosts == 0 {
		u.Until = 0
	}
	return u
}
