package crawlfile

import (
	"fmt"
	"maps"
	"slices"
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
//   - soft-focus-odds: soft focus by the log odds of R(u), which differ where R(u) rounds to 0 or 1
//   - soft-focus-topics: the same among the classes that are subjects, without Other, listing and navigation
//   - hard-focus: only links of pages whose best topic is a focus topic, first in, first out (1999)
//   - hard-defer: the same, the other links in a lower tier
//   - apprentice: Pr(high|u,v), maximum over u, soft focus until the switch (2002)
//   - apprentice-gated: the same, links of pages with R(u) < ½ in a lower tier
//   - gate-fifo, gate-random: the gate of apprentice-gated without its features (controls)
//   - smooth-soft-focus: half mean, half maximum of the log odds of calibrated R(u)
//   - anchor-soft-focus: the same of the mean log odds of R(u) and of the critic's score of the link's text
//   - tiered-soft-focus: R(u) to the tenth, maximum over u, first in, first out within a tenth
//   - in-links: the number of known links to v, most first (Cho, Garcia-Molina & Page 1998)
//   - soft-focus-distilled: soft focus, and before everything else the targets of the best hubs among the
//     pages fetched so far (1999; stage distill)
//   - link-value: the relevance expected of a link's target by what other links of its sources led to (package linkvalue)
//   - mixture: Arms, of which one is drawn before each dispatch by the relevance that it has brought
//
// Any of them but the last, with "+" between them, are the arms of another mixture.
var Rankers = []string{
	"unfocused", "random", "soft-focus", "soft-focus-frozen", "soft-focus-odds", "soft-focus-topics", "hard-focus", "hard-defer",
	"apprentice", "apprentice-gated", "gate-fifo", "gate-random",
	"smooth-soft-focus", "anchor-soft-focus", "tiered-soft-focus", "in-links", "soft-focus-distilled", "link-value",
	mixture,
}

const mixture = "mixture"

// DefaultRanker is that of a crawl file that names none (docs/decisions/0112).
const DefaultRanker = "link-value"

// Arms are the rankers of the mixture that is named so (docs/decisions/0112).
var Arms = []string{"anchor-soft-focus", "tiered-soft-focus", "apprentice-gated", "hard-defer", "gate-fifo"}

// Guides are the rankers that rank by a model of pages that is trained before the crawl (package guide); a published guide
// has to be named for each.
//
//   - context-graph: layer of u, then likelihood (2000); focused-2000: likelihood of layer 0 (2000 §4)
//   - best-first-cosine: the largest cosine of u to a target (2008 §4.2)
//   - memm-marginal, memm-viterbi, memm-states: distance along the path (2008)
//   - link-predicate: the scores of links by an HTTP service
var Guides = []string{
	"context-graph", "focused-2000", "best-first-cosine", "memm-marginal", "memm-viterbi", "memm-states",
	"link-predicate",
}

// Ranking is what a ranker sets in a control record.
type Ranking struct {
	Policies []*schemas.Policy
	// Mixture is nil where there is one policy.
	Mixture *schemas.Mixture
}

// Rank returns what one of Rankers, or several with "+" between them, sets.
func Rank(name string) (*Ranking, error) { return RankBy(name, nil) }

// RankBy is Rank for rankers that may also be in Guides; guides maps these to published guides, names or versions.
// Each key of guides must be one of the rankers.
func RankBy(name string, guides map[string]string) (*Ranking, error) {
	arms := strings.Split(name, "+")
	if name == mixture {
		arms = Arms
	}
	for _, g := range slices.Sorted(maps.Keys(guides)) {
		switch {
		case !slices.Contains(arms, g):
			return nil, fmt.Errorf("guides: %q is no ranker of %s", g, name)
		case slices.Contains(Rankers, g):
			return nil, fmt.Errorf("guides: %q ranks without one", g)
		case !crawlName.MatchString(g):
			return nil, fmt.Errorf("guides: %q is not a name of 1–64 of a–z, 0–9, \"-\" and \"_\"", g)
		case guides[g] == "":
			return nil, fmt.Errorf("guides: %q names no published guide", g)
		}
	}
	r := new(Ranking)
	for i, arm := range arms {
		if slices.Contains(arms[:i], arm) {
			return nil, fmt.Errorf("%s is an arm of %s twice", arm, name)
		}
		p, err := policyBy(arm, guides[arm])
		if err != nil {
			return nil, err
		}
		r.Policies = append(r.Policies, p)
	}
	if len(arms) > 1 {
		r.Mixture = new(schemas.Mixture)
	}
	return r, nil
}

// Shadows returns the policies that are recorded and choose nothing (CrawlControl.ranker_shadows), in addition to those that
// choose: any of Rankers but mixture, or of Guides with published ones. Each has the guide of its name, if there is one.
func Shadows(names []string, guides map[string]string, neighbour []*schemas.Policy) (shadows []*schemas.Policy, err error) {
	if len(names) > maxShadows {
		return nil, fmt.Errorf("there are %d shadows of rankers, %d can be", len(names), maxShadows)
	}
	for _, name := range names {
		p, err := policyBy(name, guides[name])
		if name == mixture {
			err = fmt.Errorf("mixture draws among orders and is none; its arms can be shadows, each by itself: %s", strings.Join(Arms, ", "))
		}
		if err != nil {
			return nil, err
		}
		same := func(other *schemas.Policy) bool { return other.GetName() == name }
		if slices.ContainsFunc(neighbour, same) || slices.ContainsFunc(shadows, same) {
			return nil, fmt.Errorf("%s ranks the crawl already", name)
		}
		shadows = append(shadows, p)
	}
	return shadows, nil
}

// maxShadows is the largest number of shadows of a crawl.
const maxShadows = 4

// policyBy is Policy, or a policy that ranks by a guide if there is one.
func policyBy(name, guide string) (*schemas.Policy, error) {
	if guide != "" {
		return &schemas.Policy{Name: name, Ranker: schemas.Ranker_RANKER_GUIDE, Guide: guide}, nil
	}
	if slices.Contains(Guides, name) {
		return nil, fmt.Errorf("%s ranks by a guide: name a published one (guides: {%s: NAME}; forager guide makes them)", name, name)
	}
	return Policy(name)
}

// NameOf is the argument of Rank from which a crawl's policies came; other policies are named one by one.
func NameOf(ctl *schemas.CrawlControl) string {
	names := make([]string, len(ctl.GetPolicies()))
	for i, p := range ctl.GetPolicies() {
		names[i] = p.GetName()
	}
	if ctl.GetMixture() != nil && slices.Equal(names, Arms) {
		return mixture
	}
	return strings.Join(names, "+")
}

// Policy returns the policy that one of Rankers names; the mixture is not a policy.
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
	case "soft-focus-odds":
		p.Ranker, p.Posterior = schemas.Ranker_RANKER_SOFT_FOCUS, schemas.Posterior_POSTERIOR_LOG_ODDS
	case "soft-focus-topics":
		p.Ranker, p.Posterior = schemas.Ranker_RANKER_SOFT_FOCUS, schemas.Posterior_POSTERIOR_TOPIC_LOG_ODDS
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
	case "smooth-soft-focus":
		p.Ranker, p.Posterior = schemas.Ranker_RANKER_SOFT_FOCUS, schemas.Posterior_POSTERIOR_CALIBRATED
		p.Combine = schemas.Combine_COMBINE_MEAN_AND_MAXIMUM
	case "anchor-soft-focus":
		p.Ranker, p.Posterior = schemas.Ranker_RANKER_ANCHOR, schemas.Posterior_POSTERIOR_CALIBRATED
		p.Combine = schemas.Combine_COMBINE_MEAN_AND_MAXIMUM
	case "tiered-soft-focus":
		p.Ranker, p.Tiers = schemas.Ranker_RANKER_SOFT_FOCUS, 10
	case "in-links":
		p.Ranker, p.Combine = schemas.Ranker_RANKER_UNFOCUSED, schemas.Combine_COMBINE_COUNT
	case "soft-focus-distilled":
		p.Ranker, p.Raise = schemas.Ranker_RANKER_SOFT_FOCUS, true
	case "link-value":
		p.Ranker = schemas.Ranker_RANKER_LINK_VALUE
	case "interest", "tag-bandit", "fish-search", "shark-search", "rennie-mccallum":
		return nil, fmt.Errorf("%s is a comparator of the laboratory: run it by forager-lab experiment; rankers of crawls: %s", name, strings.Join(Rankers, ", "))
	case mixture:
		return nil, fmt.Errorf("mixture is no arm of another one; name its arms: %s", strings.Join(Arms, "+"))
	default:
		return nil, fmt.Errorf("no ranker %q; known: %s; with a published guide: %s", name, strings.Join(Rankers, ", "), strings.Join(Guides, ", "))
	}
	return p, nil
}
