package e2e

import (
	"slices"
	"strings"
	"testing"
	"time"

	"forager/cmd/internal/cli"
	"forager/internal/audit"
	"forager/schemas"
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

// TestKilledStages kills every stage at critical points while records wait, restarts it, and checks that the
// crawl is complete, the audit finds no difference, and duplicates occurred and were dropped.
func TestKilledStages(t *testing.T) {
	t.Parallel()
	g, _ := simulated(t)
	r := newRig(t, g.Handler)
	r.parts()
	failpoints := map[string]string{
		"fetch": "segment-before-record:3", "parse-dom": "acked-before-commit:3", "critic-score": "acked-before-commit:3",
		"feature-extract": "acked-before-commit:3", "prioritize": "owner-acked-before-batch:8",
		"apprentice-train": "owner-acked-before-batch:3", "distill": "owner-acked-before-batch:2", "load-clickhouse": "inserted-before-commit:2",
		"archive-parquet": "archived-a-part:3",
	}
	for _, stage := range cli.StageNames {
		if failpoints[stage] == "" {
			t.Fatalf("%s has no failpoint here", stage)
		}
		r.start([]string{stage}, "FORAGER_FAILPOINT="+failpoints[stage])
	}
	r.begin(r.crawl(g, "killed", "apprentice", 300, func(ctl *schemas.CrawlControl) {
		both := ranked(t, "apprentice+soft-focus-distilled", nil) // so that every stage has output
		ctl.Policies, ctl.Mixture, ctl.Distiller = both.Policies, both.Mixture, &schemas.Distiller{Every: 10}
	}))
	for _, stage := range cli.StageNames {
		if err := r.gone(stage+"-0", 3*time.Minute); err != nil {
			t.Fatalf("its failpoint was never reached: %v", err)
		}
		r.start([]string{stage})
	}
	// Again, each at an arbitrary moment.
	for _, stage := range cli.StageNames {
		// Not while it joins: the embedded broker never removes a member that dies between its join and its
		// sync (a real one does after the session timeout).
		r.until("killed", stage+" in its group", time.Minute, func(*schemas.CrawlStatus) bool { return r.joined(stage + "-0") })
		r.kill(stage + "-0")
		r.start([]string{stage})
	}
	st := r.until("killed", "finished", 3*time.Minute, finished)
	if st.GetPages() != 300 {
		t.Errorf("%d pages, want 300", st.GetPages())
	}
	if st.GetDuplicates() == 0 {
		t.Error("no duplicate came: the kills proved nothing")
	}
	figures := r.verified("killed").Figures
	if i := slices.IndexFunc(figures, func(f audit.Figure) bool { return strings.HasPrefix(f.Name, "segments of the store that no record") }); figures[i].Value == 0 {
		t.Error("fetch was killed behind a segment and before its records, and there is no orphan")
	}
}
