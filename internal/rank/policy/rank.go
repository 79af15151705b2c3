package policy

import (
	"math"
	"math/bits"

	"github.com/cespare/xxhash/v2"

	"forager/schemas"
)

// Source is one link (u,v), the input of rankers and gates.
type Source struct {
	// Seed: a link of the virtual page that has the seeds; no other field but Group is set.
	Seed bool
	// URL of u, for rankers with other knowledge of pages (experiments).
	URL string
	// Raw, Tempered and Calibrated are R(u), [0,1].
	Raw, Tempered, Calibrated float64
	// LogOdds of Raw, and TopicLogOdds among topics only, finite (schemas.LogOddsOf).
	LogOdds, TopicLogOdds float64
	// Anchor is R of the link's own words, [0,1]; HasAnchor reports whether the critic has judged it.
	Anchor    float64
	HasAnchor bool
	// Raised: a hub links to v (schemas.HubRanked.raised), the same for all links of v.
	Raised bool
	// Group of the host of v, the same for all links of v: groups come one after another, 0 first (scope.Priority), at most 62.
	Group uint32
	// BestIsFocus: u's best class is a focus topic.
	BestIsFocus bool
	// High is Pr(high | u,v) of the apprentice's model, [0,1]; HasHigh reports whether there is one.
	High    float64
	HasHigh bool
	// Expanded: another link of u was chosen by a policy that orders pages (Policy.ExpandsPages).
	Expanded bool
	// Guided is the guidance for the link, one for each guide; valid during a call only.
	Guided []Guided
}

// Guided is the guidance of one guide for a link.
type Guided struct {
	// Guide is its version, "name/digest".
	Guide string
	// Score is any finite number.
	Score float64
}

// guided returns the score that a guide gave the link, or the last one of another version of the guide if this one has not
// scored it; ok is false if there is neither.
func (s *Source) guided(guide string) (score float64, ok bool) {
	name := schemas.ModelName(guide)
	for i := range s.Guided {
		g := &s.Guided[i]
		if g.Guide == guide {
			return g.Score, true
		}
		if schemas.ModelName(g.Guide) == name {
			score, ok = g.Score, true
		}
	}
	return score, ok
}

// Ranker scores one link to v, a canonical URL; higher is fetched earlier. The score is a function of the arguments and of
// state whose changes are announced by Shard.Reconsider; NaN and infinities are errors. Rankers of one process share no
// mutable state.
type Ranker interface {
	Score(v string, s *Source) float64
}

// seedScore is the score of a seed in the built-in rankers; only raised URLs score higher.
const seedScore = 1

// RaisedScore is the score of v, under a policy that raises, if a hub links to it: more than any R.
const RaisedScore = 2

// unfocused is first in, first out (1999): all scores are equal, so first discovery decides.
type unfocused struct{}

func (unfocused) Score(string, *Source) float64 { return 0 }

// softFocus is R(u) (1999; 2002 Fig. 1).
type softFocus struct{ posterior schemas.Posterior }

func (r softFocus) Score(_ string, s *Source) float64 {
	if s.Seed {
		return seedScore
	}
	return s.relevance(r.posterior)
}

// relevance returns R(u) by the posterior; raw by default.
func (s *Source) relevance(p schemas.Posterior) float64 {
	switch p {
	case schemas.Posterior_POSTERIOR_TEMPERED:
		return s.Tempered
	case schemas.Posterior_POSTERIOR_CALIBRATED:
		return s.Calibrated
	case schemas.Posterior_POSTERIOR_LOG_ODDS:
		return inUnit(s.LogOdds)
	case schemas.Posterior_POSTERIOR_TOPIC_LOG_ODDS:
		return inUnit(s.TopicLogOdds)
	}
	return s.Raw
}

// inUnit maps log odds to (0,1), ½ at 0: unlike probabilities, those of long pages do not round to 0 and 1.
func inUnit(odds float64) float64 {
	const half = 50 // from here to infinity is half of the way from ½ to 1
	return .5 + .5*odds/(math.Abs(odds)+half)
}

// apprentice is Pr(high | u,v) (2002 §2.2), and soft focus while there is no model (§3.7).
type apprentice struct{ softFocus }

func (r apprentice) Score(v string, s *Source) float64 {
	if s.HasHigh {
		return s.High
	}
	return r.softFocus.Score(v, s)
}

// anchor takes R(u) as the prior odds that v is relevant, and the critic's judgement of the link's words as the evidence. In
// log odds Bayes' rule is a sum, less the odds of an empty text, which are the same for all links; half of it keeps the
// order and the clipping.
type anchor struct{ softFocus }

func (r anchor) Score(v string, s *Source) float64 {
	before := r.softFocus.Score(v, s)
	if s.Seed || !s.HasAnchor {
		return before
	}
	return probability((logOdds(before) + logOdds(s.Anchor)) / 2)
}

// guided is the guidance for the link, and soft focus among the links without guidance.
type guided struct {
	softFocus
	guide string
}

func (r guided) Score(v string, s *Source) float64 {
	if score, ok := s.guided(r.guide); ok {
		return score
	}
	return r.softFocus.Score(v, s)
}

// random is a fixed pseudo-random order, uniform in [0,1), different for every seed.
type random struct{ seed uint64 }

func (r random) Score(v string, s *Source) float64 {
	if s.Seed {
		return seedScore
	}
	return float64(mix(xxhash.Sum64String(v)^mix(r.seed))>>11) / (1 << 53)
}

// mix is the finaliser of SplitMix64: every bit of x affects every bit of the result.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return bits.RotateLeft64(x^x>>31, 32)
}
