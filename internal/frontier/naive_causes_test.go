package frontier

import (
	"slices"

	"forager/internal/frontier/state"
	"forager/schemas"
)

// The naive frontier's count of what URLs wait for: each URL is looked at, in the order of the enumeration.

// sleep notes that a host waits.
func (h *nHost) sleep(until int64, why schemas.WaitCause) {
	if why == schemas.WaitCause_WAIT_CAUSE_HOST_PAUSE && h.rest != 0 {
		why = h.rest
	}
	h.notBefore, h.rest = until, why
}

func nRest(rec *schemas.LinkFound) schemas.WaitCause {
	switch {
	case rec.GetStatus() == 429, rec.GetStatus() == 503:
		return schemas.WaitCause_WAIT_CAUSE_HOST_REFUSED
	case rec.GetOutcome() == schemas.Outcome_OUTCOME_ROBOTS_UNAVAILABLE:
		return schemas.WaitCause_WAIT_CAUSE_ROBOTS
	}
	return schemas.WaitCause_WAIT_CAUSE_HOST_PAUSE
}

// cause is what an unvisited URL waits for, whatever its rank.
func (n *naive) cause(e *nEntry) schemas.WaitCause {
	h := n.host(e.url)
	queued := e.state == state.Queued
	switch hold := n.hold(); {
	case queued && !e.unranked && !n.within(e):
		return schemas.WaitCause_WAIT_CAUSE_GATE
	case !(queued && e.unranked) && n.capped(e.url):
		return schemas.WaitCause_WAIT_CAUSE_HOST_CAP
	case hold != 0:
		return hold
	case queued && e.unranked:
		return schemas.WaitCause_WAIT_CAUSE_RESCORING
	case h.failingSince > 0:
		return schemas.WaitCause_WAIT_CAUSE_HOST_UNREACHABLE
	case e.state == state.Waiting:
		return schemas.WaitCause_WAIT_CAUSE_RETRY
	case h.notBefore > 0:
		return h.rest
	case n.full(e):
		return schemas.WaitCause_WAIT_CAUSE_HOST_PAUSE
	}
	return schemas.WaitCause_WAIT_CAUSE_WINDOW
}

func (n *naive) hold() schemas.WaitCause {
	b, flying := n.ctl.GetBudget(), uint64(len(n.flights))
	switch {
	case n.stopped:
		return schemas.WaitCause_WAIT_CAUSE_STOPPED
	case b.GetPages() > 0 && n.pages+flying >= b.GetPages(), b.GetRequests() > 0 && n.requests+flying+n.asking() >= b.GetRequests():
		return schemas.WaitCause_WAIT_CAUSE_BUDGET
	case n.ctl.GetState() == schemas.CrawlState_CRAWL_STATE_PAUSED:
		return schemas.WaitCause_WAIT_CAUSE_PAUSED
	case n.since > 0:
		return schemas.WaitCause_WAIT_CAUSE_OUTAGE
	case n.modelDue(), n.hubsDue():
		return schemas.WaitCause_WAIT_CAUSE_STAGE
	}
	return 0
}

// waitsFor counts the URLs by what they wait for.
func (n *naive) waitsFor() (waits []*schemas.Wait) {
	urls := map[schemas.WaitCause]uint64{}
	if hold := n.hold(); hold != 0 {
		urls[hold] = 0
	}
	for _, e := range n.entries {
		if e.state == state.Queued || e.state == state.Waiting {
			urls[n.cause(e)]++
		}
	}
	const window = schemas.WaitCause_WAIT_CAUSE_WINDOW
	left, b := urls[window], n.ctl.GetBudget()
	if b.GetPages() > 0 && n.ctl.GetMixture() == nil {
		left = min(left, b.GetPages()-min(b.GetPages(), n.pages+uint64(len(n.flights))))
	}
	if b.GetRequests() > 0 && n.ctl.GetMixture() == nil {
		left = min(left, b.GetRequests()-min(b.GetRequests(), n.requests+uint64(len(n.flights))+n.asking()))
	}
	if beyond := urls[window] - left; beyond > 0 {
		urls[window], urls[schemas.WaitCause_WAIT_CAUSE_RANK] = left, beyond
	}
	for c, count := range urls {
		if object := ""; count > 0 || schemas.Holds(c) {
			if c == schemas.WaitCause_WAIT_CAUSE_STAGE {
				object = map[bool]string{true: "apprentice-train", false: "distill"}[n.modelDue()]
			}
			waits = append(waits, &schemas.Wait{Cause: c, Object: object, Urls: count})
		}
	}
	slices.SortFunc(waits, func(a, b *schemas.Wait) int { return int(a.GetCause() - b.GetCause()) })
	return waits
}
