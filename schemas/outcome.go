package schemas

import "strings"

// Consequence defines what follows from an outcome.
type Consequence struct {
	// Page: charged to Budget.pages, and counted in harvest and loss.
	Page bool
	// Request: charged to Budget.requests.
	Request bool
	// Final: the URL is completed and its leaps are settled. Otherwise prioritize continues with it
	// (another attempt, or the redirect's target).
	Final bool
	// Trains: the settled leaps have an R(v) and may be used for training.
	Trains bool
	// Retry: prioritize tries again while Politeness allows: with Charged tries counted
	// against max_attempts where Request is true, without a limit where it is false.
	Retry bool
	// Unreachable: no web server was reached, for a reason that is not the URL's.
	Unreachable Unreachable
}

// Unreachable is what could not be reached.
type Unreachable int

const (
	// UnreachableNothing: the outcome is no outage.
	UnreachableNothing Unreachable = iota
	// UnreachableHost: the URL's host alone; its URLs wait for it (CrawlControl.host_patience_s).
	UnreachableHost
	// UnreachableNetwork: no host can be reached; the crawl waits.
	UnreachableNetwork
)

// Outcomes has the consequences of every outcome. A retried outcome becomes final when the tries
// are used up.
//
// Only a delivered page has a relevance: a 404, a timeout or a robots refusal settles the leaps
// that led to it, so that nothing waits for them, but is no training sample.
var Outcomes = map[Outcome]Consequence{
	Outcome_OUTCOME_DELIVERED:              {Page: true, Request: true, Final: true, Trains: true},
	Outcome_OUTCOME_NOT_HTML:               {Request: true, Final: true},
	Outcome_OUTCOME_CLIENT_ERROR:           {Request: true, Final: true},
	Outcome_OUTCOME_SERVER_ERROR:           {Request: true, Retry: true},
	Outcome_OUTCOME_TIMEOUT:                {Request: true, Retry: true},
	Outcome_OUTCOME_CONNECTION_FAILED:      {Request: true, Retry: true},
	Outcome_OUTCOME_REDIRECTED:             {},
	Outcome_OUTCOME_BAD_REDIRECT:           {Request: true, Final: true},
	Outcome_OUTCOME_DEFERRED:               {Retry: true},
	Outcome_OUTCOME_ROBOTS_DISALLOWED:      {Final: true},
	Outcome_OUTCOME_REFUSED:                {Final: true},
	Outcome_OUTCOME_CANCELLED:              {Retry: true},
	Outcome_OUTCOME_FAILED_FETCH:           {Request: true, Final: true},
	Outcome_OUTCOME_FAILED_PARSE_DOM:       {Request: true, Final: true},
	Outcome_OUTCOME_FAILED_CRITIC_SCORE:    {Request: true, Final: true},
	Outcome_OUTCOME_FAILED_FEATURE_EXTRACT: {Request: true, Final: true},
	Outcome_OUTCOME_SEEDS:                  {},
	Outcome_OUTCOME_REPLAY:                 {},
	Outcome_OUTCOME_NETWORK_UNREACHABLE:    {Retry: true, Unreachable: UnreachableNetwork},
	Outcome_OUTCOME_HOST_UNREACHABLE:       {Retry: true, Unreachable: UnreachableHost},
	Outcome_OUTCOME_RETRY_FAILED:           {},
	Outcome_OUTCOME_EXCLUDED:               {Request: true, Final: true},
	Outcome_OUTCOME_ROBOTS_UNAVAILABLE:     {Retry: true},
}

// Virtual reports whether a record of link.found with this outcome belongs to no request: it comes
// from an operator.
func Virtual(o Outcome) bool {
	return o == Outcome_OUTCOME_SEEDS || o == Outcome_OUTCOME_REPLAY || o == Outcome_OUTCOME_RETRY_FAILED
}

// Deferred reports whether a request with this outcome counts for no limit and is made again.
func Deferred(o Outcome) bool { return Outcomes[o].Retry && !Outcomes[o].Request }

// Repeatable reports whether a URL whose tries were used up with this outcome may be tried again by
// OUTCOME_RETRY_FAILED: the failure may have passed since.
func Repeatable(o Outcome) bool { return Outcomes[o].Retry && Outcomes[o].Request }

// Failed reports whether a stage could not handle a record of the request, which is in dead.letter.
func Failed(o Outcome) bool {
	switch o {
	case Outcome_OUTCOME_FAILED_FETCH, Outcome_OUTCOME_FAILED_PARSE_DOM, Outcome_OUTCOME_FAILED_CRITIC_SCORE, Outcome_OUTCOME_FAILED_FEATURE_EXTRACT:
		return true
	}
	return false
}

// OutcomeName returns the outcome in readable form: "delivered", "failed:parse-dom".
func OutcomeName(o Outcome) string {
	name := strings.ToLower(strings.TrimPrefix(o.String(), "OUTCOME_"))
	if stage, ok := strings.CutPrefix(name, "failed_"); ok {
		return "failed:" + strings.ReplaceAll(stage, "_", "-")
	}
	return strings.ReplaceAll(name, "_", "-")
}

// LeapOutcome returns the outcome of a leap in readable form; empty for a boundary.
func LeapOutcome(o Outcome, boundary bool) string {
	if boundary {
		return ""
	}
	return OutcomeName(o)
}

// NoOffset is Feature.offset of a term that has no DOM offset (a topic feature).
const NoOffset = 127
