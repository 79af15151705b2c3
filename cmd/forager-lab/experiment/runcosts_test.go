package experiment

import (
	"strings"
	"testing"
	"time"

	"forager/internal/lab/experiment"
)

// TestRunCosts: the most expensive variant is first, and the last lines are the totals of all runs and the memory.
func TestRunCosts(t *testing.T) {
	c := newRunCosts()
	for range 2 {
		c.add(&experiment.Result{Variant: "cheap", Measures: experiment.Measures{Requests: 100}}, 10*time.Millisecond)
		c.add(&experiment.Result{Variant: "dear", Measures: experiment.Measures{Requests: 300}}, time.Second)
	}
	var b strings.Builder
	c.print(&b)
	lines := strings.Split(b.String(), "\n")
	for i, want := range []string{"CPU runs fetches seconds fetches/s·core", "dear 2 600 2.0 300", "cheap 2 200 0.0 10000", "all, with garbage collection 4 800 ", "peak memory "} {
		if !strings.HasPrefix(strings.Join(strings.Fields(lines[i]), " "), want) {
			t.Errorf("%q, want %q", lines[i], want)
		}
	}
	b.Reset()
	newRunCosts().print(&b)
	if b.Len() > 0 {
		t.Errorf("of no runs: %q", b.String())
	}
}
