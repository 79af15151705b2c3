package policy

import (
	"errors"
	"fmt"
	"math"

	"forager/schemas"
)

// Policy is a checked schemas.Policy that places URLs. It is immutable.
type Policy struct {
	name    string
	ranker  Ranker
	gate    gate
	combine schemas.Combine
	tiers   float64 // 0 = scores are not rounded
	learns  bool
	raise   bool
	guide   string // version; empty = none
	pages   bool   // it orders pages
}

// maxTiers bounds schemas.Policy.tiers; float64 cannot distinguish more.
const maxTiers = 1_000_000

// Numbers of schemas.Ranker that records of earlier versions may have.
const comparatorInterest, comparatorTagBandit schemas.Ranker = 10, 11

// New checks a policy; seed is the crawl's random seed.
func New(p *schemas.Policy, seed uint64) (*Policy, error) {
	out := &Policy{name: p.GetName(), combine: p.GetCombine(), raise: p.GetRaise()}
	if out.name == "" {
		return nil, errors.New("a policy has no name")
	}
	switch p.GetPosterior() {
	case schemas.Posterior_POSTERIOR_UNSPECIFIED, schemas.Posterior_POSTERIOR_RAW,
		schemas.Posterior_POSTERIOR_TEMPERED, schemas.Posterior_POSTERIOR_CALIBRATED,
		schemas.Posterior_POSTERIOR_LOG_ODDS, schemas.Posterior_POSTERIOR_TOPIC_LOG_ODDS:
	default:
		return nil, fmt.Errorf("policy %q: unknown posterior %v", out.name, p.GetPosterior())
	}
	if out.tiers = float64(p.GetTiers()); out.tiers > maxTiers {
		return nil, fmt.Errorf("policy %q: %d tiers, there can be %d", out.name, p.GetTiers(), maxTiers)
	}
	switch out.combine {
	case schemas.Combine_COMBINE_UNSPECIFIED:
		out.combine = schemas.Combine_COMBINE_MAXIMUM
	case schemas.Combine_COMBINE_FROZEN, schemas.Combine_COMBINE_MAXIMUM,
		schemas.Combine_COMBINE_MEAN_LOG_ODDS, schemas.Combine_COMBINE_NOISY_OR, schemas.Combine_COMBINE_MEAN_AND_MAXIMUM,
		schemas.Combine_COMBINE_COUNT:
	default:
		return nil, fmt.Errorf("policy %q: unknown combination %v", out.name, out.combine)
	}
	var err error
	if out.gate, err = newGate(p.GetGate(), p.GetPosterior()); err != nil {
		return nil, fmt.Errorf("policy %q: %w", out.name, err)
	}
	switch expand := p.GetExpand(); {
	case expand != schemas.Expand_EXPAND_LINK && expand != schemas.Expand_EXPAND_PAGE:
		return nil, fmt.Errorf("policy %q: unknown expansion %v", out.name, expand)
	case expand == schemas.Expand_EXPAND_PAGE && p.GetRanker() != schemas.Ranker_RANKER_GUIDE:
		return nil, fmt.Errorf("policy %q: pages are expanded by the order of a guide; it ranks by none", out.name)
	}
	switch p.GetRanker() {
	case schemas.Ranker_RANKER_UNFOCUSED:
		return out.With(unfocused{}), nil
	case schemas.Ranker_RANKER_RANDOM:
		return out.With(random{seed: seed}), nil
	case schemas.Ranker_RANKER_SOFT_FOCUS:
		out.ranker = softFocus{p.GetPosterior()}
	case schemas.Ranker_RANKER_LINK_VALUE: // until With sets what a shard has learned
		return out.With(softFocus{schemas.Posterior_POSTERIOR_CALIBRATED}), nil
	case schemas.Ranker_RANKER_ANCHOR:
		out.ranker = anchor{softFocus{p.GetPosterior()}}
	case schemas.Ranker_RANKER_APPRENTICE:
		out.ranker, out.learns = apprentice{softFocus{p.GetPosterior()}}, true
	case comparatorInterest, comparatorTagBandit:
		return nil, fmt.Errorf("policy %q: it ranks by a comparator, which only experiments have; choose another ranker", out.name)
	case schemas.Ranker_RANKER_GUIDE:
		if err := out.follow(p); err != nil {
			return nil, fmt.Errorf("policy %q: %w", out.name, err)
		}
	default:
		return nil, fmt.Errorf("policy %q: unknown ranker %v", out.name, p.GetRanker())
	}
	return out, nil
}

// follow makes the policy rank by a guide.
func (p *Policy) follow(by *schemas.Policy) error {
	if by.GetGuide() == "" {
		return errors.New("it ranks by a guide and names none")
	}
	if p.raise {
		return errors.New("it ranks by a guide, whose scores may be of any size: none is above all of them, as what hubs link to must be")
	}
	if p.combine != schemas.Combine_COMBINE_MAXIMUM && p.combine != schemas.Combine_COMBINE_FROZEN {
		return fmt.Errorf("scores of a guide are no probabilities: %v does not apply to them", p.combine)
	}
	p.ranker, p.guide = guided{softFocus{by.GetPosterior()}, by.GetGuide()}, by.GetGuide()
	p.pages = by.GetExpand() == schemas.Expand_EXPAND_PAGE
	return nil
}

// With returns the policy with another ranker, whose scores are any finite numbers, for instance an oracle. It combines by
// maximum unless the policy is frozen or counts, and reads no apprentice.
func (p *Policy) With(r Ranker) *Policy {
	q := *p
	q.ranker, q.tiers, q.learns, q.guide, q.pages = r, 0, false, "", false
	if q.combine != schemas.Combine_COMBINE_FROZEN && q.combine != schemas.Combine_COMBINE_COUNT {
		q.combine = schemas.Combine_COMBINE_MAXIMUM
	}
	return &q
}

// Name is the policy's name within its crawl.
func (p *Policy) Name() string { return p.name }

// Learns reports whether the policy ranks by the apprentice's model.
func (p *Policy) Learns() bool { return p.learns }

// ExpandsPages reports whether the policy orders pages: once it has chosen a link of a page, Source.Expanded is to be set
// for the page's other links (2000 §3.3).
func (p *Policy) ExpandsPages() bool { return p.pages }

// Guide returns the version of the guide that the policy ranks by, or "".
func (p *Policy) Guide() string { return p.guide }

// Tiers of a policy that ranks by a guide. Its scores have any size, so seeds, and links without guidance, have tiers of
// their own to come first and last.
const (
	expandedTier = 0
	guidedTier   = 1 // 2 if the gate defers the link
	unguidedTier = 3
)

// groupTiers is the number of tiers that a policy has for a group of hosts.
const groupTiers = 4

// lastSeed is the score of a seed under a policy that orders pages: "seeds start in the last queue" (2000 §3.3), the pages
// of which a guide scores below it.
const lastSeed = 0

// Tier returns the tier of the link; in is false if the link never enters the frontier. It does not depend on models.
func (p *Policy) Tier(s *Source) (tier uint32, in bool) {
	tier, in = p.tierInGroup(s)
	return tier + s.Group*groupTiers, in
}

func (p *Policy) tierInGroup(s *Source) (tier uint32, in bool) {
	tier, in = p.gate.tier(s)
	switch {
	case s.Seed && p.pages:
		return guidedTier, in
	case p.guide == "" || s.Seed || !in:
		return tier, in
	case s.Expanded && p.pages:
		return expandedTier, true
	}
	if _, ok := s.guided(p.guide); !ok {
		return unguidedTier, true
	}
	return guidedTier + tier, true
}

// Counts reports whether Add changes a place of v by a link, where best is the best tier of v's links. It does not depend
// on models.
func (p *Policy) Counts(s *Source, best uint32) bool {
	tier, in := p.Tier(s)
	return in && tier <= best
}

// Place is the place of v under a policy after some of its links were added. The zero Place is v without links.
type Place struct {
	// In: v is in the frontier under this policy; false if every link was dropped.
	In bool
	// Pinned: a seed link was added; no further link changes the place.
	Pinned bool
	// Tier sorts before everything else, ascending; 0 unless the gate deferred every link. Under a guide: seeds 0, links
	// with guidance 1, those that the gate deferred 2, and 3 if no link has guidance. If it orders pages, 0 is that of
	// pages being expanded, and seeds have 1. Source.Group adds to it four times.
	Tier uint32
	// Score of v, and the best score of a single link in its tier.
	Score, Best float64
	// Via is the number, as given to Add, of the first link with the score Best.
	Via uint64
	// Links and Sum are the state of the combination of the links in the tier: their number (where it counts) and the sum
	// of their log-odds (where their mean is used), or the product of 1 − score (noisy-or).
	Links uint32
	Sum   float64
}

// Add returns the place of v after one more link, s; via is the caller's number for it. Links come in the order of their
// discovery. It returns an error if the ranker returns NaN or an infinity.
func (p *Policy) Add(at Place, v string, s *Source, via uint64) (Place, error) {
	if at.Pinned {
		return at, nil
	}
	tier, in := p.Tier(s)
	if !in || (at.In && tier > at.Tier) { // pinned seeds are of the first tier of their group
		return at, nil
	}
	score := p.ranker.Score(v, s)
	if math.IsNaN(score) || math.IsInf(score, 0) {
		return at, fmt.Errorf("policy %q scores %s as %v", p.name, v, score)
	}
	if s.Seed && p.combine == schemas.Combine_COMBINE_COUNT {
		score = seedScore // instead of the ranker's score
	}
	switch {
	case s.Seed && p.pages:
		score = lastSeed
	case s.Seed:
		return Place{In: true, Pinned: true, Tier: tier, Score: score, Best: score, Via: via}, nil
	}
	first := !at.In || tier < at.Tier
	at = combine(p.combine, at, score, first)
	if rounded := math.Round(at.Score*p.tiers) / p.tiers; p.tiers > 0 && !math.IsInf(rounded, 0) { // a guide's score may overflow
		at.Score = rounded
	}
	if p.raise && s.Raised {
		at.Score = RaisedScore
	}
	if first || (score > at.Best && p.combine != schemas.Combine_COMBINE_FROZEN) {
		at.Best, at.Via = score, via
	}
	at.In, at.Tier = true, tier
	return at, nil
}
