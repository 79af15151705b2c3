//go:build endurance || kafka

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"forager/cmd/forager/deploy"
	"forager/cmd/internal/cli"
	"forager/cmd/internal/crawls"
	"forager/schemas"
)

// stateful are the stages that keep state.
var stateful = []string{"prioritize", "apprentice-train", "distill"}

// loses removes the state of stages that do not run.
func (r *rig) loses(stages ...string) {
	r.t.Helper()
	for _, stage := range stages {
		if err := os.RemoveAll(filepath.Join(r.cfg.Data, "state", stage)); err != nil {
			r.t.Fatal(err)
		}
	}
}

// end ends the first process of a stage by a signal, and returns the end of its log.
func (r *rig) end(stage string, by syscall.Signal) string {
	r.t.Helper()
	name := stage + "-0"
	log := filepath.Join(r.stack.Logs(), name+".log")
	if err := syscall.Kill(r.pid(name), by); err != nil {
		r.t.Fatal(err)
	}
	if err := r.gone(name, time.Minute); err != nil {
		r.t.Fatal(err)
	}
	return deploy.LastLines(log, 40)
}

// TestEnduranceRestore continues a crawl of two shards that a version before has begun, with state of an older layout. In its middle prioritize is
// killed and its directory is lost; then the stages with state are stopped, lose theirs, and the topics lose every record from before.
func TestEnduranceRestore(t *testing.T) {
	t.Parallel()
	g, _ := simulated(t)
	r := newRig(t, g.Handler, append(lasting(), "\nkafka:\n", "\nsnapshots:\n    every: 500ms\nkafka:\n")...)
	r.unpack()
	r.parts()
	r.readsRecords()
	r.mustRun("reload")
	r.start(cli.StageNames)
	const crawl = "moved"
	r.mustRun("crawl", "resume", crawl, "--pages", "50000")
	before := r.books.Status(crawl)
	r.until(crawl, "going on", time.Minute, func(st *schemas.CrawlStatus) bool { return st.GetPages() > before.GetPages()+60 })
	if n := r.logged("prioritize-0", "is rebuilt from the topics"); n != 2 {
		t.Errorf("prioritize rebuilt the state of %d partitions of 2 with another layout", n)
	}
	if n := r.logged("prioritize-0", "reason=layout"); n == 0 {
		t.Error("no snapshot of another layout is named")
	}
	for _, stage := range []string{"apprentice-train-0", "distill-0"} {
		if n := r.logged(stage, "rebuilt from the topics") + r.logged(stage, "restored from a snapshot"); n > 0 {
			t.Errorf("%s did not use its state", stage)
		}
	}
	wait(t, "there are snapshots", func() bool { return r.logged("prioritize-0", "msg=snapshot ") > 8 })
	r.end("prioritize", syscall.SIGKILL)
	r.loses("prioritize")
	r.start([]string{"prioritize"})
	at := r.books.Status(crawl).GetPages()
	r.until(crawl, "going on", time.Minute, func(st *schemas.CrawlStatus) bool { return st.GetPages() > at+40 })
	if n := r.logged("prioritize-0", "restored from a snapshot"); n == 0 {
		t.Error("prioritize restored nothing")
	}

	r.mustRun("crawl", "pause", crawl)
	r.until(crawl, "at rest", time.Minute, func(st *schemas.CrawlStatus) bool {
		return st.GetState() == schemas.ShardState_SHARD_STATE_PAUSED && st.GetInFlight() == 0
	})
	if err := crawls.Settle(r.s, r.books, time.Minute); err != nil {
		t.Fatal(err)
	}
	for _, stage := range stateful {
		if left := r.end(stage, syscall.SIGTERM); strings.Contains(left, "no snapshot") {
			t.Errorf("%s left no snapshot:\n%s", stage, left)
		}
	}
	r.loses(stateful...)
	r.forget(schemas.TopicLinkFound, schemas.TopicFetchRequested, schemas.TopicLeapSettled)
	r.start(stateful)
	r.mustRun("crawl", "resume", crawl)
	at = r.books.Status(crawl).GetPages()
	r.until(crawl, "going on", time.Minute, func(st *schemas.CrawlStatus) bool { return st.GetPages() > at+40 })
	r.mustRun("crawl", "stop", crawl)
	if st := r.until(crawl, "finished", time.Minute, finished); st.GetEndReason() != "stopped" || st.GetInFlight() != 0 {
		t.Errorf("ended with %v", st)
	}
	for _, stage := range stateful {
		if n := r.logged(stage+"-0", "restored from a snapshot"); n == 0 {
			t.Errorf("%s restored nothing", stage)
		}
	}
	if err := crawls.Settle(r.s, r.books, time.Minute); err != nil {
		t.Fatal(err)
	}
	if out := r.mustRun("doctor"); !strings.Contains(out, "apprentice-train 2") || !strings.Contains(out, "distill 2") || !strings.Contains(out, "prioritize 2") {
		t.Errorf("doctor shows no times of snapshots:\n%s", out)
	}
	if out := r.mustRun("verify", crawl); !strings.Contains(out, "everything agrees") {
		t.Errorf("verify:\n%s", out)
	}
}
