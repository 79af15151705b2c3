//go:build endurance

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"forager/cmd/internal/cli"
	"forager/infra/simweb"
	"forager/internal/audit/audittest"
	"forager/internal/web/webarchive"
	"forager/internal/web/weburl"
	"forager/schemas"
)

// Politeness of the crawl of the hostile web.
const (
	hostileDelay      = 100 * time.Millisecond
	hostileSlow       = 200 * time.Millisecond // of a slow host, before it sends anything
	hostileRetryAfter = 2 * time.Second
	hostilePatience   = 3 * time.Second // of fetch with a server that answers nothing; so long may a busy machine stop
	hostileTries      = 2
	hostileCap        = 8
)

// serverLog collects the lines of a synthetic web's access log.
type serverLog struct {
	mu    sync.Mutex
	lines []webarchive.Access
}

func (l *serverLog) Write(b []byte) (int, error) {
	var a webarchive.Access
	if err := json.Unmarshal(bytes.TrimSpace(b), &a); err != nil {
		return 0, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, a)
	return len(b), nil
}

// byHost returns the requests to each host in the order in which they began.
func (l *serverLog) byHost() map[string][]webarchive.Access {
	l.mu.Lock()
	defer l.mu.Unlock()
	hosts := make(map[string][]webarchive.Access)
	for _, a := range l.lines {
		hosts[a.Host] = append(hosts[a.Host], a)
	}
	for _, list := range hosts {
		slices.SortFunc(list, func(a, b webarchive.Access) int { return a.Begin.Compare(b.Begin) })
	}
	return hosts
}

func (l *serverLog) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = nil
}

// TestEnduranceHostileWeb crawls a synthetic web with every hazard, politely, and compares the outcome of each URL with
// its truth, and the server's log with what robots.txt, Retry-After and the pauses require.
func TestEnduranceHostileWeb(t *testing.T) {
	t.Parallel()
	w := hostileWeb(t)
	g, _ := simulated(t)
	log := &serverLog{}
	r := newRig(t, simweb.NewServer(log, w),
		"retry_delay: 30s", "retry_delay: 200ms", "header_timeout: 20s", "header_timeout: "+hostilePatience.String(), "body_timeout: 60s", "body_timeout: 5s")
	r.parts()
	r.start(cli.StageNames)
	c := r.crawl(g, "hostile", "unfocused", 500, func(ctl *schemas.CrawlControl) {
		ctl.Politeness.DelayMs, ctl.HostWindow, ctl.Window = uint32(hostileDelay.Milliseconds()), 2, 200
		ctl.Scope.HostCap, ctl.MaxAttempts = hostileCap, hostileTries
	})
	var met map[string]int
	c.Seeds, met = hostileSeeds(w)
	r.begin(c)
	st := r.until("hostile", "finished", 2*time.Minute, finished)
	r.verified("hostile")
	e := r.evidence("hostile")
	o := newOutcomes(t, w, e)
	o.compare(met)
	o.leaps()
	o.charsets(r)
	o.traps(st)
	polite(t, w, log)

	// Without pauses the window of a host is the bound; robots.txt counts as before.
	hasty := r.crawl(g, "hasty", "unfocused", 150, func(ctl *schemas.CrawlControl) {
		ctl.HostWindow, ctl.Window, ctl.MaxAttempts = 2, 200, hostileTries
	})
	hasty.Seeds = c.Seeds
	log.forget()
	r.begin(hasty)
	r.until("hasty", "finished", 2*time.Minute, finished)
	r.verified("hasty")
	atOnce(t, w, log, 2)
}

func hostileWeb(t testing.TB) *simweb.Web {
	t.Helper()
	c := simweb.Default(9)
	c.Pages, c.Hazards = 5000, simweb.AllHazards()
	c.Hazards.Chains, c.Hazards.Endless, c.Hazards.Loops, c.Hazards.Nowhere = 0.04, 0.02, 0.02, 0.02
	c.Hazards.SlowFor, c.Hazards.RetryAfter = hostileSlow, hostileRetryAfter
	w, err := simweb.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// hostileSeeds returns some pages of every hazard, and as many without; the counts are by class.
func hostileSeeds(w *simweb.Web) (seeds []string, met map[string]int) {
	met = make(map[string]int)
	add := func(url string, most int) {
		tr := w.Truth(url)
		if class := classOf(&tr); met[class] < most {
			met[class]++
			seeds = append(seeds, url)
		}
	}
	for n := range w.Size() {
		url := w.URL(n)
		most := 2
		if tr := w.Truth(url); classOf(&tr) == "page" {
			most = 30
		}
		add(url, most)
		host := url[:strings.IndexByte(url[len("http://"):], '/')+len("http://")]
		number := strings.TrimSuffix(url[strings.LastIndexByte(url, '/')+1:], ".html")
		for _, path := range []string{
			"/go/1/" + number, "/go/6/" + number, "/far/14/" + number, "/loop/0/" + number, "/void/1/" + number, "/gone/1.html",
			"/browse?sort=new" + strings.Repeat("&f=a", 11), "/list" + strings.Repeat("/more", 4), "/calendar/2026/11",
		} {
			add(host+path, 2)
		}
	}
	return seeds, met
}

// classOf returns the hazard of a URL.
func classOf(tr *simweb.Truth) string {
	switch {
	case tr.Hazard != "":
		return tr.Hazard
	case tr.HostHazard != "":
		return tr.HostHazard
	case tr.Kind == "redirect":
		return fmt.Sprintf("redirect of %d hops, %s", tr.Hops, tr.Outcome)
	case tr.Kind == "trap":
		path := strings.SplitN(tr.URL, "/", 4)[3]
		return "trap " + path[:4]
	}
	return tr.Kind
}

// outcomes are the outcomes of each URL, in the order of attempts.
type outcomes struct {
	t        *testing.T
	web      *simweb.Web
	evidence *audittest.Evidence
	tries    map[string][]*schemas.PageFetched
	hosts    map[string]int // requests, except deferred ones
}

func newOutcomes(t *testing.T, w *simweb.Web, e *audittest.Evidence) *outcomes {
	o := &outcomes{t: t, web: w, evidence: e, tries: make(map[string][]*schemas.PageFetched), hosts: make(map[string]int)}
	attempt := make(map[string]uint32)
	for _, f := range e.Requests {
		attempt[string(f.GetId())] = f.GetAttempt()
	}
	for _, f := range e.Fetched {
		if !schemas.Deferred(f.GetOutcome()) {
			o.hosts[weburl.Host(f.GetUrl())]++
		}
		o.tries[f.GetUrl()] = append(o.tries[f.GetUrl()], f)
	}
	for _, list := range o.tries {
		slices.SortFunc(list, func(a, b *schemas.PageFetched) int {
			return int(attempt[string(a.GetId())]) - int(attempt[string(b.GetId())])
		})
	}
	return o
}

// compare compares the outcomes of every URL with the truth, and checks that all classes of the seeds have ended.
func (o *outcomes) compare(met map[string]int) {
	ended := make(map[string]int)
	for url, tries := range o.tries {
		tr := o.web.Truth(url)
		for i, f := range tries {
			switch name := schemas.OutcomeName(f.GetOutcome()); {
			case name == tr.Outcome:
				if i == len(tries)-1 {
					ended[classOf(&tr)]++
				}
			case name == tr.Before || schemas.Deferred(f.GetOutcome()):
			default:
				o.t.Errorf("%s, try %d: %s (%s), truth: %+v", url, i+1, name, f.GetDetail(), tr)
			}
			if f.GetOutcome() == schemas.Outcome_OUTCOME_REDIRECTED && f.GetRedirect() != canonicalURL(o.t, tr.Redirect) {
				o.t.Errorf("%s redirects to %s, truth: %s", url, f.GetRedirect(), tr.Redirect)
			}
			if (tr.Size > 0) != f.GetTruncated() && f.GetOutcome() == schemas.Outcome_OUTCOME_DELIVERED {
				o.t.Errorf("%s: truncated %t, %d bytes of %d", url, f.GetTruncated(), f.GetSize(), tr.Size)
			}
		}
	}
	for class := range met {
		o.t.Logf("%5d %s", ended[class], class)
		if ended[class] == 0 {
			o.t.Errorf("no URL of the class %q has come to its end", class)
		}
	}
	if want := 20; len(met) < want {
		o.t.Errorf("%d classes of URLs only, want %d: %v", len(met), want, met)
	}
}

func canonicalURL(t testing.TB, raw string) string {
	u, err := weburl.Parse(raw)
	if err != nil {
		t.Errorf("%q: %v", raw, err)
	}
	return u.String()
}

// leaps: the target of a settled link is the end of its redirects, or where the cap of a host ended them.
func (o *outcomes) leaps() {
	n := 0
	for _, l := range o.evidence.Leaps {
		if l.GetBoundary() {
			continue
		}
		tr := o.web.Truth(l.GetV())
		name := schemas.OutcomeName(l.GetOutcome())
		switch {
		case name == tr.End:
			if tr.Alias {
				n++
			}
		case tr.Alias && l.GetOutcome() == schemas.Outcome_OUTCOME_REDIRECTED && o.capped(l.GetV()):
		default:
			o.t.Errorf("link to %s settled as %s, truth: %+v", l.GetV(), name, tr)
		}
	}
	if n < 10 {
		o.t.Errorf("%d leaps through redirects only", n)
	}
}

// capped reports whether a host among the redirects has reached its cap.
func (o *outcomes) capped(url string) bool {
	for range 10 {
		tr := o.web.Truth(url)
		if o.hosts[weburl.Host(url)] >= hostileCap {
			return true
		}
		if url = tr.Redirect; url == "" {
			break
		}
	}
	return false
}

// charsets: pages were read in the encoding of the truth.
func (o *outcomes) charsets(r *rig) {
	other := 0
	for line := range strings.Lines(r.mustRun("query", "--format", "TSV", "SELECT url, charset FROM judgements WHERE crawl = 'hostile' AND outcome = 'delivered'")) {
		url, charset, _ := strings.Cut(strings.TrimSpace(line), "\t")
		tr := o.web.Truth(url)
		if tr.Charset == "" {
			continue
		}
		if charset != tr.Charset {
			o.t.Errorf("%s was read as %s, truth: %s", url, charset, tr.Charset)
		}
		if charset != "utf-8" {
			other++
		}
	}
	if other == 0 {
		o.t.Error("no page in another encoding than UTF-8")
	}
}

// traps: the guards and the cap of hosts bound the requests for endless pages.
func (o *outcomes) traps(st *schemas.CrawlStatus) {
	n := 0
	for url := range o.tries {
		if tr := o.web.Truth(url); tr.Kind == "trap" {
			n++
			if strings.Count(url, "&") >= 12 || strings.Count(url, "/more") > 4 {
				o.t.Errorf("%s was asked for", url)
			}
		}
	}
	share := float64(n) / float64(len(o.tries))
	o.t.Logf("%.3f of all URLs asked for are endless pages; refused: %v", share, st.GetRefused())
	if share > 0.2 {
		o.t.Errorf("%.3f of all URLs asked for are endless pages", share)
	}
	for host, n := range o.hosts {
		if n > hostileCap {
			o.t.Errorf("%s was asked %d times, its cap is %d", host, n, hostileCap)
		}
	}
	for _, reason := range []string{"trap:parameters", "trap:repeats", "host-cap"} {
		if st.GetRefused()[reason] == 0 {
			o.t.Errorf("nothing was refused as %s", reason)
		}
	}
}

// endOf returns a time at which fetch cannot have the end of a request yet, and whether it is the time of the end in the server's log. The
// server keeps the last 2 KiB of a response until the end is in the log. It may note the end of a longer one, or of one
// that fetch gave up, long after fetch, whose pause is then over before.
func endOf(w *simweb.Web, a *webarchive.Access) (at time.Time, logged bool) {
	switch {
	case a.Status > 0 && a.Bytes < 2048:
		return a.End, true
	case a.Status > 0 && w.Truth(a.URL).HostHazard == simweb.HazardSlow && a.End.Sub(a.Begin) >= hostileSlow:
		return a.Begin.Add(hostileSlow), false
	}
	return a.Begin, false
}

// polite checks the server's log.
func polite(t *testing.T, w *simweb.Web, log *serverLog) {
	again, slowest, exact, all := 0, 0, 0, 0
	for host, list := range log.byHost() {
		if !strings.HasSuffix(list[0].URL, "/robots.txt") {
			t.Errorf("%s was asked for %s before its robots.txt", host, list[0].URL)
		}
		for i, a := range list {
			tr := w.Truth(a.URL)
			if tr.Outcome == "robots-disallowed" {
				t.Errorf("%s was asked for, which robots.txt disallows", a.URL)
			}
			if a.UserAgent == "" || !strings.Contains(a.UserAgent, "+mailto:") {
				t.Errorf("%s: User-Agent %q has no contact", a.URL, a.UserAgent)
			}
			if i == 0 {
				continue
			}
			before := list[i-1]
			pause := hostileDelay
			switch {
			case strings.HasSuffix(a.URL, "/robots-moved.txt"):
				continue // a redirect of robots.txt is not a separate request
			case before.Status == 429 || before.Status == 503:
				pause = hostileRetryAfter
				again++
			case tr.CrawlDelay > 0:
				pause = time.Duration(tr.CrawlDelay) * time.Second
				slowest++
			}
			all++
			end, logged := endOf(w, &before)
			if logged {
				exact++
			}
			if gap := a.Begin.Sub(end); gap < pause {
				t.Errorf("%s came %s after the end of %s (status %d, %d bytes), want a pause of %s", a.URL, gap, before.URL, before.Status, before.Bytes, pause)
			}
		}
	}
	t.Logf("%d pauses, of %d the begin is known exactly", all, exact)
	if again == 0 || slowest == 0 || exact < 100 {
		t.Errorf("%d requests behind a Retry-After, %d under a Crawl-delay, %d behind a logged end: that shows nothing", again, slowest, exact)
	}
}

// atOnce returns the largest number of concurrent requests to a host.
func atOnce(t *testing.T, w *simweb.Web, log *serverLog, most int) {
	together := 0
	for host, list := range log.byHost() {
		for i, a := range list {
			n := 1
			for _, b := range list[:i] {
				end := b.End
				if gaveUp := b.Begin.Add(hostilePatience); b.Status == 0 && gaveUp.Before(end) {
					end = gaveUp // the server noticed it later
				}
				if end.After(a.Begin) {
					n++
				}
			}
			if n > most {
				t.Errorf("%s had %d requests at once, want %d at most", host, n, most)
			}
			together = max(together, n)
			if w.Truth(a.URL).Outcome == "robots-disallowed" {
				t.Errorf("%s was asked for, which robots.txt disallows", a.URL)
			}
		}
	}
	if together < most {
		t.Errorf("no host had more than %d requests at once: that shows nothing", together)
	}
}
