package why

import (
	"fmt"
	"slices"
	"strings"

	"forager/internal/frontier/state"
)

// Of so many hosts the queues are read at least, or of all; and of more until so many keys were read.
const (
	leastHosts = 64
	mostHosts  = 4096
	mostKeys   = 20_000
)

// places describes the places of a queued entry.
func (q *question) places(e *state.Entry) error {
	a, policies := q.answer, q.Control.GetPolicies()
	if q.state.Counters.Unranked > 0 && (len(e.Places) == 0 || e.Places[0].Generation < q.state.Counters.ShapeBegan) || len(e.Places) != len(policies) {
		a.Decisions = append(a.Decisions, Decision{"ranker", false, "the rankers were changed, and it has no place under the new ones yet", "time alone: entries are placed in the background"})
		return nil
	}
	leading := 1
	if q.Control.GetMixture() != nil {
		leading = len(policies)
	}
	in := false
	for i, p := range e.Places {
		x := Place{Policy: policies[i].GetName(), In: p.In}
		if p.In {
			var err error
			x.Tier, x.Score = p.Tier, p.Score
			if x.Model, err = q.state.NameOf(p.Model); err != nil {
				return err
			}
			if x.Before, x.Exact, err = q.before(i, e.Order(i)); err != nil {
				return err
			}
		}
		in = in || p.In && i < leading
		a.Places = append(a.Places, x)
	}
	gate := Decision{Rule: "gate", Passed: in, Reason: "a ranker has a place for it"}
	if !in {
		gate.Reason = "the gate of the ranker (" + strings.Join(names(q, leading), ", ") + ") lets none of the links to it through: the pages that link to it are not relevant enough"
		gate.Change = "a relevant page that links to it, or another ranker (forager crawl ranker)"
	}
	a.Decisions = append(a.Decisions, gate)
	return nil
}

func names(q *question, n int) (all []string) {
	for _, p := range q.Control.GetPolicies()[:n] {
		all = append(all, p.GetName())
	}
	return all
}

// before counts the entries that come before a place under a policy, in the queues of the hosts of the shard; if there are many, from
// a sample of the hosts.
func (q *question) before(policy int, o state.Order) (n uint64, exact bool, err error) {
	hosts := uint64(q.state.Counters.Hosts)
	var keys, looked uint64
	for number := range sampled(hosts) {
		if looked >= mostHosts || looked >= leastHosts && keys >= mostKeys {
			break
		}
		m, err := q.beforeAt(policy, number, o)
		if err != nil {
			return 0, false, err
		}
		looked, keys = looked+1, keys+m
	}
	if looked == hosts {
		return keys, true, nil
	}
	return keys * hosts / max(looked, 1), false, nil
}

// sampled iterates over the numbers below n, in an order in which any beginning is spread evenly over them.
func sampled(n uint64) func(yield func(uint32) bool) {
	return func(yield func(uint32) bool) {
		step := max(1, n*618/1000)
		for gcd(step, n) > 1 {
			step++
		}
		for i := range n {
			if !yield(uint32(i * step % n)) {
				return
			}
		}
	}
}

func gcd(a, b uint64) uint64 {
	for b > 0 {
		a, b = b, a%b
	}
	return a
}

// beforeAt is before at one host.
func (q *question) beforeAt(policy int, host uint32, o state.Order) (n uint64, err error) {
	h, err := q.hosts.ReadHost(host)
	if err != nil {
		return 0, err
	}
	for _, f := range h.Fronts {
		if int(f.Policy) != policy || !f.Bound.Less(o) {
			continue
		}
		slot, err := q.state.Generations[policy].Slot(f.Generation)
		if err != nil {
			continue // a generation of former rankers
		}
		from := slices.Clone(q.state.Keys.Queue(f.Policy, f.Generation, host, f.Bound))
		to := slices.Clone(q.state.Keys.Queue(f.Policy, f.Generation, host, o))
		err = q.state.Store.Scan(from, to, func(key, _ []byte) (bool, error) {
			k, err := q.state.Keys.ParseQueue(key)
			if err != nil {
				return false, fmt.Errorf("queue of host %d: %w", host, err)
			}
			if !q.hosts.LeftBehind(policy, slot, k.Order.Ordinal) {
				n++
			}
			return n < mostKeys, nil
		})
		if err != nil {
			return 0, err
		}
	}
	return n, nil
}
