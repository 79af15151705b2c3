package policy

import (
	"fmt"

	"forager/schemas"
)

// gate checks u before its links are scored (2002 Fig. 1).
type gate struct {
	condition schemas.GateCondition
	drop      bool
	threshold float64
	posterior schemas.Posterior
}

func newGate(g *schemas.Gate, posterior schemas.Posterior) (gate, error) {
	out := gate{condition: g.GetCondition(), threshold: g.GetThreshold(), posterior: posterior}
	if posterior == schemas.Posterior_POSTERIOR_LOG_ODDS || posterior == schemas.Posterior_POSTERIOR_TOPIC_LOG_ODDS {
		out.posterior = schemas.Posterior_POSTERIOR_RAW
	}
	switch out.condition {
	case schemas.GateCondition_GATE_CONDITION_NONE:
		return out, nil
	case schemas.GateCondition_GATE_CONDITION_RELEVANCE:
		if !(out.threshold >= 0 && out.threshold <= 1) { // also NaN
			return out, fmt.Errorf("gate threshold %v is not in [0,1]", out.threshold)
		}
	case schemas.GateCondition_GATE_CONDITION_BEST_TOPIC:
	default:
		return out, fmt.Errorf("unknown gate condition %v", out.condition)
	}
	switch g.GetAction() {
	case schemas.GateAction_GATE_ACTION_DROP:
		out.drop = true
	case schemas.GateAction_GATE_ACTION_DEFER:
	default:
		return out, fmt.Errorf("gate condition %v has the unknown action %v", out.condition, g.GetAction())
	}
	return out, nil
}

// tier returns the tier of the link; in is false if the link never enters the frontier.
func (g gate) tier(s *Source) (tier uint32, in bool) {
	if g.passes(s) {
		return 0, true
	}
	return 1, !g.drop
}

func (g gate) passes(s *Source) bool {
	if s.Seed {
		return true
	}
	switch g.condition {
	case schemas.GateCondition_GATE_CONDITION_RELEVANCE:
		return s.relevance(g.posterior) >= g.threshold
	case schemas.GateCondition_GATE_CONDITION_BEST_TOPIC:
		return s.BestIsFocus
	}
	return true
}
