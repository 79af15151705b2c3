package why

import (
	"fmt"

	"forager/internal/frontier/storage"
)

// RefusedPath is where prioritize decides about many URLs of one shard: the form parameters are crawl, and url and depth once for each.
const RefusedPath = Path + "/refused"

// Target is a URL to which a page leads, at a depth.
type Target struct {
	URL   string
	Depth uint32
}

// Refusal is the decision that keeps a URL from ever being requested.
type Refusal struct {
	// State is Unknown, Excluded or Queued.
	State State `json:"state"`
	// Depth is the least number of hops from a seed; of a URL that is not known, that of the target.
	Depth  uint32 `json:"depth"`
	Rule   string `json:"rule"`
	Reason string `json:"reason"`
}

// Refused decides about targets in a shard as Ask does: nil for a URL that was requested, or that no rule refuses now. The URL and depth
// of the question are not used.
func Refused(store storage.Store, of Question, targets []Target) ([]*Refusal, error) {
	q, err := open(store, of)
	if err != nil {
		return nil, fmt.Errorf("refused links of crawl %s: %w", of.Control.GetCrawl(), err)
	}
	all := make([]*Refusal, len(targets))
	for i, t := range targets {
		q.URL, q.Depth = t.URL, t.Depth
		e, err := q.decide()
		if err != nil {
			return nil, fmt.Errorf("explain %s of crawl %s: %w", t.URL, of.Control.GetCrawl(), err)
		}
		requested := e != nil && (e.Attempt > 0 || len(q.answer.Redirects) > 0)
		if d := q.answer.Deciding(); !requested && d != nil && !d.Passing() {
			all[i] = &Refusal{State: q.answer.State, Depth: q.answer.Depth, Rule: d.Rule, Reason: d.Reason}
		}
	}
	return all, nil
}
