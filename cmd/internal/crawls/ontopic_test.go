package crawls

import (
	"strings"
	"testing"

	"forager/internal/platform/analytics"
)

// TestOnTopicByLikes: the estimate is corrected by the errors of the critic on held-out pages.
func TestOnTopicByLikes(t *testing.T) {
	measures := map[string]float64{"liked": 60, "recall": .9, "background": 400, "background_taken": .3, "prior": .05, "prior_most": .1}
	all := []analytics.Verdicts{{Critic: "law/1", OnTopic: true, Pages: 500}, {Critic: "law/1", Pages: 500}}
	x := byLikes(all, func(string) map[string]float64 { return measures })
	// A fifth to a third of the others are classified as on topic: (.5 − .23)/(.9 − .23) at most.
	if x == nil || x.From != "likes" || x.Pages != 1000 || x.Share.Share < .35 || x.Share.Share > .45 || x.Low > .33 || x.High < .41 {
		t.Errorf("%+v", x)
	}
	delete(measures, "prior_most")
	measures["prior"] = .1 // a critic of an earlier version
	if old := byLikes(all, func(string) map[string]float64 { return measures }); *old != *x {
		t.Errorf("%+v, %+v", old, x)
	}
	if x := byLikes(all, func(string) map[string]float64 { return map[string]float64{"accuracy": .9} }); x != nil {
		t.Errorf("a critic of topics: %+v", x)
	}
	var out strings.Builder
	PrintHarvest(&out, "law", CriticOrigin("law/1", nil), nil)
	if !strings.Contains(out.String(), "own opinion") || !strings.Contains(out.String(), "critic mark law --ask 20") {
		t.Errorf("%s", &out)
	}
}
