//go:build endurance

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"forager/cmd/forager/demo"
	"forager/cmd/internal/cli"
	"forager/cmd/internal/models"
	"forager/infra/simweb"
	"forager/internal/frontier"
	"forager/internal/operate"
	"forager/internal/platform/objects"
	"forager/schemas"
)

// named is the longest time until the cause of a stall is named: 10 s on a machine that is three times as fast as the slowest that is
// supported.
const named = 30 * time.Second

// summary is the state of a crawl as forager crawl status has it.
func (r *rig) summary(t *testing.T, crawl string) operate.Summary {
	t.Helper()
	var list []operate.Summary
	if err := json.Unmarshal([]byte(r.mustRun("--json", "crawl", "status", crawl)), &list); err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	return list[0]
}

// summaryWhere waits until the state of a crawl has something.
func (r *rig) summaryWhere(t *testing.T, crawl, what string, within time.Duration, has func(operate.Summary) bool) {
	t.Helper()
	began := time.Now()
	for {
		x := r.summary(t, crawl)
		if has(x) {
			t.Logf("%4.1f s: %s", time.Since(began).Seconds(), x.Sentence)
			return
		}
		if time.Since(began) > within {
			t.Fatalf("after %s not %s: %s\n%+v", within, what, x.Sentence, x.Causes)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// cause waits until the state of a crawl names a cause, or none.
func (r *rig) cause(t *testing.T, crawl, cause, object string, within time.Duration) {
	t.Helper()
	r.summaryWhere(t, crawl, "the cause "+cause+" "+object, within, func(x operate.Summary) bool {
		got := operate.Cause{}
		if x.Main != nil {
			got = *x.Main
		}
		return got.Cause == cause && got.Object == object
	})
}

// TestEnduranceCauses: of a crawl that goes on no cause is named; each of those that a test can bring about in the pipeline is named in
// time, and the crawl goes on when it has gone.
func TestEnduranceCauses(t *testing.T) {
	t.Parallel()
	g, web := simulated(t)
	r := newRig(t, g.Handler, "rescore_batch: 2048", "rescore_batch: 1") // so that placing the URLs again takes a while
	r.parts()
	r.start(cli.StageNames)
	r.begin(r.crawl(g, "named", "soft-focus", 50_000, func(ctl *schemas.CrawlControl) { ctl.Politeness.DelayMs = 100 })) // leave the cores to the test
	r.until("named", "under way", time.Minute, func(st *schemas.CrawlStatus) bool { return st.GetPages() >= 100 })
	healthy := func(t *testing.T) { r.cause(t, "named", "", "", time.Minute) }
	signal := func(t *testing.T, stage string, s syscall.Signal) {
		t.Helper()
		if err := syscall.Kill(r.pid(stage+"-0"), s); err != nil {
			t.Fatal(err)
		}
	}
	for _, stage := range []string{"fetch", "parse-dom", "critic-score", "feature-extract", "prioritize"} {
		r.step(t, stage, func(t *testing.T) {
			healthy(t)
			signal(t, stage, syscall.SIGSTOP)
			defer signal(t, stage, syscall.SIGCONT)
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
	r.step(t, "too narrow a focus", func(t *testing.T) { r.stagnates(t, g, web) })
	r.step(t, "re-scoring", func(t *testing.T) {
		r.mustRun("crawl", "ranker", "named", "hard-defer")
		r.summaryWhere(t, "named", "re-scoring", named, func(x operate.Summary) bool {
			return slices.ContainsFunc(x.Causes, func(c operate.Cause) bool { return c.Cause == "rescoring" && c.Share > 0 }) && x.Activity != ""
		})
		healthy(t)
	})
	r.step(t, "disk", func(t *testing.T) {
		full := r.cfg.StateDir("full") // a file system without free space among the folders of the stages' state
		if err := os.Symlink("/proc", full); err != nil {
			t.Fatal(err)
		}
		r.cause(t, "named", "disk", full, named)
		if err := os.Remove(full); err != nil {
			t.Fatal(err)
		}
		healthy(t)
	})
	r.step(t, "critic and guide", func(t *testing.T) { r.loseModels(t, "named", healthy) })
}

// stagnates starts a crawl with a topic that its seeds are not about, and marks the topic above both, as the crawl's state advises.
func (r *rig) stagnates(t *testing.T, g *demo.Environment, web *simweb.Web) {
	branch, _, _ := strings.Cut(g.Topic, "/")
	sibling := web.Topics()[slices.IndexFunc(web.Topics(), func(other string) bool { return other != g.Topic && strings.HasPrefix(other, branch+"/") })]
	r.begin(r.crawl(g, "narrow", "hard-focus", 50_000, func(ctl *schemas.CrawlControl) { ctl.Focus = []string{sibling} }))
	st := r.until("narrow", "finished", time.Minute, finished)
	if st.GetEndReason() != frontier.EndStagnated || st.GetRejected()[g.Topic] == 0 {
		t.Fatalf("with %s in place of %s: %v", sibling, g.Topic, st)
	}
	for _, command := range [][]string{{"crawl", "status", "narrow"}, {"crawl", "list"}, {"crawl", "watch", "narrow"}} {
		out := r.mustRun(command...)
		for _, want := range []string{fmt.Sprintf("rejected as %s (", g.Topic), fmt.Sprintf("to mark good: %s (", branch), "forager crawl focus narrow --good TOPIC"} {
			if !strings.Contains(out, want) {
				t.Errorf("%v lacks %q:\n%s", command, want, out)
			}
		}
	}
	r.mustRun("crawl", "focus", "narrow", "--good", r.summary(t, "narrow").Marks[0].Topic)
	r.mustRun(append([]string{"crawl", "resume", "narrow"}, web.Examples(g.Topic, 8)[5:]...)...)
	r.until("narrow", "beyond its seeds", time.Minute, func(st *schemas.CrawlStatus) bool { return st.GetPages() > uint64(len(g.Seeds))+20 })
	r.mustRun("crawl", "stop", "narrow")
}

// loseModels gives a crawl a critic and a guide whose objects are lost before critic-score reads them, and brings them back one by one.
func (r *rig) loseModels(t *testing.T, crawl string, healthy func(t *testing.T)) {
	store, err := objects.Open(r.cfg.S3)
	if err != nil {
		t.Fatal(err)
	}
	guide, err := os.ReadFile("../../../internal/rank/pageguide/testdata/v1-memm.guide")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := models.PublishGuide(r.s, "lost", "", guide); err != nil {
		t.Fatal(err)
	}
	ctl, err := r.books.Control(crawl)
	if err != nil {
		t.Fatal(err)
	}
	r.mustRun("critic", "rules", r.file("lost.rules", ctl.GetFocus()[0]+": text has 'a'\n"), "--name", "lost")
	stopped := r.pid("critic-score-0")
	if err := syscall.Kill(stopped, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	r.mustRun("crawl", "critic", crawl, "lost")
	r.mustRun("crawl", "ranker", crawl, "memm-marginal", "--guide", "memm-marginal=lost")
	if ctl, err = r.books.Control(crawl); err != nil {
		t.Fatal(err)
	}
	lost := []struct{ kind, version string }{{"critic", ctl.GetCritic()}, {"guide", ctl.GetPolicies()[0].GetGuide()}}
	kept := make([][]byte, len(lost))
	for i, m := range lost {
		if kept[i], err = store.Get(r.s, schemas.ModelObject(m.kind, m.version)); err != nil {
			t.Fatal(err)
		}
		if err := store.Delete(r.s, schemas.ModelObject(m.kind, m.version)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Kill(stopped, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	for i, m := range lost {
		r.cause(t, crawl, "missing", m.kind+" "+m.version, named)
		if err := store.Put(r.s, schemas.ModelObject(m.kind, m.version), bytes.NewReader(kept[i]), int64(len(kept[i]))); err != nil {
			t.Fatal(err)
		}
	}
	healthy(t)
}
