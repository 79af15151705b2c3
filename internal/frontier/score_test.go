package frontier

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"forager/internal/frontier/state"
	"forager/internal/frontier/storage"
	"forager/internal/rank/apprentice"
	"forager/internal/rank/policy"
	"forager/internal/web/scope"
	"forager/schemas"
)

// asked counts the scores computed by a model, or by a ranker.
type asked struct{ features, links int }

func (a *asked) model(features []*schemas.Feature) float64 {
	a.features++
	return float64(len(features)%8) / 8
}

type askedModel struct{ *asked }

func (m askedModel) Score(features []*schemas.Feature) float64 { return m.model(features) }

type askedRanker struct{ *asked }

func (r askedRanker) Score(_ string, s *policy.Source) float64 { r.links++; return s.Raw }

// TestAPassAsksForWhatItMayChange: a new model scores the links that decide the place of an entry, and none in a lower
// tier than another one of the same entry; rankers that do not learn are not called again.
func TestAPassAsksForWhatItMayChange(t *testing.T) {
	s, err := Open(storage.NewMemory(), "c", 0)
	if err != nil {
		t.Fatal(err)
	}
	all, err := scope.New(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	var a asked
	ctl := &schemas.CrawlControl{
		Crawl: "c", State: schemas.CrawlState_CRAWL_STATE_RUNNING, Budget: &schemas.Budget{Pages: 100}, Window: 4, HostWindow: 4,
		Policies: []*schemas.Policy{
			{Name: "outside", Ranker: schemas.Ranker_RANKER_UNFOCUSED},
			{Name: "gated", Ranker: schemas.Ranker_RANKER_APPRENTICE, Gate: &schemas.Gate{
				Condition: schemas.GateCondition_GATE_CONDITION_RELEVANCE, Action: schemas.GateAction_GATE_ACTION_DEFER, Threshold: .5,
			}},
		},
		Mixture: new(schemas.Mixture), Learning: &schemas.Learning{DMax: 1, SwitchPages: 50},
	}
	if err := s.Configure(ctl, all, Options{Rankers: map[string]policy.Ranker{"outside": askedRanker{&a}}}); err != nil {
		t.Fatal(err)
	}
	good, bad := "http://a.example/good", "http://b.example/bad"
	links := map[string][]string{good: {"http://a.example/x", "http://b.example/y"}, bad: {"http://a.example/x", "http://b.example/y", "http://b.example/z"}}
	if _, err := s.Apply(schemas.SeedPage("c", []string{good, bad}), time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	requests, err := s.Dispatch(time.Unix(2, 0), 2)
	if err != nil || len(requests) != 2 {
		t.Fatal(requests, err)
	}
	for _, r := range requests {
		rec := &schemas.LinkFound{
			Id: r.GetId(), Crawl: "c", Url: r.GetUrl(), Outcome: schemas.Outcome_OUTCOME_DELIVERED, Judgement: &schemas.Judgement{Raw: .1},
			Table: &schemas.LeafTable{Terms: []string{"a", "b"}, Leaves: []uint32{0, 1, 2}, LeafLengths: []uint32{1, 2, 1}, Tokens: []uint32{0, 1, 0, 1}},
		}
		if r.GetUrl() == good {
			rec.Judgement.Raw = .9
		}
		for i, url := range links[r.GetUrl()] {
			rec.Links = append(rec.Links, &schemas.Link{Url: url, FirstLeaf: uint32(i), LastLeaf: uint32(i)})
		}
		if _, err := s.Apply(rec, time.Unix(3, 0)); err != nil {
			t.Fatal(err)
		}
	}
	for pass := range uint64(3) {
		a = asked{}
		if err := s.SetModel(fmt.Sprint("m/", pass), askedModel{&a}, pass+1); err != nil {
			t.Fatal(err)
		}
		for more := true; more; {
			if more, err = s.Rescore(100); err != nil {
				t.Fatal(err)
			}
		}
		if want := (asked{features: 3}); a != want { // x and y by the good page, z by the bad one
			t.Errorf("pass %d: %+v, want %+v", pass, a, want)
		}
		places := make(map[string][]state.Placed)
		for ordinal := range s.state.Counters.Entries {
			e, err := s.state.Entry(ordinal + 1)
			if err != nil {
				t.Fatal(err)
			}
			if e.State != state.Queued {
				continue
			}
			places[e.URL] = slices.Clone(e.Places)
			if err := s.places.Place(e); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(e.Places, places[e.URL]) {
				t.Errorf("%s: placed at %+v, by all its links at %+v", e.URL, places[e.URL], e.Places)
			}
		}
		if len(places) != 3 {
			t.Errorf("queued are %v", slices.Sorted(maps.Keys(places)))
		}
	}
}

// gatedSync makes a crawl under learning.sync whose apprentice has a tier for links of pages below R = .5.
func gatedSync(t *testing.T) *script {
	return newScript(t, func(c *schemas.CrawlControl) {
		c.Policies = []*schemas.Policy{{Name: "gated", Ranker: schemas.Ranker_RANKER_APPRENTICE, Gate: &schemas.Gate{
			Condition: schemas.GateCondition_GATE_CONDITION_RELEVANCE, Action: schemas.GateAction_GATE_ACTION_DEFER, Threshold: .5,
		}}}
		c.Learning = &schemas.Learning{Sync: true, SwitchPages: 50}
	})
}

// TestSeedLeavesATierThatWaits: a URL whose tier waits for its scores is given as a seed, whose tier does not.
func TestSeedLeavesATierThatWaits(t *testing.T) {
	s := gatedSync(t)
	s.seed(onA("a"), onA("b"))
	s.want(s.dispatch(1), onA("a"))
	counts := apprentice.NewCounts()
	if err := counts.Add([]*schemas.Feature{{Term: "a", Offset: schemas.NoOffset, Count: 1}}, 1); err != nil {
		t.Fatal(err)
	}
	if err := s.shard.SetModel("m", counts.Model(), 1); err != nil {
		t.Fatal(err)
	}
	s.deliver(onA("a"), .1, false, onA("c"))
	s.want(s.dispatch(1), onA("b"))
	s.deliver(onA("b"), .1, false, onA("d"))
	s.seed(onA("d"))
	s.want(s.dispatch(1), onA("d"))
	if got := s.last[onA("d")].GetModel(); got != "m" {
		t.Errorf("d was chosen by %q", got)
	}
}

// TestTiersWaitForTheirScores: under learning.sync a new model scores a tier when it is about to be chosen from, whether its entries
// were placed before or after the model came, and a link that is added meanwhile counts.
func TestTiersWaitForTheirScores(t *testing.T) {
	s := gatedSync(t)
	s.seed(onA("good"), onA("bad"), onA("late"), onA("later"))
	s.want(s.dispatch(9), onA("good"))
	counts := apprentice.NewCounts()
	if err := counts.Add([]*schemas.Feature{{Term: "a", Offset: schemas.NoOffset, Count: 1}}, 1); err != nil {
		t.Fatal(err)
	}
	s.deliver(onA("good"), .9, true, onA("x"))
	s.want(s.dispatch(9), onA("bad"))
	s.deliver(onA("bad"), .1, false, onA("y"))
	if err := s.shard.SetModel("m/1", counts.Model(), 2); err != nil {
		t.Fatal(err)
	}
	scored := func(url string) bool {
		e, err := s.shard.state.Seen(onA(url))
		if err != nil {
			t.Fatal(err)
		}
		return e.Places[0].Model == s.shard.places.Using.Number
	}
	s.want(s.dispatch(9), onA("late"))
	s.deliver(onA("late"), .1, false, onA("y"), onA("z"))
	if !scored("x") || scored("y") || scored("z") {
		t.Errorf("after a choice from the first tier, scored are x %t, y %t, z %t", scored("x"), scored("y"), scored("z"))
	}
	s.want(s.dispatch(9), onA("later"))
	if err := s.shard.SetModel("m/2", counts.Model(), 3); err != nil {
		t.Fatal(err)
	}
	s.deliver(onA("later"), .9, true, onA("z")) // from a tier that waits to another one
	s.want(s.dispatch(9), onA("x"))
	s.apply(s.answer(onA("x"), schemas.Outcome_OUTCOME_CLIENT_ERROR))
	s.open() // which tiers are scored is not stored
	if err := s.shard.SetModel("m/2", counts.Model(), 3); err != nil {
		t.Fatal(err)
	}
	s.want(s.dispatch(9), onA("z"))
	if scored("y") {
		t.Error("y is scored")
	}
	s.apply(s.answer(onA("z"), schemas.Outcome_OUTCOME_CLIENT_ERROR))
	s.want(s.dispatch(9), onA("y"))
	if got := s.last[onA("y")].GetModel(); got != "m/2" {
		t.Errorf("y was chosen by %q", got)
	}
}
