package main

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"forager/internal/frontier"
	"forager/schemas"
)

// proxy is the web of a rig behind an address of its own, which can be away.
type proxy struct {
	t       *testing.T
	handler http.Handler
	address string
	server  *httptest.Server
}

func newProxy(t *testing.T, handler http.Handler) *proxy {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{t: t, handler: handler, address: l.Addr().String()}
	l.Close()
	t.Cleanup(func() { p.leave() })
	return p
}

func (p *proxy) come() {
	p.t.Helper()
	l, err := net.Listen("tcp", p.address)
	if err != nil {
		p.t.Fatal(err)
	}
	p.server = &httptest.Server{Listener: l, Config: &http.Server{Handler: p.handler}}
	p.server.Start()
}

func (p *proxy) leave() {
	if p.server != nil {
		p.server.CloseClientConnections()
		p.server.Close()
		p.server = nil
	}
}

// TestAnOutageOfTheProxy starts a crawl while its proxy is away, takes the proxy away again in the middle, and then continues
// the crawl after its end: with a larger budget, with further seeds, with failed URLs tried again, and from the topics alone.
func TestAnOutageOfTheProxy(t *testing.T) {
	for _, test := range []struct {
		name   string
		shards uint32
	}{{"one", 1}, {"three", 3}} {
		t.Run(test.name, func(t *testing.T) { outageOfTheProxy(t, test.shards) })
	}
}

func outageOfTheProxy(t *testing.T, shards uint32) {
	g, _ := simulated(t)
	p := newProxy(t, g.handler)
	r := newRig(t, g.handler)
	b, err := os.ReadFile(r.path)
	if err != nil {
		t.Fatal(err)
	}
	rewired := strings.Replace(string(b), r.cfg.Stages.Fetch.Proxy, "http://"+p.address, 1)
	if err := os.WriteFile(r.path, []byte(rewired), 0o644); err != nil {
		t.Fatal(err)
	}
	r.parts()
	r.start(stageNames)
	seeds := g.seeds
	c := r.crawl(g, "away", "soft-focus", 150, func(c *schemas.CrawlControl) { c.Shards = shards })
	r.begin(c)

	st := r.until("away", "waiting for the network", time.Minute, func(st *schemas.CrawlStatus) bool { return st.GetOutage() != nil })
	if st.GetRequests() != 0 || st.GetPages() != 0 || st.GetQueued() == 0 {
		t.Errorf("with the proxy away: %v", st)
	}
	for _, command := range [][]string{{"crawl", "status", "away"}, {"crawl", "list"}, {"report", "away"}} {
		if out := r.mustRun(command...); !strings.Contains(out, "network unreachable since") || !strings.Contains(out, "the proxy cannot be reached") {
			t.Errorf("%v:\n%s", command, out)
		}
	}
	if out, _, code := r.run("doctor"); code == exitOK || !strings.Contains(out, "BAD  proxy") || !strings.Contains(out, "away: network unreachable") {
		t.Errorf("doctor, exit %d:\n%s", code, out)
	}
	p.come()
	r.until("away", "under way", 2*time.Minute, func(st *schemas.CrawlStatus) bool { return st.GetPages() > 30 })
	p.leave()
	before := r.until("away", "waiting again", time.Minute, func(st *schemas.CrawlStatus) bool {
		return st.GetOutage() != nil && st.GetInFlight() <= uint64(2*shards)
	})
	p.come()
	st = r.until("away", "finished", 2*time.Minute, finished)
	if st.GetEndReason() != frontier.EndPages || st.GetPages() != 150 {
		t.Errorf("after the outage it ended with %v (before: %v)", st, before)
	}
	if n := st.GetOutcomes()["connection-failed"]; n != 0 || st.GetOutcomes()["network-unreachable"] == 0 {
		t.Errorf("outcomes %v", st.GetOutcomes())
	}
	r.verified("away")

	r.fails(t, exitFailure, []string{"crawl", "resume", "away"}, "--pages")
	r.fails(t, exitFailure, []string{"crawl", "resume", "away", "--pages", "100"}, "only raised")
	r.mustRun("crawl", "resume", "away", "--pages", "170")
	st = r.until("away", "finished with more pages", time.Minute, func(st *schemas.CrawlStatus) bool { return finished(st) && st.GetPages() == 170 })
	r.mustRun("crawl", "resume", "away", "--pages", "180", seeds[0]+"further/seed")
	r.until("away", "finished with further seeds", time.Minute, func(st *schemas.CrawlStatus) bool { return finished(st) && st.GetPages() == 180 })

	r.loseState(t)
	r.mustRun("crawl", "resume", "away", "--pages", "200", "--retry-failed")
	r.until("away", "finished from the topics", 2*time.Minute, func(st *schemas.CrawlStatus) bool { return finished(st) && st.GetPages() == 200 })
	r.verified("away")
	if out := r.mustRun("doctor"); strings.Contains(out, "BAD") || !strings.Contains(out, "none waits for the network") {
		t.Errorf("doctor:\n%s", out)
	}
}

// loseState ends prioritize, removes its state and starts it again.
func (r *rig) loseState(t *testing.T) {
	t.Helper()
	pid := r.pid("prioritize-0")
	process, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := r.gone("prioritize-0", 10*time.Second); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(r.cfg.Data, "state", "prioritize")); err != nil {
		t.Fatal(err)
	}
	r.start([]string{"prioritize"})
}
