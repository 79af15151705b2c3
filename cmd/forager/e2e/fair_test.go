//go:build endurance || kafka

package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"forager/cmd/internal/cli"
	"forager/schemas"
)

// stalling responds for hosts below .slow.test after a delay, and passes other requests to next. Every page
// links to pages of other slow hosts.
type stalling struct {
	stall  time.Duration
	next   http.Handler
	stalls atomic.Int32 // in progress
}

func (s *stalling) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !strings.HasSuffix(r.URL.Host, ".slow.test") {
		s.next.ServeHTTP(w, r)
		return
	}
	s.stalls.Add(1)
	defer s.stalls.Add(-1)
	select {
	case <-time.After(s.stall):
	case <-r.Context().Done():
		return
	}
	if r.URL.Path == "/robots.txt" {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/html")
	var number int
	fmt.Sscanf(r.URL.Host, "h%d.", &number)
	for i := range 20 {
		fmt.Fprintf(w, "<p>Words about nothing <a href=\"http://h%d.slow.test/%d\">more</a></p>", (number*7+i*31)%2000, i)
	}
}

// politeWeb has few hosts, each with many pages that link to all hosts, and records the times of its requests.
type politeWeb struct {
	hosts int
	takes time.Duration

	mu   sync.Mutex
	asks map[string][]asked // by host
}

type asked struct{ begin, end time.Time }

func (w *politeWeb) url(host, page int) string {
	return fmt.Sprintf("http://h%d.polite.test/%d", host%w.hosts, page%1000)
}

func (w *politeWeb) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	begin := time.Now()
	time.Sleep(w.takes)
	var host, page int
	_, err := fmt.Sscanf(r.URL.Host+r.URL.Path, "h%d.polite.test/%d", &host, &page)
	if err != nil {
		http.NotFound(rw, r)
	} else {
		rw.Header().Set("Content-Type", "text/html")
		for k := range 12 {
			fmt.Fprintf(rw, "<p>About number %d: <a href=%q>more</a></p>", k, w.url(7*host+31*page+13*k*k, 17*page+k))
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asks[r.URL.Host] = append(w.asks[r.URL.Host], asked{begin, time.Now()})
}

// TestEnduranceSlowCrawl compares the rate of a crawl that is bounded by the pauses of its hosts, not by the machine, with
// its rates while another crawl has many more stalling hosts than fetch has slots, and while one waits for the
// service that judges its pages. It fails if the rate is halved each time; a machine that is busy for a while
// does not cause that.
func TestEnduranceSlowCrawl(t *testing.T) {
	t.Parallel()
	g, _ := simulated(t)
	r := newRig(t, g.Handler)
	r.parts()
	r.start(cli.StageNames)
	const hosts, pages, tries = 20, 100, 3
	polite := &politeWeb{hosts: hosts, asks: make(map[string][]asked)}
	stalls := &stalling{stall: 4 * time.Second, next: g.Handler}
	r.web.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Host, ".polite.test") {
			polite.ServeHTTP(w, r)
			return
		}
		stalls.ServeHTTP(w, r)
	}))
	fast := func(name string) float64 {
		c := r.crawl(g, name, "unfocused", pages, func(ctl *schemas.CrawlControl) { ctl.Politeness.DelayMs = 1000 })
		c.Seeds = nil
		for i := range hosts {
			c.Seeds = append(c.Seeds, polite.url(i, 0))
		}
		r.begin(c)
		st := r.until(name, "finished", time.Minute, finished)
		if st.GetPages() != pages {
			t.Errorf("%s: %d pages, want %d", name, st.GetPages(), pages)
		}
		rate := pages / float64(st.GetAt()-st.GetStartedAt()) * 1000
		t.Logf("%s: %.1f pages/s, latency of the loop %d ms", name, rate, st.GetLatencyP50Ms())
		return rate
	}
	alone := fast("fast")
	notSlowed := func(slow string) {
		t.Helper()
		var share float64
		for try := range tries {
			if share = fast(fmt.Sprint("fast-with-", slow, "-", try)) / alone; share > 0.7 {
				break
			}
		}
		if finished(r.books.Status(slow)) {
			t.Errorf("%s had ended", slow)
		}
		if share <= 0.7 {
			t.Errorf("with the crawl %s the other has %.2f of its rate", slow, share)
		}
		r.mustRun("crawl", "stop", slow)
	}

	slow := r.crawl(g, "stalled", "unfocused", 100_000, func(ctl *schemas.CrawlControl) { ctl.Window = 1000 })
	slow.Seeds = nil
	for i := range 1000 {
		slow.Seeds = append(slow.Seeds, fmt.Sprintf("http://h%d.slow.test/", i))
	}
	r.begin(slow)
	r.until("stalled", "in full swing", time.Minute, func(st *schemas.CrawlStatus) bool {
		return st.GetInFlight() >= 900 && int(stalls.stalls.Load()) > r.cfg.Stages.Fetch.Concurrency*3/4
	})
	notSlowed("stalled")

	judge := &service{topic: g.Topic, takes: 500 * time.Millisecond}
	judge.mode.Store("fine")
	srv := httptest.NewServer(judge)
	defer srv.Close()
	r.mustRun("critic", "predicate", r.file("late.yaml", "url: "+srv.URL+"\ntopics: ["+g.Topic+"]\n"), "--name", "late")
	wait(t, "the critic", func() bool { _, err := r.books.Critic("late"); return err == nil })
	r.begin(r.crawl(g, "judged-late", "unfocused", 100_000, func(ctl *schemas.CrawlControl) {
		ctl.Critic, ctl.Window = "late", 16
	}))
	r.until("judged-late", "under way", time.Minute, func(st *schemas.CrawlStatus) bool { return st.GetPages() > 20 })
	notSlowed("judged-late")
}
