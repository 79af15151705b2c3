package main

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"forager/schemas"
)

// stalling answers for hosts below .slow.test, each time after a while, and leaves all others to
// next. Every page links to pages of other slow hosts.
type stalling struct {
	stall  time.Duration
	next   http.Handler
	stalls atomic.Int32 // under way
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

// TestSlowCrawlSlowsNobody lets the same crawl run alone and beside one that has many more
// stalling hosts than fetch has slots, and compares the rates. A tenth would do: what the slow
// crawl does takes time, too, and the machine may be busier meanwhile. Without shares of slots it is a fiftieth.
func TestSlowCrawlSlowsNobody(t *testing.T) {
	g, _ := simulated(t)
	web := &stalling{stall: 4 * time.Second, next: g.handler}
	r := newRig(t, web)
	r.parts()
	r.start(stageNames)
	fast := func(name string) float64 {
		r.begin(r.crawl(g, name, "soft-focus", 600, nil))
		st := r.until(name, "finished", 2*time.Minute, finished)
		if st.GetPages() != 600 {
			t.Errorf("%s: %d pages, want 600", name, st.GetPages())
		}
		rate := float64(st.GetPages()) / float64(st.GetAt()-st.GetStartedAt()) * 1000
		t.Logf("%s: %.0f pages/s, latency of the loop %d ms", name, rate, st.GetLatencyP50Ms())
		return rate
	}
	fast("warm")
	alone := fast("alone")
	slow := r.crawl(g, "slow", "unfocused", 100_000, func(ctl *schemas.CrawlControl) { ctl.Window = 1000 })
	slow.Seeds = nil
	for i := range 1000 {
		slow.Seeds = append(slow.Seeds, fmt.Sprintf("http://h%d.slow.test/", i))
	}
	r.begin(slow)
	r.until("slow", "in full swing", time.Minute, func(st *schemas.CrawlStatus) bool {
		return st.GetInFlight() >= 900 && int(web.stalls.Load()) > r.cfg.Stages.Fetch.Concurrency*3/4
	})
	beside := fast("beside")
	t.Logf("beside a slow crawl: %.2f of the rate alone", beside/alone)
	if beside < alone/10 {
		t.Errorf("%.0f pages/s beside a slow crawl, %.0f alone", beside, alone)
	}
}
