package frontier

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"forager/schemas"
)

// TestShadowsSeeWhatTheChoiceSaw: leaps have the places under shadows of a URL when it was chosen, whatever was found
// since; nothing of URLs without links, and nothing once the shadows are gone. The naive frontier has the rest.
func TestShadowsSeeWhatTheChoiceSaw(t *testing.T) {
	s := newScript(t, func(c *schemas.CrawlControl) {
		c.Window = 3
		c.RankerShadows = []*schemas.Policy{
			{Name: "hard", Ranker: schemas.Ranker_RANKER_UNFOCUSED, Gate: &schemas.Gate{
				Condition: schemas.GateCondition_GATE_CONDITION_BEST_TOPIC, Action: schemas.GateAction_GATE_ACTION_DROP,
			}},
			{Name: "links", Ranker: schemas.Ranker_RANKER_UNFOCUSED, Combine: schemas.Combine_COMBINE_COUNT},
		}
	})
	s.seed(onA("a"), onA("b"))
	s.dispatch(2)
	s.deliver(onA("a"), .25, false, onA("v"), onA("w"))
	if got := s.dispatch(1); got[0] != onA("v") {
		t.Fatalf("%v was chosen", got)
	}
	s.deliver(onA("b"), .5, true, onA("v"), onA("w"))
	leaps := s.deliver(onA("v"), 1, true)
	if len(leaps) != 2 || leaps[1].GetForward() {
		t.Fatalf("leaps into v: %v", leaps)
	}
	want := []*schemas.ShadowPlace{{Policy: "hard", Dropped: true}, {Policy: "links", Score: .5}}
	for _, leap := range leaps {
		checkShadows(t, leap, want)
	}
	s.ctl.RankerShadows = nil
	s.ctl.Revision++
	s.configure()
	s.dispatch(1)
	for _, leap := range s.deliver(onA("w"), 1, true) {
		checkShadows(t, leap, nil)
	}
}

func checkShadows(t *testing.T, leap *schemas.LeapSettled, want []*schemas.ShadowPlace) {
	t.Helper()
	if got := leap.GetShadows(); !proto.Equal(&schemas.LeapSettled{Shadows: got}, &schemas.LeapSettled{Shadows: want}) {
		t.Errorf("from %s to %s shadows have %v, want %v", leap.GetU(), leap.GetV(), got, want)
	}
}
