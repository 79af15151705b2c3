package e2e

import (
	"testing"
	"time"

	"forager/cmd/internal/cli"
)

// TestACrawlThroughEveryStage runs one crawl through all stages, with the apprentice.
func TestACrawlThroughEveryStage(t *testing.T) {
	t.Parallel()
	g, _ := simulated(t)
	change, addresses := observed(t)
	r := newRig(t, g.Handler, change...)
	r.parts()
	r.start(cli.StageNames)
	r.begin(r.crawl(g, "loop", "apprentice", 300, nil))
	st := r.until("loop", "finished", 2*time.Minute, finished)
	if st.GetPages() != 300 || st.GetEndReason() != "pages budget spent" {
		t.Errorf("%d pages, ended with %q", st.GetPages(), st.GetEndReason())
	}
	if st.GetModel() == "" || st.GetTrained() == 0 {
		t.Errorf("the apprentice learnt nothing: model %q, %d leaps trained", st.GetModel(), st.GetTrained())
	}
	r.verified("loop")
	r.step(t, "metrics", func(t *testing.T) { r.testMetrics(t, addresses) })
	e := r.evidence("loop")
	auditMutations(t, e)
	r.garbage(e)
	r.damage("loop")
	r.begin(r.crawl(g, "forgotten", "soft-focus", 100, nil))
	r.until("forgotten", "finished", time.Minute, finished)
	r.verified("forgotten")
	r.retention("forgotten")
}
