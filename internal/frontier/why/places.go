package why

import (
	"fmt"
	"slices"
	"strings"

	"forager/internal/frontier"
	"forager/internal/frontier/queue"
	"forager/internal/frontier/state"
	"forager/schemas"
)

// Of so many hosts the queues are read at least, or of all; and of more until so many keys were read.
const (
	leastHosts = 64
	mostHosts  = 4096
	mostKeys   = 20_000
)

// places describes the places of a queued entry.
func (q *question) places(e *state.Entry) error {
	if q.unranked(e) {
		return nil
	}
	for i, p := range e.Places {
		x := Place{Policy: q.Control.GetPolicies()[i].GetName(), In: p.In}
		if p.In {
			var err error
			x.Tier, x.Score = p.Tier, p.Score
			if p.Model != state.Unscored {
				if x.Model, err = q.state.NameOf(p.Model); err != nil {
					return err
				}
			}
			if x.Before, x.Exact, err = q.before(i, e.Order(i), false); err != nil {
				return err
			}
		}
		q.answer.Places = append(q.answer.Places, x)
	}
	return nil
}

// ofPlaces are the decisions that follow from the places of a queued entry.
func (q *question) ofPlaces(e *state.Entry) []Decision {
	if q.unranked(e) {
		return []Decision{{"ranker", false, "the rankers were changed, and it has no place under the new ones yet", "time alone: entries are placed in the background"}}
	}
	gate := Decision{Rule: "gate", Passed: q.within(e), Reason: "a ranker has a place for it"}
	if !gate.Passed {
		gate.Reason = "the gate of the ranker (" + strings.Join(names(q, q.leading()), ", ") + ") lets none of the links to it through: the pages that link to it are not relevant enough"
		gate.Change = "a relevant page that links to it, or another ranker (forager crawl ranker)"
	}
	all := []Decision{gate}
	if rule := q.groups.Rule(e.URL); rule != "" {
		all = append(all, Decision{"priority", true, "the rule " + rule + " puts it into other tiers than URLs of other hosts", "take the rule away (forager crawl change)"})
	}
	return all
}

func names(q *question, n int) (all []string) {
	for _, p := range q.Control.GetPolicies()[:n] {
		all = append(all, p.GetName())
	}
	return all
}

// unranked reports whether a queued entry has no places under the rankers that are in force.
func (q *question) unranked(e *state.Entry) bool {
	return q.state.Counters.Unranked > 0 && (len(e.Places) == 0 || e.Places[0].Generation < q.state.Counters.ShapeBegan) || len(e.Places) != len(q.Control.GetPolicies())
}

// leading is the number of policies that choose requests, the first ones.
func (q *question) leading() int {
	if q.Control.GetMixture() != nil {
		return len(q.Control.GetPolicies())
	}
	return 1
}

// within reports whether a policy that leads has a place for an entry.
func (q *question) within(e *state.Entry) bool {
	return slices.ContainsFunc(e.Places[:q.leading()], func(p state.Placed) bool { return p.In })
}

// cause is what an entry waits for that is queued, or for another try; without what concerns the whole crawl.
func (q *question) cause(e *state.Entry) (schemas.WaitCause, error) {
	queued := e.State == state.Queued
	switch {
	case queued && q.unranked(e):
		return schemas.WaitCause_WAIT_CAUSE_RESCORING, nil
	case queued && !q.within(e):
		return schemas.WaitCause_WAIT_CAUSE_GATE, nil
	}
	if q.flights == nil {
		flights, all, asking, err := frontier.InFlight(q.state)
		if err != nil {
			return 0, err
		}
		q.flights, q.left = flights, frontier.Left(q.Control, &q.state.Counters, all, asking)
	}
	h, err := q.hosts.ReadHost(e.Host)
	if err != nil {
		return 0, err
	}
	c, keys := q.hosts.Cause(h, q.flights[e.Host], !queued), q.state.Generations[0].Keys
	if c != schemas.WaitCause_WAIT_CAUSE_WINDOW || schemas.ShardsOf(q.Control) > 1 || q.Control.GetMixture() != nil || keys[state.SlotOld]+keys[state.SlotNew] <= q.left {
		return c, nil
	}
	if n, _, err := q.before(0, e.Order(0), true); err != nil || n < q.left {
		return c, err
	}
	return schemas.WaitCause_WAIT_CAUSE_RANK, nil
}

// before counts the entries that come before a place under a policy, in the queues of the hosts of the shard; if there are many, from
// a sample of the hosts. now: only of hosts that may be asked now.
func (q *question) before(policy int, o state.Order, now bool) (n uint64, exact bool, err error) {
	hosts := uint64(q.state.Counters.Hosts)
	var keys, looked uint64
	for number := range sampled(hosts) {
		if looked >= mostHosts || looked >= leastHosts && keys >= mostKeys {
			break
		}
		m, err := q.beforeAt(policy, number, o, now)
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
func (q *question) beforeAt(policy int, host uint32, o state.Order, now bool) (n uint64, err error) {
	h, err := q.hosts.ReadHost(host)
	if err != nil {
		return 0, err
	}
	if now && q.hosts.Cause(h, q.flights[host], false) != schemas.WaitCause_WAIT_CAUSE_WINDOW {
		return 0, nil
	}
	err = q.queueOf(policy, host, h, o, func(state.Order) bool {
		n++
		return n < mostKeys
	})
	return n, err
}

// queueOf calls f with the keys in the queues of a host under a policy that come before a place, those of each queue in their order, while
// it returns true.
func (q *question) queueOf(policy int, number uint32, h *queue.StoredHost, o state.Order, f func(state.Order) bool) error {
	for _, front := range h.Fronts {
		if int(front.Policy) != policy || !front.Bound.Less(o) {
			continue
		}
		slot, err := q.state.Generations[policy].Slot(front.Generation)
		if err != nil {
			continue // a generation of former rankers
		}
		from := slices.Clone(q.state.Keys.Queue(front.Policy, front.Generation, number, front.Bound))
		to := slices.Clone(q.state.Keys.Queue(front.Policy, front.Generation, number, o))
		err = q.state.Store.Scan(from, to, func(key, _ []byte) (bool, error) {
			k, err := q.state.Keys.ParseQueue(key)
			if err != nil {
				return false, fmt.Errorf("queue of host %d: %w", number, err)
			}
			return q.hosts.LeftBehind(policy, slot, k.Order.Ordinal) || f(k.Order), nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
