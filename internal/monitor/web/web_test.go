package web

import (
	"strings"
	"testing"

	"forager/internal/platform/analytics"
)

// TestArmCharts: an arm that was credited no page in a part has no mean there, and is drawn where it chose.
func TestArmCharts(t *testing.T) {
	charts := armCharts([]analytics.ArmPoint{
		{Dispatched: 10, Policy: "a", Chosen: 4, Credited: 4, Reward: 2}, {Dispatched: 10, Policy: "<b>", Chosen: 6},
		{Dispatched: 20, Policy: "a", Chosen: 10, Credited: 9, Reward: 3},
	})
	if len(charts) != 2 {
		t.Fatalf("%d charts", len(charts))
	}
	for _, c := range charts {
		if !strings.Contains(string(c), "&lt;b&gt;") || strings.Contains(string(c), "<b>") || strings.Contains(string(c), "NaN") {
			t.Errorf("%s", c)
		}
	}
}
