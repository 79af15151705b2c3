package why

import (
	"fmt"

	"forager/internal/frontier/state"
	"forager/internal/web/scope"
	"forager/schemas"
)

// refusals are what the reasons of package scope mean, and what would change them.
var refusals = map[scope.Reason]struct{ rule, reason, change string }{
	scope.OutOfHosts:     {"scope", "its host is not among scope.hosts", anotherScope},
	scope.OutOfPrefixes:  {"scope", "no prefix of scope.prefixes fits", anotherScope},
	scope.OutOfList:      {"scope", "it is not in the list of scope.url_list", anotherScope},
	scope.Depth:          {"depth", "it is too many links from a seed (scope.max_depth)", "a page nearer to a seed that links to it; give it as a seed (forager crawl seeds); or start another crawl with a larger scope.max_depth"},
	scope.TrapLength:     {"trap", "URLs of more than 2,048 bytes are taken for a trap", noChange},
	scope.TrapSegments:   {"trap", "paths of more than 24 segments are taken for a trap", noChange},
	scope.TrapRepeats:    {"trap", "a segment of its path is repeated more than four times, as in a trap", noChange},
	scope.TrapParameters: {"trap", "queries of more than 12 parameters are taken for a trap", noChange},
}

const (
	anotherScope = "start another crawl: the scope of one never changes"
	noChange     = "start another crawl with a URL list (scope.url_list) that has it: the guards do not look at those"
)

// rules applies the rules against a URL at a depth.
func rules(sc *scope.Scope, excludes *scope.Excludes, url string, depth uint32) []Decision {
	exclude := Decision{Rule: "exclude", Passed: true, Reason: "no exclude rule applies"}
	if rule := excludes.URL(url); rule != "" {
		exclude = Decision{"exclude", false, "the rule " + rule + " excludes it", "take the rule away (forager crawl change)"}
	}
	checked := Decision{Rule: "scope", Passed: true, Reason: fmt.Sprintf("it is within the scope at depth %d", depth)}
	if refused := sc.Check(url, depth); refused != "" {
		r := refusals[refused]
		checked = Decision{r.rule, false, r.reason, r.change}
		if refused == scope.Depth {
			checked.Reason += fmt.Sprintf(": %d", depth)
		}
	}
	return []Decision{exclude, checked}
}

// rests are why hosts are left alone.
var rests = [...]string{
	state.Resting:  "its pause or crawl delay is long, or an outage of the network has just ended",
	state.Refusing: "it has responded with 429 or 503",
	state.NoRobots: "its robots.txt cannot be read",
}

// ofHost are the decisions that follow from the host.
func (q *question) ofHost(h *Server) (all []Decision) {
	capped := Decision{Rule: "host-cap", Passed: true, Reason: "requests to a host are not limited"}
	if h.Cap > 0 {
		capped.Passed = h.Requests < h.Cap
		capped.Reason = fmt.Sprintf("%d of %d requests to its host were made (scope.host_cap)", h.Requests, h.Cap)
		if !capped.Passed {
			capped.Change = "start another crawl with a larger scope.host_cap"
		}
	}
	all = append(all, capped)
	switch {
	case h.GivenUp:
		all = append(all, Decision{"unreachable", false, fmt.Sprintf("its host has not answered since %s and was given up (host_patience)", clock(h.FailingSince)),
			"the host answers; forager crawl resume --retry-failed tries it at once"})
	case h.FailingSince > 0:
		all = append(all, Decision{"unreachable", false, fmt.Sprintf("its host has not answered since %s; next try at %s", clock(h.FailingSince), clock(h.NotBefore)), "the host answers"})
	case h.NotBefore > q.now:
		all = append(all, Decision{"pause", false, fmt.Sprintf("its host is left alone until %s: %s", clock(h.NotBefore), rests[h.rest]), "time alone"})
	}
	return all
}

// ofOutcome explains what followed from an outcome.
func ofOutcome(e *state.Entry) Decision {
	o := e.Outcome
	d := Decision{Rule: "outcome", Passed: o == schemas.Outcome_OUTCOME_DELIVERED, Reason: fmt.Sprintf("it was requested %d times; the last outcome is %s", e.Attempt, schemas.OutcomeName(o))}
	switch {
	case d.Passed:
		d.Reason = "it was fetched and judged"
	case schemas.Failed(o):
		d.Change = "forager dead lists the record and its error; forager dead replay tries again"
	case schemas.Repeatable(o):
		d.Rule, d.Change = "tries", "forager crawl resume --retry-failed tries it again"
	case o == schemas.Outcome_OUTCOME_ROBOTS_DISALLOWED:
		d.Rule, d.Reason, d.Change = "robots", "robots.txt of its host forbids it", "nothing in this crawl: robots.txt is obeyed"
	case o == schemas.Outcome_OUTCOME_EXCLUDED:
		d.Rule, d.Reason = "exclude", "its content type or language is excluded; it was fetched and not judged"
	case o == schemas.Outcome_OUTCOME_REDIRECTED:
		d.Rule, d.Reason = "redirect", "it redirects to a URL that the crawl may not fetch; ask about that one"
	}
	return d
}
