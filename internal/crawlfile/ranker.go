package crawlfile

import (
	"fmt"
	"strings"

	"forager/schemas"
)

// gateThreshold is R(u) from which a gated ranker lets u's links through: a page that is more
// likely on topic than not (2002 Fig. 1 names no number).
const gateThreshold = 0.5

func relevanceGate() *schemas.Gate {
	return &schemas.Gate{
		Condition: schemas.GateCondition_GATE_CONDITION_RELEVANCE,
		Action:    schemas.GateAction_GATE_ACTION_DEFER, Threshold: gateThreshold,
	}
}

func topicGate(a schemas.GateAction) *schemas.Gate {
	return &schemas.Gate{Condition: schemas.GateCondition_GATE_CONDITION_BEST_TOPIC, Action: a}
}

// Rankers are the policies that one word names, in the order in which they are shown.
//
//   - unfocused: first in, first out (1999)
//   - random: a fixed pseudo-random order (control)
//   - soft-focus: R(u), maximum over u (1999; 2002 Fig. 1)
//   - soft-focus-frozen: R of the first u (2002 §1, footnote 1)
//   - hard-focus: only links of pages whose best topic is a focus topic, first in, first out (1999)
//   - hard-defer: the same, the other links in a lower tier
//   - apprentice: Pr(high|u,v), maximum over u, soft focus until the switch (2002)
//   - apprentice-gated: the same, links of pages with R(u) < ½ in a lower tier
//   - gate-fifo, gate-random: the gate of apprentice-gated without its features (controls)
var Rankers = []string{
	"unfocused", "random", "soft-focus", "soft-focus-frozen", "hard-focus", "hard-defer",
	"apprentice", "apprentice-gated", "gate-fifo", "gate-random",
}

// Policy returns the policy that one of Rankers names.
func Policy(name string) (*schemas.Policy, error) {
	p := &schemas.Policy{Name: name}
	switch name {
	case "unfocused":
		p.Ranker = schemas.Ranker_RANKER_UNFOCUSED
	case "random":
		p.Ranker = schemas.Ranker_RANKER_RANDOM
	case "soft-focus":
		p.Ranker = schemas.Ranker_RANKER_SOFT_FOCUS
	case "soft-focus-frozen":
		p.Ranker, p.Combine = schemas.Ranker_RANKER_SOFT_FOCUS, schemas.Combine_COMBINE_FROZEN
	case "hard-focus":
		p.Ranker, p.Gate = schemas.Ranker_RANKER_UNFOCUSED, topicGate(schemas.GateAction_GATE_ACTION_DROP)
	case "hard-defer":
		p.Ranker, p.Gate = schemas.Ranker_RANKER_UNFOCUSED, topicGate(schemas.GateAction_GATE_ACTION_DEFER)
	case "apprentice":
		p.Ranker = schemas.Ranker_RANKER_APPRENTICE
	case "apprentice-gated":
		p.Ranker, p.Gate = schemas.Ranker_RANKER_APPRENTICE, relevanceGate()
	case "gate-fifo":
		p.Ranker, p.Gate = schemas.Ranker_RANKER_UNFOCUSED, relevanceGate()
	case "gate-random":
		p.Ranker, p.Gate = schemas.Ranker_RANKER_RANDOM, relevanceGate()
	default:
		return nil, fmt.Errorf("no ranker %q; known: %s", name, strings.Join(Rankers, ", "))
	}
	return p, nil
}
