package policy

import (
	"math"
	"strings"
	"testing"

	"forager/schemas"
)

func byGuide(t *testing.T, change func(*schemas.Policy)) *Policy {
	t.Helper()
	p := &schemas.Policy{Name: "p", Ranker: schemas.Ranker_RANKER_GUIDE, Guide: "g/1"}
	if change != nil {
		change(p)
	}
	policy, err := New(p, 1)
	if err != nil {
		t.Fatal(err)
	}
	return policy
}

// scored is a link that guide g/1 gives a score, on a page with R(u) = raw.
func scored(score, raw float64) *Source {
	return &Source{Raw: raw, Guided: []Guided{{"h/2", 99}, {"g/1", score}}}
}

func (p *Policy) placed(t *testing.T, links ...*Source) (at Place) {
	t.Helper()
	for i, l := range links {
		var err error
		if at, err = p.Add(at, "http://h/", l, uint64(i+1)); err != nil {
			t.Fatal(err)
		}
	}
	return at
}

func TestAGuideScores(t *testing.T) {
	defer0 := func(p *schemas.Policy) {
		p.Gate = &schemas.Gate{Condition: schemas.GateCondition_GATE_CONDITION_RELEVANCE, Action: schemas.GateAction_GATE_ACTION_DEFER, Threshold: .5}
	}
	drop := func(p *schemas.Policy) { defer0(p); p.Gate.Action = schemas.GateAction_GATE_ACTION_DROP }
	frozen := func(p *schemas.Policy) { p.Combine = schemas.Combine_COMBINE_FROZEN }
	seed, blind := &Source{Seed: true}, &Source{Raw: .75, Guided: []Guided{{"h/2", 99}}}
	for name, c := range map[string]struct {
		change func(*schemas.Policy)
		links  []*Source
		want   Place
	}{
		"the best link":            {nil, []*Source{scored(-3, 1), scored(40, 0), scored(2, 1)}, Place{In: true, Tier: 1, Score: 40, Best: 40, Via: 2}},
		"the first link":           {frozen, []*Source{scored(-3, 1), scored(40, 0)}, Place{In: true, Tier: 1, Score: -3, Best: -3, Via: 1}},
		"a seed":                   {nil, []*Source{scored(40, 1), seed, scored(50, 1)}, Place{In: true, Pinned: true, Score: 1, Best: 1, Via: 2}},
		"nothing is known":         {nil, []*Source{{Raw: .5}, blind}, Place{In: true, Tier: 3, Score: .75, Best: .75, Via: 2}},
		"of an older version":      {nil, []*Source{{Raw: 1, Guided: []Guided{{"g/0", 8}, {"g/2", 5}, {"h/1", 99}}}}, Place{In: true, Tier: 1, Score: 5, Best: 5, Via: 1}},
		"of several versions":      {nil, []*Source{{Raw: 1, Guided: []Guided{{"g/1", 4}, {"g/2", 5}}}}, Place{In: true, Tier: 1, Score: 4, Best: 4, Via: 1}},
		"something is known later": {frozen, []*Source{blind, scored(-9, 0), blind, scored(5, 0)}, Place{In: true, Tier: 1, Score: -9, Best: -9, Via: 2}},
		"deferred":                 {defer0, []*Source{blind, scored(7, .25), scored(8, .25)}, Place{In: true, Tier: 2, Score: 8, Best: 8, Via: 3}},
		"deferred and not":         {defer0, []*Source{scored(7, .25), scored(-1, .5)}, Place{In: true, Tier: 1, Score: -1, Best: -1, Via: 2}},
		"dropped":                  {drop, []*Source{scored(7, .25), {Raw: .25}}, Place{}},
		"rounded":                  {func(p *schemas.Policy) { p.Tiers = 2 }, []*Source{scored(.7, 1)}, Place{In: true, Tier: 1, Score: .5, Best: .7, Via: 1}},
		"too large to be rounded":  {func(p *schemas.Policy) { p.Tiers = 10 }, []*Source{scored(math.MaxFloat64, 1)}, Place{In: true, Tier: 1, Score: math.MaxFloat64, Best: math.MaxFloat64, Via: 1}},
	} {
		if got := byGuide(t, c.change).placed(t, c.links...); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
	for _, score := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if at, err := byGuide(t, nil).Add(Place{}, "v", scored(score, 1), 1); err == nil {
			t.Errorf("%v is placed as %+v", score, at)
		}
	}
}

// TestPagesAreOrdered: links of a page that is being expanded come before all, and seeds after scores above 0.
func TestPagesAreOrdered(t *testing.T) {
	pages := func(p *schemas.Policy) { p.Expand = schemas.Expand_EXPAND_PAGE }
	expanded := scored(-3, 1)
	expanded.Expanded = true
	seed := &Source{Seed: true}
	for name, c := range map[string]struct {
		links []*Source
		want  Place
	}{
		"a page of a layer":       {[]*Source{scored(.5, 1)}, Place{In: true, Tier: 1, Score: .5, Best: .5, Via: 1}},
		"a seed":                  {[]*Source{seed}, Place{In: true, Tier: 1, Via: 1}},
		"a seed that is linked":   {[]*Source{seed, scored(.5, 1)}, Place{In: true, Tier: 1, Score: .5, Best: .5, Via: 2}},
		"a seed and another page": {[]*Source{scored(-.5, 1), seed}, Place{In: true, Tier: 1, Via: 2}},
		"of a page under way":     {[]*Source{scored(40, 1), expanded, scored(50, 1), seed}, Place{In: true, Score: -3, Best: -3, Via: 2}},
	} {
		if got := byGuide(t, pages).placed(t, c.links...); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
	if got := byGuide(t, nil).placed(t, expanded); got.Tier != guidedTier {
		t.Errorf("a policy that orders links places one in tier %d", got.Tier)
	}
	if !byGuide(t, pages).ExpandsPages() || byGuide(t, nil).ExpandsPages() {
		t.Error("no policy is listed as ordering pages")
	}
}

func TestPoliciesOfGuidesThatAreRefused(t *testing.T) {
	for want, p := range map[string]*schemas.Policy{
		"names none":    {Name: "p", Ranker: schemas.Ranker_RANKER_GUIDE},
		"ranks by none": {Name: "p", Ranker: schemas.Ranker_RANKER_SOFT_FOCUS, Expand: schemas.Expand_EXPAND_PAGE},
		"unknown expan": {Name: "p", Ranker: schemas.Ranker_RANKER_GUIDE, Guide: "g/1", Expand: 9},
		"no probabilit": {Name: "p", Ranker: schemas.Ranker_RANKER_GUIDE, Guide: "g/1", Combine: schemas.Combine_COMBINE_NOISY_OR},
	} {
		if _, err := New(p, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", p, err)
		}
	}
	if p := byGuide(t, nil); p.Guide() != "g/1" || p.With(random{}).Guide() != "" {
		t.Errorf("guides %q, %q", p.Guide(), p.With(random{}).Guide())
	}
}
