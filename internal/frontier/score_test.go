package frontier

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"forager/internal/frontier/state"
	"forager/internal/frontier/storage"
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
