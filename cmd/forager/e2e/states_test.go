package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"forager/cmd/forager/demo"
	"forager/cmd/forager/root"
	"forager/cmd/internal/cli"
	"forager/cmd/internal/crawls"
	"forager/internal/crawl/crawlfile"
	"forager/schemas"
)

// testPause pauses a running crawl, gives it seeds, and resumes it.
func (r *rig) testPause(t *testing.T, crawl string, g *demo.Environment) {
	var x crawls.Summary
	for range 2 { // pausing a paused crawl is not an error
		if err := json.Unmarshal([]byte(r.mustRun("--json", "crawl", "pause", crawl)), &x); err != nil || x.State != "paused" || x.InFlight != 0 {
			t.Fatalf("crawl pause: %v, %+v", err, x)
		}
	}
	if out := r.mustRun("crawl", "status", crawl); !strings.Contains(out, "paused") {
		t.Errorf("crawl status of a paused crawl:\n%s", out)
	}
	if out := r.mustRun("crawl", "list"); !strings.Contains(out, "paused") || !strings.Contains(out, "soft-focus") {
		t.Errorf("crawl list:\n%s", out)
	}
	before := r.books.Status(crawl)
	r.mustRun("crawl", "seeds", crawl, g.Seeds[0]+"none/1", g.Seeds[0]+"none/2")
	st := r.until(crawl, "longer by two seeds", time.Minute, func(st *schemas.CrawlStatus) bool { return st.GetQueued() == before.GetQueued()+2 })
	if st.GetDispatched() != before.GetDispatched() {
		t.Errorf("%d requests were dispatched while the crawl was paused", st.GetDispatched()-before.GetDispatched())
	}
	r.mustRun("crawl", "seeds", crawl, g.Seeds[0]+"none/1", g.Seeds[0]+"none/2") // known ones have no effect
	if st := r.books.Status(crawl); st.GetQueued() != before.GetQueued()+2 {
		t.Errorf("%d entries wait, want %d", st.GetQueued(), before.GetQueued()+2)
	}
	urls, stderr, code := r.run("export", crawl, "--format", "urls")
	if n := strings.Count(urls, "\n"); code != cli.ExitOK || n == 0 || uint64(n) > before.GetPages() || !strings.Contains(stderr, "has not finished") {
		t.Errorf("export of a crawl under way: exit %d, %d URLs of %d pages, %s", code, n, before.GetPages(), stderr)
	}
	r.testSwitch(t, crawl)
	if out := r.mustRun("crawl", "resume", crawl); !strings.Contains(out, "running") {
		t.Errorf("crawl resume: %q", out)
	}
	r.until(crawl, "under way again", time.Minute, func(st *schemas.CrawlStatus) bool { return st.GetPages() > before.GetPages()+20 })
	st = r.until(crawl, "ranked by an arm of the mixture", time.Minute, func(st *schemas.CrawlStatus) bool {
		return len(st.GetArms()) == len(crawlfile.Arms) && st.GetArms()[0].GetCredited() > 0
	})
	var chosen uint64
	for _, a := range st.GetArms() {
		chosen += a.GetChosen()
	}
	if chosen != st.GetDispatched()-before.GetDispatched() {
		t.Errorf("the arms chose %d requests of %d: %v", chosen, st.GetDispatched()-before.GetDispatched(), st.GetArms())
	}
	r.fails(t, cli.ExitUsage, []string{"crawl", "seeds", crawl}, "give URLs")
	r.fails(t, cli.ExitFailure, []string{"crawl", "seeds", crawl, "chemistry", "ftp://a.test/"}, "chemistry", "ftp://a.test/", "nothing was sent")
	r.fails(t, cli.ExitFailure, []string{"crawl", "seeds", crawl, "-f", r.file("none.urls", "# none\n")}, "none.urls holds no URL")
	r.fails(t, cli.ExitFailure, []string{"crawl", "seeds", crawl, "-f", r.file("long.urls", "http://a.test/\n"+strings.Repeat("x", 1<<20))}, "line 2 has more than")
	r.testCtrlC(t, crawl)
}

// testCtrlC interrupts crawl watch, which leaves the crawl running.
func (r *rig) testCtrlC(t *testing.T, crawl string) {
	ctx, cancel := context.WithCancel(r.s)
	defer cancel()
	printed := &callsOff{cancel: cancel}
	code := root.Run(ctx, []string{"--config", r.path, "crawl", "watch", crawl}, io.Discard, printed)
	if want := fmt.Sprintf("forager: interrupted; crawl %q goes on", crawl); code != cli.ExitFailure || !strings.Contains(printed.String(), want) {
		t.Errorf("crawl watch: exit %d, %s; want %q", code, printed, want)
	}
}

// callsOff is a standard error that interrupts the command at the first line.
type callsOff struct {
	bytes.Buffer
	cancel func()
}

func (c *callsOff) Write(b []byte) (int, error) {
	c.cancel()
	return c.Buffer.Write(b)
}

// testSwitch switches a paused crawl to the mixture.
func (r *rig) testSwitch(t *testing.T, crawl string) {
	if out := r.mustRun("crawl", "ranker", crawl, "mixture"); !strings.Contains(out, "is ranked by mixture, was by soft-focus\nits apprentice learns from now on") {
		t.Errorf("crawl ranker: %q", out)
	}
	if out := r.mustRun("crawl", "list"); !strings.Contains(out, "mixture") {
		t.Errorf("crawl list:\n%s", out)
	}
	if out := r.mustRun("crawl", "ranker", crawl, "--shadow", "in-links", "--shadow", "apprentice"); !strings.Contains(out, "for comparison only: in-links, apprentice") {
		t.Errorf("shadows: %q", out)
	}
	if out := r.mustRun("crawl", "ranker", crawl, "apprentice"); !strings.Contains(out, "for comparison only: in-links\n") {
		t.Errorf("a shadow that leads from now on: %q", out)
	}
	if out := r.mustRun("crawl", "ranker", crawl, "mixture", "--no-shadow"); strings.Contains(out, "not used") {
		t.Errorf("no shadow: %q", out)
	}
	for shadow, want := range map[string]string{
		"psychic": "known: unfocused", "hard-defer": "ranks the crawl already", "mixture": "its arms can be", "memm-states": "name a published one", "fish-search": "forager-lab experiment",
	} {
		r.fails(t, cli.ExitUsage, []string{"crawl", "ranker", crawl, "--shadow", shadow}, want)
	}
	r.fails(t, cli.ExitUsage, []string{"crawl", "ranker", crawl}, "name a ranker")
	r.fails(t, cli.ExitUsage, []string{"crawl", "ranker", crawl, "--expand", "page"}, "hold for a whole crawl")
	r.fails(t, cli.ExitUsage, []string{"crawl", "ranker", crawl, "psychic"}, "psychic", "soft-focus")
	r.fails(t, cli.ExitFailure, []string{"crawl", "ranker", "none", "mixture"}, "none")
}
