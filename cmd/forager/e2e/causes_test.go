package e2e

import (
	"encoding/json"
	"syscall"
	"testing"
	"time"

	"forager/cmd/internal/cli"
	"forager/internal/operate"
	"forager/schemas"
)

// named is the longest time until the cause of a stall is named: 10 s on a machine that is three times as fast as the slowest that is
// supported.
const named = 30 * time.Second

// cause waits until the state of a crawl names a cause, or none.
func (r *rig) cause(t *testing.T, crawl, cause, object string, within time.Duration) {
	t.Helper()
	began := time.Now()
	for {
		var list []operate.Summary
		if err := json.Unmarshal([]byte(r.mustRun("--json", "crawl", "status", crawl)), &list); err != nil || len(list) != 1 {
			t.Fatal(list, err)
		}
		x, got := list[0], operate.Cause{}
		if x.Main != nil {
			got = *x.Main
		}
		if got.Cause == cause && got.Object == object {
			t.Logf("%4.1f s: %s", time.Since(began).Seconds(), x.Sentence)
			return
		}
		if time.Since(began) > within {
			t.Fatalf("after %s: %s\n%+v", within, x.Sentence, x.Causes)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// TestCausesAreNamed: of a crawl that goes on no cause is named; each stage that does not run, and a pause, are named in time.
func TestCausesAreNamed(t *testing.T) {
	t.Parallel()
	g, _ := simulated(t)
	r := newRig(t, g.Handler)
	r.parts()
	r.start(cli.StageNames)
	r.begin(r.crawl(g, "named", "soft-focus", 50_000, nil))
	r.until("named", "under way", time.Minute, func(st *schemas.CrawlStatus) bool { return st.GetPages() >= 100 })
	healthy := func(t *testing.T) { r.cause(t, "named", "", "", time.Minute) }
	for _, stage := range []string{"fetch", "parse-dom", "critic-score", "feature-extract", "prioritize"} {
		r.step(t, stage, func(t *testing.T) {
			healthy(t)
			pid := r.pid(stage + "-0")
			if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
					t.Error(err)
				}
			}()
			r.cause(t, "named", "stage", stage, named)
		})
	}
	r.step(t, "pause", func(t *testing.T) {
		healthy(t)
		r.mustRun("crawl", "pause", "named")
		r.cause(t, "named", "paused", "", named)
		r.mustRun("crawl", "resume", "named")
		healthy(t)
	})
}
