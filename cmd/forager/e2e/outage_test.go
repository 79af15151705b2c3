//go:build endurance

package e2e

import (
	"encoding/json"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"forager/cmd/forager/demo"
	"forager/cmd/internal/cli"
	"forager/internal/frontier"
	"forager/internal/platform/analytics"
	"forager/internal/platform/freeport"
	"forager/internal/testkit/nameserver"
	"forager/schemas"
)

// absent is a web server at its own address, which can be stopped.
type absent struct {
	t       *testing.T
	handler http.Handler
	address string
	server  *httptest.Server
}

// newAbsent finds a port of an address; no server listens there yet.
func newAbsent(t *testing.T, address string, handler http.Handler) *absent {
	t.Helper()
	free, err := freeport.Addresses(1)
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(free[0])
	if err != nil {
		t.Fatal(err)
	}
	p := &absent{t: t, handler: handler, address: net.JoinHostPort(address, port)}
	t.Cleanup(func() { p.leave() })
	return p
}

func (p *absent) come() {
	p.t.Helper()
	l, err := net.Listen("tcp", p.address)
	if err != nil {
		p.t.Fatal(err)
	}
	p.server = &httptest.Server{Listener: l, Config: &http.Server{Handler: p.handler}}
	p.server.Start()
}

func (p *absent) leave() {
	if p.server != nil {
		// A client whose connection breaks must find that no other can be made.
		p.server.Listener.Close()
		p.server.CloseClientConnections()
		p.server.Close()
		p.server = nil
	}
}

// TestEnduranceProxyAway starts a crawl of three shards while its proxy is down, stops the proxy again in the middle, and then
// continues the crawl after its end: with a larger budget, with further seeds, with failed URLs, and with its
// state rebuilt from the topics. TestEnduranceHostsAway has an outage of a crawl of one shard.
func TestEnduranceProxyAway(t *testing.T) {
	t.Parallel()
	g, _ := simulated(t)
	// The proxy answers so many requests for pages before it is stopped, and all others afterwards.
	var left atomic.Int64
	left.Store(60)
	p := newAbsent(t, "127.0.0.1", http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/robots.txt" && left.Add(-1) < 0 {
			<-r.Context().Done()
			return
		}
		g.Handler.ServeHTTP(rw, r)
	}))
	r := newRig(t, g.Handler)
	b, err := os.ReadFile(r.path)
	if err != nil {
		t.Fatal(err)
	}
	rewired := strings.Replace(string(b), r.cfg.Stages.Fetch.Proxy, "http://"+p.address, 1)
	if err := os.WriteFile(r.path, []byte(rewired), 0o644); err != nil {
		t.Fatal(err)
	}
	r.parts()
	r.start(cli.StageNames)
	seeds := g.Seeds
	c := r.crawl(g, "away", "soft-focus", 150, func(c *schemas.CrawlControl) { c.Shards = 3 })
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
	r.watchUntil("away", "network unreachable since")
	out, _, code := r.run("doctor")
	if code == cli.ExitOK || !strings.Contains(out, "BAD  proxy") || !strings.Contains(out, "\nok   resolver") || !strings.Contains(out, "away: network unreachable") {
		t.Errorf("doctor, exit %d:\n%s", code, out)
	}
	p.come()
	r.until("away", "under way", 2*time.Minute, func(st *schemas.CrawlStatus) bool { return st.GetPages() > 30 })
	p.leave()
	before := r.until("away", "waiting again", time.Minute, func(st *schemas.CrawlStatus) bool {
		return st.GetOutage() != nil && st.GetInFlight() <= 2*3
	})
	left.Store(math.MaxInt64)
	p.come()
	st = r.until("away", "finished", 2*time.Minute, finished)
	if st.GetEndReason() != frontier.EndPages || st.GetPages() != 150 {
		t.Errorf("after the outage it ended with %v (before: %v)", st, before)
	}
	// A request that was in flight when the proxy came back may have lost its connection only then.
	if n := st.GetOutcomes()["connection-failed"]; n > uint64(before.GetInFlight()) || st.GetOutcomes()["network-unreachable"] == 0 {
		t.Errorf("outcomes %v", st.GetOutcomes())
	}
	r.verified("away")
	if out := r.mustRun("report", "away"); !strings.Contains(out, "NETWORK UNREACHABLE") || !strings.Contains(out, "the proxy cannot be reached") {
		t.Errorf("report after the outages:\n%s", out)
	}

	r.fails(t, cli.ExitFailure, []string{"crawl", "resume", "away"}, "--pages")
	r.fails(t, cli.ExitFailure, []string{"crawl", "resume", "away", "--pages", "100"}, "only raised")
	r.mustRun("crawl", "resume", "away", "--pages", "170")
	r.until("away", "finished with more pages", time.Minute, func(st *schemas.CrawlStatus) bool { return finished(st) && st.GetPages() == 170 })
	r.mustRun("crawl", "resume", "away", "--pages", "180", seeds[0]+"further/seed")
	r.until("away", "finished with further seeds", time.Minute, func(st *schemas.CrawlStatus) bool { return finished(st) && st.GetPages() == 180 })

	r.kill("prioritize-0")
	r.loses("prioritize")
	r.start([]string{"prioritize"})
	r.mustRun("crawl", "resume", "away", "--pages", "200", "--retry-failed")
	r.until("away", "finished from the topics", 2*time.Minute, func(st *schemas.CrawlStatus) bool { return finished(st) && st.GetPages() == 200 })
	r.verified("away")
	if out := r.mustRun("doctor"); strings.Contains(out, "BAD") || !strings.Contains(out, "none waits for the network") {
		t.Errorf("doctor:\n%s", out)
	}
}

// pages is a web of hosts, each with that many pages, which link to all others of their host and to the next host.
type pages struct {
	hosts []*absent
	each  int
	// fails: pages called /flaky get an error.
	fails atomic.Bool
}

func newPages(t *testing.T, hosts, each int) *pages {
	w := &pages{each: each}
	for i := range hosts { // in different networks
		w.hosts = append(w.hosts, newAbsent(t, fmt.Sprintf("127.77.%d.1", i+1), w.host(i)))
	}
	return w
}

func (w *pages) url(host int, path string) string { return "http://" + w.hosts[host].address + path }

func (w *pages) host(i int) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/robots.txt":
			http.NotFound(rw, r)
			return
		case r.URL.Path == "/flaky" && w.fails.Load():
			http.Error(rw, "for a while", http.StatusInternalServerError)
			return
		}
		rw.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(rw, "<title>%s</title>", r.URL.Path)
		for k := range w.each {
			fmt.Fprintf(rw, "<p><a href=/%d>page %d</a>", k, k)
		}
		fmt.Fprintf(rw, "<p><a href=%s>another host</a>", w.url((i+1)%len(w.hosts), "/0"))
	})
}

// TestEnduranceHostsAway crawls hosts without a proxy. In one crawl six are down: their URLs are kept while the others
// continue, and fetched when a host is up again before the crawl's patience ends; what was given up, and what
// failed, is retried when the operator requests it. In the other crawl all hosts go down at once: it is
// suspended, is not charged, and continues by itself. A third crawl loses its resolver.
func TestEnduranceHostsAway(t *testing.T) {
	t.Parallel()
	g, _ := simulated(t)
	w, resolver := newPages(t, 10, 12), nameserver.Free(t)
	r := newRig(t, g.Handler, "retry_delay: 30s", "retry_delay: 1s")
	b, err := os.ReadFile(r.path)
	if err != nil {
		t.Fatal(err)
	}
	proxy := "proxy: " + r.cfg.Stages.Fetch.Proxy
	before, _, _ := strings.Cut(string(b), proxy)
	indent := before[strings.LastIndex(before, "\n"):]
	rewired := strings.Replace(string(b), proxy, "allow_private: [127.0.0.1, 127.77.0.0/16]"+indent+"resolver: "+resolver, 1)
	if err := os.WriteFile(r.path, []byte(rewired), 0o644); err != nil {
		t.Fatal(err)
	}
	r.parts()
	r.start(cli.StageNames)
	ended := func(name, reason string, pages, others uint64) {
		t.Helper()
		st := r.until(name, "finished", 2*time.Minute, finished)
		if st.GetEndReason() != reason || st.GetPages() != pages || st.GetRequests() != pages+others {
			t.Errorf("%s ended with %v", name, st)
		}
	}

	late, dead := w.hosts[4], w.hosts[5:]
	for _, h := range w.hosts[:4] {
		h.come()
	}
	w.fails.Store(true)
	c := r.crawl(g, "some", "soft-focus", 500, func(c *schemas.CrawlControl) { c.MaxAttempts = 1 })
	c.Seeds = []string{w.url(0, "/0"), w.url(0, "/flaky"), w.url(4, "/0"), w.url(9, "/2")}
	for i := range dead {
		c.Seeds = append(c.Seeds, w.url(5+i, "/1"))
	}
	r.begin(c)
	others := uint64(4 * 12)
	st := r.until("some", "waiting for six hosts", time.Minute, func(st *schemas.CrawlStatus) bool {
		return st.GetPages() == others && st.GetUnreachable().GetHosts() == 6 && st.GetInFlight() == 0
	})
	if finished(st) || st.GetOutage() != nil || st.GetUnreachable().GetUrls() != 7 || st.GetRequests() != others+1 {
		t.Errorf("while two hosts are away: %v", st)
	}
	if out := r.mustRun("crawl", "status", "some"); !strings.Contains(out, "6 hosts do not answer") || !strings.Contains(out, "7 URLs wait") {
		t.Errorf("crawl status:\n%s", out)
	}
	late.come()
	r.until("some", "the host that came back is fetched", time.Minute, func(st *schemas.CrawlStatus) bool {
		return st.GetPages() == others+12 && st.GetUnreachable().GetHosts() == 5
	})
	if _, err := r.books.Update(r.s, "some", func(c *schemas.CrawlControl) { c.HostPatienceS = 1 }); err != nil {
		t.Fatal(err)
	}
	ended("some", frontier.EndUnreachable, others+12, 1)
	r.fails(t, cli.ExitFailure, []string{"crawl", "resume", "some"}, "--retry-failed")
	w.fails.Store(false)
	for _, h := range dead {
		h.come()
	}
	r.mustRun("crawl", "resume", "some", "--retry-failed")
	r.until("some", "going on", time.Minute, func(st *schemas.CrawlStatus) bool { return st.GetPages() > others+12 })
	ended("some", frontier.EndEmpty, 10*12+1, 1) // /flaky was charged twice
	r.verified("some")

	c = r.crawl(g, "all", "soft-focus", 500, func(c *schemas.CrawlControl) { c.Shards, c.Window = 2, 8 })
	c.Seeds = nil
	for i, h := range w.hosts {
		c.Seeds = append(c.Seeds, w.url(i, "/0"))
		h.leave()
	}
	r.begin(c)
	st = r.until("all", "waiting for the network", time.Minute, func(st *schemas.CrawlStatus) bool { return st.GetOutage() != nil })
	if st.GetRequests() != 0 || st.GetQueued() == 0 || !strings.Contains(st.GetOutage().GetCause(), "sites in a row did not answer") {
		t.Errorf("with all hosts away: %v", st)
	}
	for _, h := range w.hosts {
		h.come()
	}
	ended("all", frontier.EndEmpty, 10*12, 0)
	r.verified("all")

	resolverAway(t, r, g, resolver)
}

// resolverAway crawls hosts that have names, each of whose requests needs a look-up. The resolver is away at first, and
// again in the middle.
func resolverAway(t *testing.T, r *rig, g *demo.Environment, resolver string) {
	const hosts, each = 10, 12
	w := &pages{each: each}
	var mu sync.Mutex
	var log [][2]time.Time // begin and end of each request
	// The web answers so many requests for pages, and the others once the resolver is away.
	var left atomic.Int64
	left.Store(40)
	away := make(chan struct{})
	named := newAbsent(t, "127.0.0.1", http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		var host int
		if _, err := fmt.Sscanf(r.Host, "h%d.", &host); err != nil {
			t.Errorf("host %s", r.Host)
		}
		if r.URL.Path != "/robots.txt" && left.Add(-1) < 0 {
			select {
			case <-away:
			case <-r.Context().Done():
			}
		}
		rw.Header().Set("Connection", "close")
		begin := time.Now()
		w.host(host).ServeHTTP(rw, r)
		mu.Lock()
		defer mu.Unlock()
		log = append(log, [2]time.Time{begin, time.Now()})
	}))
	_, port, err := net.SplitHostPort(named.address)
	if err != nil {
		t.Fatal(err)
	}
	for i := range hosts {
		w.hosts = append(w.hosts, &absent{address: fmt.Sprintf("h%d.test:%s", i, port)})
	}
	named.come()
	c := r.crawl(g, "names", "soft-focus", 500, func(c *schemas.CrawlControl) { c.Window = 4 })
	c.Seeds = []string{w.url(0, "/0"), w.url(5, "/0")}
	waiting := func(st *schemas.CrawlStatus) bool { return st.GetOutage() != nil && st.GetInFlight() <= 2 }
	r.begin(c)
	st := r.until("names", "waiting for the resolver", time.Minute, waiting)
	if st.GetRequests() != 0 || !strings.Contains(st.GetOutage().GetCause(), "the resolver cannot be reached") {
		t.Errorf("with the resolver away: %v", st)
	}
	if out, _, code := r.run("doctor"); code == cli.ExitOK || !strings.Contains(out, "BAD  resolver") || !strings.Contains(out, "names: network unreachable") {
		t.Errorf("doctor, exit %d:\n%s", code, out)
	}
	server := nameserver.Start(t, resolver)
	r.until("names", "under way", 2*time.Minute, func(st *schemas.CrawlStatus) bool { return st.GetPages() > 20 })
	server.Close()
	close(away)
	st = r.until("names", "waiting again", time.Minute, waiting)
	if st.GetQueued() == 0 {
		t.Errorf("it waits without a URL: %v", st)
	}
	nameserver.Start(t, resolver)
	st = r.until("names", "finished", 2*time.Minute, finished)
	if st.GetEndReason() != frontier.EndEmpty || st.GetPages() != hosts*each || st.GetRequests() != hosts*each || st.GetOutcomes()["network-unreachable"] == 0 {
		t.Errorf("after the outages: %v", st)
	}
	r.verified("names")
	if out := r.mustRun("report", "names"); !strings.Contains(out, "NETWORK UNREACHABLE") || !strings.Contains(out, "the resolver cannot be reached") {
		t.Errorf("report:\n%s", out)
	}
	if out := r.mustRun("doctor"); !strings.Contains(out, resolver+" answers") {
		t.Errorf("doctor:\n%s", out)
	}

	// The hosts share an address: by the log of the web server they are asked as one.
	mu.Lock()
	log = nil
	mu.Unlock()
	const pause = 20 * time.Millisecond
	c = r.crawl(g, "as-one", "soft-focus", 40, func(c *schemas.CrawlControl) { c.Politeness.AddressDelayMs = uint32(pause.Milliseconds()) })
	c.Seeds = nil
	for i := range hosts {
		c.Seeds = append(c.Seeds, w.url(i, "/0"))
	}
	r.begin(c)
	r.until("as-one", "finished", 2*time.Minute, finished)
	mu.Lock()
	slices.SortFunc(log, func(a, b [2]time.Time) int { return a[0].Compare(b[0]) })
	for i := 1; i < len(log); i++ {
		if gap := log[i][0].Sub(log[i-1][1]); gap < pause {
			t.Errorf("request %d began %v after the end of the one before, pause %v", i, gap, pause)
		}
	}
	mu.Unlock()
	r.verified("as-one")
	var told struct{ Hosts []analytics.Treated }
	if err := json.Unmarshal([]byte(r.mustRun("--json", "report", "hosts", "as-one")), &told); err != nil {
		t.Fatal(err)
	}
	sent := uint64(0)
	for _, h := range told.Hosts {
		if sent += h.Requests; h.Gaps > 0 && h.LeastGap < uint64(pause.Milliseconds())-1 { // times are cut to milliseconds
			t.Errorf("%+v", h)
		}
	}
	if sent != 40 || len(told.Hosts) < hosts/2 {
		t.Errorf("%d requests were sent: %+v", sent, told)
	}
	if out := r.mustRun("report", "hosts", "as-one", "--most", "1"); !strings.Contains(out, "LEAST GAP") || strings.Count(out, "\n") != 2 {
		t.Errorf("report hosts:\n%s", out)
	}
}
