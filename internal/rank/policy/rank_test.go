package policy

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"forager/schemas"
)

const v = "http://a.example/v"

func policy(t testing.TB, p *schemas.Policy) *Policy {
	t.Helper()
	if p.Name == "" {
		p.Name = "p"
	}
	out, err := New(p, 1)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func place(t testing.TB, p *Policy, sources ...*Source) (at Place) {
	t.Helper()
	for i, s := range sources {
		var err error
		if at, err = p.Add(at, v, s, uint64(i+1)); err != nil {
			t.Fatal(err)
		}
	}
	return at
}

func TestRankers(t *testing.T) {
	seed := &Source{Seed: true}
	u := &Source{Raw: .75, Tempered: .5, Calibrated: .625}
	known := &Source{Raw: .75, Tempered: .5, High: .125, HasHigh: true}
	for _, c := range []struct {
		ranker schemas.Ranker
		post   schemas.Posterior
		source *Source
		want   float64
	}{
		{schemas.Ranker_RANKER_UNFOCUSED, 0, u, 0},
		{schemas.Ranker_RANKER_UNFOCUSED, 0, seed, 0},
		{schemas.Ranker_RANKER_SOFT_FOCUS, 0, u, .75},
		{schemas.Ranker_RANKER_SOFT_FOCUS, schemas.Posterior_POSTERIOR_RAW, u, .75},
		{schemas.Ranker_RANKER_SOFT_FOCUS, schemas.Posterior_POSTERIOR_TEMPERED, u, .5},
		{schemas.Ranker_RANKER_SOFT_FOCUS, schemas.Posterior_POSTERIOR_CALIBRATED, u, .625},
		{schemas.Ranker_RANKER_SOFT_FOCUS, 0, seed, 1},
		{schemas.Ranker_RANKER_SOFT_FOCUS, 0, known, .75},
		{schemas.Ranker_RANKER_APPRENTICE, 0, known, .125},
		{schemas.Ranker_RANKER_APPRENTICE, 0, u, .75}, // no model yet
		{schemas.Ranker_RANKER_APPRENTICE, schemas.Posterior_POSTERIOR_TEMPERED, u, .5},
		{schemas.Ranker_RANKER_APPRENTICE, 0, seed, 1},
		{schemas.Ranker_RANKER_ANCHOR, 0, seed, 1},
		{schemas.Ranker_RANKER_ANCHOR, 0, u, .75}, // not asked for
		{schemas.Ranker_RANKER_ANCHOR, 0, &Source{Raw: .75, Anchor: .25, HasAnchor: true}, .5},
		{schemas.Ranker_RANKER_ANCHOR, 0, &Source{Raw: .5, Anchor: .8, HasAnchor: true}, 2. / 3},
		{schemas.Ranker_RANKER_RANDOM, 0, seed, 1},
	} {
		p := policy(t, &schemas.Policy{Ranker: c.ranker, Posterior: c.post})
		if at := place(t, p, c.source); math.Abs(at.Score-c.want) > 1e-15 || !at.In || at.Tier != 0 {
			t.Errorf("%v of %+v: %+v, want score %v", c.ranker, c.source, at, c.want)
		}
		if want := c.ranker == schemas.Ranker_RANKER_APPRENTICE; p.Learns() != want {
			t.Errorf("%v learns: %t", c.ranker, p.Learns())
		}
	}
}

// TestRandomIsUniformFixedAndSeeded: the order depends on URL and seed only, and no decile is
// far from its share.
func TestRandomIsUniformFixedAndSeeded(t *testing.T) {
	var deciles [10]int
	moved := 0
	for i := range 10_000 {
		url := fmt.Sprintf("http://a.example/%d", i)
		a, b := random{1}.Score(url, &Source{Raw: .1}), random{2}.Score(url, &Source{Raw: .1})
		if a != (random{1}).Score(url, &Source{Raw: .9}) || a < 0 || a >= 1 {
			t.Fatalf("%s scores %v", url, a)
		}
		deciles[int(a*10)]++
		if math.Abs(a-b) > .05 {
			moved++
		}
	}
	for i, n := range deciles {
		if n < 880 || n > 1120 { // 4 standard deviations
			t.Errorf("decile %d has %d of 10,000", i, n)
		}
	}
	if moved < 8_700 || moved > 9_300 { // .95² = .9025
		t.Errorf("another seed moves %d of 10,000 by more than .05", moved)
	}
}

func TestGates(t *testing.T) {
	low, high := &Source{Raw: .25, Tempered: .75}, &Source{Raw: .5, Tempered: .25, BestIsFocus: true}
	relevance, best := schemas.GateCondition_GATE_CONDITION_RELEVANCE, schemas.GateCondition_GATE_CONDITION_BEST_TOPIC
	drop, deferred := schemas.GateAction_GATE_ACTION_DROP, schemas.GateAction_GATE_ACTION_DEFER
	tempered := schemas.Posterior_POSTERIOR_TEMPERED
	for _, c := range []struct {
		name    string
		gate    *schemas.Gate
		post    schemas.Posterior
		sources []*Source
		want    Place
	}{
		{"no gate", nil, 0, []*Source{low}, Place{In: true, Score: .25}},
		{"the threshold passes", &schemas.Gate{Condition: relevance, Action: drop, Threshold: .5}, 0, []*Source{high}, Place{In: true, Score: .5}},
		{"below is dropped", &schemas.Gate{Condition: relevance, Action: drop, Threshold: .5}, 0, []*Source{low}, Place{}},
		{"below is deferred", &schemas.Gate{Condition: relevance, Action: deferred, Threshold: .5}, 0, []*Source{low}, Place{In: true, Tier: 1, Score: .25}},
		{"the gate reads the ranker's posterior", &schemas.Gate{Condition: relevance, Action: drop, Threshold: .5}, tempered, []*Source{low, high}, Place{In: true, Score: .75}},
		{"any source opens", &schemas.Gate{Condition: best, Action: drop}, 0, []*Source{low, high, low}, Place{In: true, Score: .5}},
		{"a higher tier replaces the lower", &schemas.Gate{Condition: best, Action: deferred}, tempered, []*Source{low, high}, Place{In: true, Score: .25}},
		{"a lower one changes nothing", &schemas.Gate{Condition: best, Action: deferred}, tempered, []*Source{high, low}, Place{In: true, Score: .25}},
		{"seeds pass", &schemas.Gate{Condition: best, Action: drop}, 0, []*Source{{Seed: true}}, Place{In: true, Score: 1}},
		{"seeds lift", &schemas.Gate{Condition: best, Action: deferred}, 0, []*Source{low, {Seed: true}, high}, Place{In: true, Score: 1}},
	} {
		p := policy(t, &schemas.Policy{Ranker: schemas.Ranker_RANKER_SOFT_FOCUS, Gate: c.gate, Posterior: c.post})
		if at := place(t, p, c.sources...); at.In != c.want.In || at.Tier != c.want.Tier || at.Score != c.want.Score {
			t.Errorf("%s: %+v, want %+v", c.name, at, c.want)
		}
	}
}

// TestCombinationsByTheFormula computes each combination at once, from the list of scores.
func TestCombinationsByTheFormula(t *testing.T) {
	formulas := map[schemas.Combine]func(s []float64) float64{
		schemas.Combine_COMBINE_UNSPECIFIED: slices.Max[[]float64],
		schemas.Combine_COMBINE_FROZEN:      func(s []float64) float64 { return s[0] },
		schemas.Combine_COMBINE_MAXIMUM:     slices.Max[[]float64],
		schemas.Combine_COMBINE_MEAN_LOG_ODDS: func(s []float64) float64 {
			var sum float64
			for _, p := range s {
				p = max(.0005, min(.9995, p))
				sum += math.Log(p / (1 - p))
			}
			return 1 / (1 + math.Exp(-sum/float64(len(s))))
		},
		schemas.Combine_COMBINE_MEAN_AND_MAXIMUM: func(s []float64) float64 {
			var sum float64
			odds := func(p float64) float64 {
				p = max(.0005, min(.9995, p))
				return math.Log(p / (1 - p))
			}
			for _, p := range s {
				sum += odds(p)
			}
			return 1 / (1 + math.Exp(-(sum/float64(len(s))+odds(slices.Max(s)))/2))
		},
		schemas.Combine_COMBINE_NOISY_OR: func(s []float64) float64 {
			none := 1.0
			for _, p := range s {
				none *= 1 - p
			}
			return 1 - none
		},
		schemas.Combine_COMBINE_COUNT: func(s []float64) float64 { return 1 - 1/(1+float64(len(s))) },
	}
	rapid.Check(t, func(t *rapid.T) {
		scores := rapid.SliceOfN(rapid.OneOf(rapid.Float64Range(0, 1), rapid.SampledFrom([]float64{0, .5, 1})), 1, 8).Draw(t, "scores")
		for how, formula := range formulas {
			p, err := New(&schemas.Policy{Name: "p", Ranker: schemas.Ranker_RANKER_SOFT_FOCUS, Combine: how}, 0)
			if err != nil {
				t.Fatal(err)
			}
			var at Place
			for i, s := range scores {
				if at, err = p.Add(at, v, &Source{Raw: s}, uint64(i)); err != nil {
					t.Fatal(err)
				}
			}
			if want := formula(scores); math.Abs(at.Score-want) > 1e-12 || at.Score < 0 || at.Score > 1 {
				t.Fatalf("%v of %v: %v, want %v", how, scores, at.Score, want)
			}
			via := uint64(slices.Index(scores, slices.Max(scores)))
			if how == schemas.Combine_COMBINE_FROZEN {
				via = 0
			}
			if at.Via != via {
				t.Fatalf("%v of %v came by link %d, want %d", how, scores, at.Via, via)
			}
		}
	})
}

// TestTiers rounds what was combined, however the links come, and nothing that is no probability.
func TestTiers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		scores := rapid.SliceOfN(rapid.Float64Range(0, 1), 1, 6).Draw(t, "scores")
		how := schemas.Combine(rapid.IntRange(0, 6).Draw(t, "combine"))
		tiers := rapid.Uint32Range(1, 20).Draw(t, "tiers")
		place := func(tiers uint32) (at Place) {
			p, err := New(&schemas.Policy{Name: "p", Ranker: schemas.Ranker_RANKER_SOFT_FOCUS, Combine: how, Tiers: tiers}, 0)
			if err != nil {
				t.Fatal(err)
			}
			for i, s := range scores {
				if at, err = p.Add(at, v, &Source{Raw: s}, uint64(i)); err != nil {
					t.Fatal(err)
				}
			}
			return at
		}
		fine, rough := place(0), place(tiers)
		if want := math.Round(fine.Score*float64(tiers)) / float64(tiers); rough.Score != want || rough.Via != fine.Via || rough.Best != fine.Best {
			t.Fatalf("%v of %v in %d tiers: %+v, want the score %v of %+v", how, scores, tiers, rough, want, fine)
		}
	})
	p := policy(t, &schemas.Policy{Ranker: schemas.Ranker_RANKER_SOFT_FOCUS, Tiers: 10})
	if at := place(t, p.With(constant(-7.77)), &Source{}); at.Score != -7.77 {
		t.Errorf("a score of an oracle is rounded: %+v", at)
	}
}

type constant float64

func (c constant) Score(string, *Source) float64 { return float64(c) }

func TestOtherRankers(t *testing.T) {
	p := policy(t, &schemas.Policy{
		Name: "oracle", Ranker: schemas.Ranker_RANKER_APPRENTICE, Combine: schemas.Combine_COMBINE_NOISY_OR,
		Gate: &schemas.Gate{Condition: schemas.GateCondition_GATE_CONDITION_BEST_TOPIC, Action: schemas.GateAction_GATE_ACTION_DEFER},
	})
	q := p.With(constant(-7))
	if q.Name() != "oracle" || q.Learns() || !p.Learns() {
		t.Errorf("%+v of %+v", q, p)
	}
	if at := place(t, q, &Source{}, &Source{}); at.Score != -7 || at.Tier != 1 {
		t.Errorf("place %+v", at)
	}
	if at := place(t, q, &Source{}, &Source{Seed: true}); at.Score != -7 || at.Tier != 0 || !at.Pinned {
		t.Errorf("place of a seed %+v", at)
	}
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if _, err := p.With(constant(bad)).Add(Place{}, v, &Source{}, 0); err == nil {
			t.Errorf("score %v is taken", bad)
		}
	}
}

// TestCountsInLinks: the order of back-link counts, of links that the gate lets through alone; seeds come first.
func TestCountsInLinks(t *testing.T) {
	count := schemas.Combine_COMBINE_COUNT
	p := policy(t, &schemas.Policy{Ranker: schemas.Ranker_RANKER_UNFOCUSED, Combine: count})
	last := 0.0
	var at Place
	for n := range uint64(1000) {
		var err error
		if at, err = p.Add(at, v, &Source{Raw: .5}, n+1); err != nil {
			t.Fatal(err)
		}
		if at.Score <= last || at.Score >= 1 || at.Via != 1 {
			t.Fatalf("%d links: %+v behind %v", n+1, at, last)
		}
		last = at.Score
	}
	if seed := place(t, p, &Source{Raw: .5}, &Source{Seed: true}); seed.Score != 1 || !seed.Pinned {
		t.Errorf("a seed that is linked to: %+v", seed)
	}
	gated := policy(t, &schemas.Policy{Ranker: schemas.Ranker_RANKER_UNFOCUSED, Combine: count,
		Gate: &schemas.Gate{Condition: schemas.GateCondition_GATE_CONDITION_RELEVANCE, Action: schemas.GateAction_GATE_ACTION_DEFER, Threshold: .5}})
	if at := place(t, gated, &Source{}, &Source{}, &Source{Raw: .5}, &Source{}); at.Score != .5 || at.Tier != 0 {
		t.Errorf("one link of four is let through: %+v", at)
	}
}

// TestRaised: what hubs link to scores above every relevance, however it is combined and gated, and only
// under a policy that raises; the gate still decides.
func TestRaised(t *testing.T) {
	gate := &schemas.Gate{Condition: schemas.GateCondition_GATE_CONDITION_RELEVANCE, Action: schemas.GateAction_GATE_ACTION_DROP, Threshold: .5}
	for _, combine := range []schemas.Combine{1, 2, 3, 4, 5, 6} {
		for _, ranker := range []schemas.Ranker{1, 2, 3, 4, 5} {
			p := &schemas.Policy{Ranker: ranker, Combine: combine, Tiers: 10, Gate: gate, Raise: true}
			links := []*Source{{Raw: .75, Raised: true}, {Raw: .25, Raised: true}, {Raw: 1, Raised: true}}
			if at := place(t, policy(t, p), links...); at.Score != RaisedScore || !at.In || at.Best > 1 {
				t.Errorf("%v, %v: %+v", ranker, combine, at)
			}
			if at := place(t, policy(t, p), links[1]); at.In {
				t.Errorf("%v, %v: raised through the gate: %+v", ranker, combine, at)
			}
			if at := place(t, policy(t, p), &Source{Seed: true}, links[0]); at.Score > seedScore {
				t.Errorf("%v, %v: a seed is raised: %+v", ranker, combine, at)
			}
			p.Raise = false
			if at := place(t, policy(t, p), links...); at.Score > 1 {
				t.Errorf("%v, %v: raised by a policy that does not: %+v", ranker, combine, at)
			}
		}
	}
}

func TestBadPolicies(t *testing.T) {
	gate := func(c schemas.GateCondition, a schemas.GateAction, threshold float64) *schemas.Gate {
		return &schemas.Gate{Condition: c, Action: a, Threshold: threshold}
	}
	for expected, p := range map[string]*schemas.Policy{
		"no name":                {Ranker: 1},
		"unknown ranker":         {Name: "p"},
		"ranks by a comparator":  {Name: "p", Ranker: comparatorInterest},
		"unknown posterior":      {Name: "p", Ranker: 1, Posterior: 9},
		"1000001 tiers":          {Name: "p", Ranker: 1, Tiers: 1_000_001},
		"unknown combination":    {Name: "p", Ranker: 1, Combine: 9},
		"unknown gate condition": {Name: "p", Ranker: 1, Gate: gate(9, 1, 0)},
		"unknown action":         {Name: "p", Ranker: 1, Gate: gate(2, 0, 0)},
		"1.5 is not in":          {Name: "p", Ranker: 1, Gate: gate(1, 1, 1.5)},
		"NaN is not in":          {Name: "p", Ranker: 1, Gate: gate(1, 1, math.NaN())},
		"none is above all":      {Name: "p", Ranker: 6, Guide: "g/1", Raise: true},
	} {
		if _, err := New(p, 0); err == nil || !strings.Contains(err.Error(), expected) {
			t.Errorf("%v: %v, want an error with %q", p, err, expected)
		}
	}
}

// TestLinksOfALowerTierCountNothing: a place is that of the links alone which count in its tier.
func TestLinksOfALowerTierCountNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := policy(t, &schemas.Policy{
			Ranker: schemas.Ranker(rapid.IntRange(1, 5).Draw(rt, "ranker")), Combine: schemas.Combine(rapid.IntRange(0, 6).Draw(rt, "combine")),
			Tiers: rapid.SampledFrom([]uint32{0, 3}).Draw(rt, "tiers"),
			Gate: &schemas.Gate{
				Condition: schemas.GateCondition(rapid.IntRange(0, 2).Draw(rt, "condition")),
				Action:    schemas.GateAction(rapid.IntRange(1, 2).Draw(rt, "action")), Threshold: .5,
			},
		})
		add := func(at Place, s *Source, via int) Place {
			at, err := p.Add(at, v, s, uint64(via))
			if err != nil {
				rt.Fatal(err)
			}
			return at
		}
		links := make([]Source, rapid.IntRange(1, 6).Draw(rt, "links"))
		var all Place
		for i := range links {
			links[i] = Source{
				Raw: rapid.SampledFrom([]float64{.1, .4, .5, .9}).Draw(rt, "R"), BestIsFocus: rapid.Bool().Draw(rt, "best"),
				High: rapid.Float64Range(0, 1).Draw(rt, "high"), HasHigh: true, Seed: rapid.IntRange(0, 9).Draw(rt, "seed") == 0,
			}
			all = add(all, &links[i], i+1)
		}
		var some Place
		for i := range links {
			if all.In && p.Counts(&links[i], all.Tier) {
				some = add(some, &links[i], i+1)
			}
		}
		if some != all {
			rt.Fatalf("by all links %+v, by those that count %+v", all, some)
		}
	})
}

// TestLogOddsOrderWhatRoundsAlike: pages whose R is 1 are ordered by log odds, in (0,1); a gate of the same policy reads R.
func TestLogOddsOrderWhatRoundsAlike(t *testing.T) {
	for _, posterior := range []schemas.Posterior{schemas.Posterior_POSTERIOR_LOG_ODDS, schemas.Posterior_POSTERIOR_TOPIC_LOG_ODDS} {
		p, err := New(&schemas.Policy{
			Name: "p", Ranker: schemas.Ranker_RANKER_SOFT_FOCUS, Posterior: posterior,
			Gate: &schemas.Gate{Condition: schemas.GateCondition_GATE_CONDITION_RELEVANCE, Action: schemas.GateAction_GATE_ACTION_DEFER, Threshold: .5},
		}, 1)
		if err != nil {
			t.Fatal(err)
		}
		last := 0.
		for _, odds := range []float64{-schemas.MostLogOdds, -745, -700, 0, 40, 41, 900, schemas.MostLogOdds} {
			at, err := p.Add(Place{}, "http://a.test/", &Source{Raw: 1, LogOdds: odds, TopicLogOdds: odds}, 1)
			if err != nil || at.Tier != 0 || !(at.Score > last && at.Score < seedScore) {
				t.Errorf("%v, log odds %v: %+v after the score %v (%v)", posterior, odds, at, last, err)
			}
			last = at.Score
		}
	}
}
