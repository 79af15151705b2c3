package why

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"forager/schemas"
)

// State is where a URL is.
type State string

// The states.
const (
	// Unknown: no link to it was taken up.
	Unknown State = "unknown"
	// Excluded: a rule keeps it out of the queues.
	Excluded State = "excluded"
	// Queued: it is to be fetched when its turn comes, if it has a place.
	Queued State = "queued"
	// Waiting: a try failed, and the next one is at Answer.NextTry.
	Waiting State = "waiting"
	// InFlight: it was requested, and has no verdict yet.
	InFlight State = "in flight"
	// Final: it has its outcome.
	Final State = "final"
	// Elsewhere: it redirected to a URL on a host of another shard, the last of Answer.Redirects.
	Elsewhere State = "elsewhere"
)

// Answer is what is known of a URL.
type Answer struct {
	Crawl string `json:"crawl"`
	URL   string `json:"url"`
	// Redirects are the URLs to which it redirected, in turn; all below is about the last one.
	Redirects []string `json:"redirects,omitempty"`
	Shard     uint32   `json:"shard"`
	State     State    `json:"state"`
	// Depth is the least number of hops from a seed; of a URL that is not known, as in the question.
	Depth uint32 `json:"depth"`
	// Attempts are requests so far, Tries those that failed; NextTry is when the next one may be, Unix milliseconds.
	Attempts uint32 `json:"attempts"`
	Tries    uint32 `json:"tries"`
	NextTry  int64  `json:"next_try,omitempty"`
	// Outcome of a final one, and its relevance if it was delivered.
	Outcome   string   `json:"outcome,omitempty"`
	Relevance *float64 `json:"relevance,omitempty"`
	// Dispatch has the circumstances of the newest request.
	Dispatch *Dispatch `json:"dispatch,omitempty"`
	// Cause is what it waits for, of the causes of CrawlStatus.waits, while it is queued or waits.
	Cause string `json:"cause,omitempty"`
	// Places has one element a policy, while it is queued.
	Places []Place `json:"places,omitempty"`
	// Links are pages that link to it, in the order in which they were found, until it has its outcome; MoreLinks: there are others.
	Links     []Link  `json:"links,omitempty"`
	MoreLinks bool    `json:"more_links,omitempty"`
	Host      *Server `json:"host,omitempty"`
	// Decisions in the order in which they are taken. The first that is not Passed decides.
	Decisions []Decision `json:"decisions"`
}

// Dispatch is the choice of a request.
type Dispatch struct {
	Policy string  `json:"policy"`
	Model  string  `json:"model,omitempty"`
	Tier   uint32  `json:"tier"`
	Score  float64 `json:"score"`
	// Ordinal among the requests of the shard, from 1.
	Ordinal uint64 `json:"ordinal"`
}

// Place is that of a queued URL under a policy.
type Place struct {
	Policy string `json:"policy"`
	// In: the gate of the policy lets it through.
	In    bool    `json:"in"`
	Tier  uint32  `json:"tier"`
	Score float64 `json:"score"`
	Model string  `json:"model,omitempty"`
	// Before is how many URLs of the shard come before it, an estimate unless Exact. Those of hosts that may not be asked now are
	// counted, too.
	Before uint64 `json:"before"`
	Exact  bool   `json:"exact"`
	// Value explains the score under a ranker that learns what links are worth; the score may be older.
	Value *Value `json:"value,omitempty"`
}

// Value is that of a URL by such a ranker (linkvalue.Explanation).
type Value struct {
	// Relevance that is expected of the URL, and Behind the relevant pages that are expected to be found on it beyond those of as many
	// average pages.
	Relevance float64 `json:"relevance"`
	Behind    float64 `json:"behind"`
	// Parts are the shares of the features.
	Parts []Part `json:"parts"`
}

// Part is the share of a feature in a value: Amount of the feature, and what it adds to the log odds of the relevance and to the
// logarithm of what is behind.
type Part struct {
	Feature string `json:"feature"`
	// From is the page whose link has given it; empty where it is of all links.
	From      string  `json:"from,omitempty"`
	Amount    float64 `json:"amount"`
	Relevance float64 `json:"relevance"`
	Behind    float64 `json:"behind"`
}

// Link is one from a page to the URL.
type Link struct {
	// From is the page; empty: the URL is a seed.
	From string `json:"from,omitempty"`
	// Relevance of the page.
	Relevance float64 `json:"relevance"`
	// Words of the link's text, as the apprentice reads them.
	Words string `json:"words,omitempty"`
	// Named is the URL that the link names, if that redirected here.
	Named string `json:"named,omitempty"`
	// Best: the place under the first policy follows from this link.
	Best bool `json:"best,omitempty"`
}

// Server is the host of the URL.
type Server struct {
	Name string `json:"name"`
	// Requests that count for the cap of a host; Cap is 0 without one.
	Requests uint64 `json:"requests"`
	Cap      uint64 `json:"cap,omitempty"`
	// NotBefore: no request to it before, Unix milliseconds.
	NotBefore int64 `json:"not_before,omitempty"`
	// FailingSince is when it was first found unreachable, Unix milliseconds; GivenUp: the crawl does not wait for it any more.
	FailingSince int64 `json:"failing_since,omitempty"`
	GivenUp      bool  `json:"given_up,omitempty"`
	// rest is why it is left alone until NotBefore: state.Resting, Refusing or NoRobots.
	rest int
}

// Decision is the result of a rule.
type Decision struct {
	// Rule is a word: exclude, scope, depth, trap, host-cap, gate, unreachable, pause, tries, outcome …
	Rule   string `json:"rule"`
	Passed bool   `json:"passed"`
	Reason string `json:"reason"`
	// Change is what would change the decision; empty where it is passed, or nothing would.
	Change string `json:"change,omitempty"`
}

// RuleCrawl is the rule of a decision about all URLs of a crawl, which is not from the state of a shard.
const RuleCrawl = "crawl"

// forAWhile are the rules that only hold a URL back for a while, the most general first. All others refuse it.
var forAWhile = []string{RuleCrawl, "unreachable", "pause", "ranker"}

// Passing reports whether the decision only holds the URL back for a while.
func (d *Decision) Passing() bool { return slices.Contains(forAWhile, d.Rule) }

// Deciding returns the decision that keeps the URL from being fetched: the first that refuses it, or else the most general one that
// holds it back for a while; nil if there is none.
func (a *Answer) Deciding() (deciding *Decision) {
	for i := range a.Decisions {
		switch d := &a.Decisions[i]; {
		case d.Passed:
		case !d.Passing():
			return d
		case deciding == nil || slices.Index(forAWhile, d.Rule) < slices.Index(forAWhile, deciding.Rule):
			deciding = d
		}
	}
	return deciding
}

// CauseUnder is a cause of a URL, or empty, in a crawl that is held for a cause (schemas.Holds), or not if that is 0: as for each URL in
// CrawlStatus.waits, the first cause of their order counts.
func CauseUnder(cause string, hold schemas.WaitCause) string {
	if cause == "" || hold == 0 || cause == schemas.WaitName(schemas.WaitCause_WAIT_CAUSE_GATE) || cause == schemas.WaitName(schemas.WaitCause_WAIT_CAUSE_HOST_CAP) {
		return cause
	}
	return schemas.WaitName(hold)
}

// Sentence describes where the URL is.
func (a *Answer) Sentence() string {
	d := a.Deciding()
	switch a.State {
	case Unknown:
		switch {
		case d == nil:
			return "The crawl does not know it; it would be queued if a page that is fetched linked to it"
		case d.Passing():
			return "The crawl does not know it; it would be queued if a page that is fetched linked to it, and wait: " + d.Reason
		}
		return "The crawl does not know it, and would refuse it: " + d.Reason
	case Excluded:
		if d == nil {
			return "It is excluded by a rule that is no longer in force, and is about to be queued again"
		}
		return "It is known and not fetched: " + d.Reason
	case InFlight:
		return fmt.Sprintf("It was requested (attempt %d) and has no verdict yet", a.Attempts)
	case Waiting:
		return fmt.Sprintf("It waits for another try at %s, %d failed", clock(a.NextTry), a.Tries)
	case Final:
		return "It has its outcome: " + a.Outcome
	case Elsewhere:
		return "It redirects to a host of another shard"
	}
	if d != nil {
		return "It is queued and cannot be fetched now: " + d.Reason
	}
	var places []string
	for _, p := range a.Places {
		if p.In {
			about := "about "
			if p.Exact {
				about = ""
			}
			places = append(places, fmt.Sprintf("%s%d before it under %s", about, p.Before, p.Policy))
		}
	}
	return "It is queued: " + strings.Join(places, ", ")
}

// clock is a time of day, with its date.
func clock(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02 15:04:05Z") }
