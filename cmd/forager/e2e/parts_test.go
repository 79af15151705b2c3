//go:build endurance

package e2e

import (
	"testing"
	"time"

	"forager/cmd/internal/cli"
	"forager/schemas"
)

// TestEndurancePartsAway starts the stages before a broker, a store and a ClickHouse run, stops these in the middle, and
// checks that the crawl is complete.
func TestEndurancePartsAway(t *testing.T) {
	t.Parallel()
	g, _ := simulated(t)
	r := newRig(t, g.Handler)
	r.start(cli.StageNames)
	everyStageWaits := func() {
		t.Helper()
		for _, stage := range cli.StageNames {
			wait(t, stage+" waits", func() bool { return r.waits(stage + "-0") })
		}
	}
	everyStageWaits() // for the broker
	r.parts()
	r.begin(r.crawl(g, "away", "soft-focus", 300, nil))
	r.until("away", "under way", time.Minute, func(st *schemas.CrawlStatus) bool { return st.GetPages() > 30 })
	r.kill("local")
	everyStageWaits()
	if _, err := r.stack.StartParts(r.s, time.Minute); err != nil {
		t.Fatal(err)
	}
	st := r.until("away", "finished", 3*time.Minute, finished)
	if st.GetPages() != 300 {
		t.Errorf("%d pages, want 300", st.GetPages())
	}
	r.verified("away")
}
