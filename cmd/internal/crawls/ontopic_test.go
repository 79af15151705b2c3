package crawls

import (
	"fmt"
	"strings"
	"testing"

	"forager/internal/measure/harvest"
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
}

// TestTheEstimateComesFirst: what is independent of the critic is printed before its own harvest, and the next step last.
func TestTheEstimateComesFirst(t *testing.T) {
	marks := func(later, calibrated int) *OnTopic {
		return &OnTopic{Share: harvest.Share{Share: .1, Low: .04, High: .2}, From: "marks", Pages: 100, Marked: 20, Later: later, Calibrated: calibrated, Retrain: "forager critic retrain law"}
	}
	for _, test := range []struct {
		harvest            float64
		x                  *OnTopic
		first, next, short string
	}{
		{.7, nil, "own opinion", "critic mark law --ask 20", "-"},
		{.7, &OnTopic{Share: harvest.Share{Share: .4, Low: 0, High: .6}, From: "likes", Pages: 100}, "on topic: at most 40 %", "critic mark law --ask 20", "<=40%"},
		{.7, marks(0, 0), "on topic: 10 % of 100 pages (95 % interval 4 to 20 %), by 20", "retrain law", "10% (4-20)"},
		{.7, marks(0, 20), "on topic: 10 %", "report law", "10% (4-20)"},
		{.7, marks(50, 20), "on topic: 10 %", "critic mark law --ask 20", "10% (4-20)"},
		{.15, marks(0, 0), "on topic: 10 %", "", "10% (4-20)"},
	} {
		s := &Summary{OnTopic: test.x, JudgedBy: CriticOrigin("law/1", nil)}
		s.Crawl, s.Harvest, s.Loss = "law", test.harvest, 1-test.harvest
		var out strings.Builder
		s.PrintHarvest(&out)
		first, claimed, next := strings.Index(out.String(), test.first), strings.Index(out.String(), fmt.Sprintf("harvest %.3f", test.harvest)), len(out.String())
		if test.next != "" {
			next = strings.LastIndex(out.String(), test.next)
		}
		if first < 0 || claimed <= first || next <= claimed || (test.next == "") != (s.Next() == "") {
			t.Errorf("%+v: %s", test.x, &out)
		}
		if got := test.x.Short(); got != test.short {
			t.Errorf("short: %s, want %s", got, test.short)
		}
	}
}
