//go:build endurance

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"forager/cmd/forager/demo"
	"forager/cmd/internal/cli"
	"forager/cmd/internal/crawls"
	"forager/infra/simweb"
	"forager/internal/classify/critic"
	"forager/internal/page/dom"
	"forager/schemas"
)

// TestWritePrevious writes testdata/previous (see its README) for the version that follows: the data folder of a crawl that is paused in the
// middle, without the tables of ClickHouse, the archive and the passwords. PREVIOUS_DATA names the file.
func TestWritePrevious(t *testing.T) {
	g, err := demo.SimEnvironment(t.Context(), 20)
	if err != nil {
		t.Fatal(err)
	}
	g.Critic = smallCritic(t)
	web := &gated{handler: g.Handler, permits: make(chan struct{})}
	r := newRig(t, web, append(lasting(), "\nkafka:\n", "\nsnapshots:\n    every: 1h\nkafka:\n")...)
	r.parts()
	r.start(cli.StageNames)
	const crawl = "moved"
	r.begin(r.crawl(g, crawl, "apprentice+soft-focus-distilled", 100, func(c *schemas.CrawlControl) {
		c.Shards, c.Window, c.Politeness.AddressDelayMs = 2, 8, 1
		c.Distiller = &schemas.Distiller{Every: 10}
	}))
	web.permit(45)
	r.until(crawl, "under way", time.Minute, func(st *schemas.CrawlStatus) bool { return st.GetPages() > 38 && st.GetModel() != "" })
	r.mustRun("crawl", "pause", "--wait", "0s", crawl)
	close(web.permits)
	st := r.until(crawl, "at rest", time.Minute, func(st *schemas.CrawlStatus) bool {
		return st.GetState() == schemas.ShardState_SHARD_STATE_PAUSED && st.GetInFlight() == 0
	})
	t.Logf("%d pages, model %s", st.GetPages(), st.GetModel())
	if err := crawls.Settle(r.s, r.books, time.Minute); err != nil {
		t.Fatal(err)
	}
	r.mustRun("verify", crawl)
	if killed, err := r.stack.Stop(r.s, 30*time.Second); err != nil || len(killed) > 0 {
		t.Fatalf("killed %v, %v", killed, err)
	}
	cmd := exec.Command("tar", "-I", "zstd -19 --long=24", "-cf", os.Getenv("PREVIOUS_DATA"), "--sort=name", "--owner=0", "--group=0",
		"--exclude=LOCK", "--exclude=clickhouse", "--exclude=archive", "local", "state")
	cmd.Dir = filepath.Join(r.dir, "data")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("PREVIOUS_DATA must name a file: %v: %s", err, out)
	}
}

// smallCritic is demo.SimCritic, trained on few pages.
func smallCritic(t *testing.T) *critic.Model {
	w, err := simweb.New(simweb.Default(3))
	if err != nil {
		t.Fatal(err)
	}
	var set critic.Examples
	for _, topic := range append([]string{simweb.Other}, w.Topics()...) {
		for _, url := range w.Examples(topic, 5) {
			html, _, _ := w.Page(url)
			p, err := dom.Parse([]byte(html), "text/html; charset=utf-8", url, dom.Settings{})
			if err != nil {
				t.Fatal(err)
			}
			if err := set.AddPage(url, []string{topic}, p); err != nil {
				t.Fatal(err)
			}
		}
	}
	model, _, err := critic.Train(t.Context(), &set, critic.Settings{Exact: true, Cap: 300})
	if err != nil {
		t.Fatal(err)
	}
	return model
}
