package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"forager/cmd/internal/cli"
	"forager/internal/frontier/why"
	"forager/internal/monitor/view"
	"forager/internal/operate"
	"forager/internal/platform/analytics"
	"forager/schemas"
)

// attack is what the titles and links of pages have in tests of the monitor: markup, a script, an escape of terminals, an override of the
// direction of writing, and the end of an attribute.
const attack = "&lt;script&gt;attack()&lt;/script&gt;\u202e \x1b[2J &quot;onmouseover=&quot;attack()"

// attacking is a web whose pages have attacks in titles and links.
func attacking(web http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := httptest.NewRecorder()
		web.ServeHTTP(answer, r)
		body := answer.Body.Bytes()
		if strings.HasPrefix(answer.Header().Get("Content-Type"), "text/html") {
			body = bytes.Replace(body, []byte("<title>"), []byte("<title>"+attack), 1)
			body = bytes.Replace(body, []byte("</body>"), []byte(`<a href="/x?'%22%3E%3Cscript%3Eattack()%3C/script%3E">`+attack+`</a><script>attack()</script></body>`), 1)
		}
		for k, v := range answer.Header() {
			w.Header()[k] = v
		}
		w.Header().Del("Content-Length")
		w.WriteHeader(answer.Code)
		_, _ = w.Write(body) // the client may have gone
	})
}

// operator is a client of the monitor.
type operator struct {
	t            testing.TB
	base, token  string
	client       *http.Client
	host, origin string // of requests; empty = as usual
	key          string // Idempotency-Key of requests
}

func (r *rig) operator() *operator {
	r.t.Helper()
	token, err := r.cfg.Token()
	if err != nil {
		r.t.Fatal(err)
	}
	o := &operator{t: r.t, base: "http://" + r.cfg.Stages.Monitor.Address, token: token, client: &http.Client{
		Timeout: time.Minute, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	wait(r.t, "the monitor serves", func() bool {
		resp, err := o.client.Get(o.base + "/login")
		if err == nil {
			resp.Body.Close()
		}
		return err == nil
	})
	return o
}

// do sends a request and returns status, header and body.
func (o *operator) do(method, path, ifMatch, body string) (int, http.Header, string) {
	o.t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), method, o.base+path, strings.NewReader(body))
	if err != nil {
		o.t.Fatal(err)
	}
	if o.token != "" {
		req.Header.Set("Authorization", "Bearer "+o.token)
	}
	if ifMatch != "" {
		req.Header.Set("If-Match", ifMatch)
	}
	if o.key != "" {
		req.Header.Set("Idempotency-Key", o.key)
	}
	if strings.HasPrefix(path, "/api/") {
		req.Header.Set("Content-Type", "application/json")
	} else if body != "" {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	req.Host = o.host
	if o.origin != "" {
		req.Header.Set("Origin", o.origin)
	}
	resp, err := o.client.Do(req)
	if err != nil {
		o.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		o.t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(b)
}

// ask reads a response of the interface.
func ask[T any](o *operator, path string) (x T) {
	o.t.Helper()
	status, _, body := o.do(http.MethodGet, path, "", "")
	if status != http.StatusOK {
		o.t.Fatalf("%s: %d %s", path, status, body)
	}
	if err := json.Unmarshal([]byte(body), &x); err != nil {
		o.t.Fatal(err)
	}
	return x
}

type listed[T any] struct {
	Items []T
	Next  string
}

// watched is a rig whose web attacks, with a crawl that has finished and one that is paused.
func watched(t testing.TB, change ...string) *rig {
	g, _ := simulated(t)
	r := newRig(t, attacking(g.Handler), change...)
	r.parts()
	r.start(cli.Programs)
	r.keepsEvents()
	r.begin(r.crawl(g, "done", "apprentice+soft-focus", 60, nil))
	r.until("done", "finished", time.Minute, finished)
	r.verified("done")
	r.begin(r.crawl(g, "steered", "soft-focus", 50_000, func(ctl *schemas.CrawlControl) { ctl.Politeness.DelayMs = 500 })) // leave the cores to the test
	return r
}

// TestMonitor reads a finished crawl and steers another one through the monitor.
func TestMonitor(t *testing.T) {
	t.Parallel()
	h := newHooked(t)
	r := watched(t, h.setting...)
	o := r.operator()
	r.step(t, "guarded", func(t *testing.T) { guarded(t, *o) })
	r.step(t, "read", func(t *testing.T) { o.t = t; readDone(t, r, o) })
	r.step(t, "two operators", func(t *testing.T) { o.t = t; twoOperators(t, r, o) })
	r.step(t, "pages", func(t *testing.T) { o.t = t; harmless(t, o) })
	r.step(t, "letters", func(t *testing.T) { o.t = t; replaysAndDrops(t, r, o) })
	r.step(t, "start and delete", func(t *testing.T) { o.t = t; startsAndDeletes(t, r, o) })
	r.step(t, "events", func(t *testing.T) { h.testEvents(t, r, o) })
}

func guarded(t *testing.T, o operator) {
	o.t = t
	for _, c := range []struct {
		what, token, host, origin, method, path string
		status                                  int
	}{
		{"no token", "", "", "", "GET", "/api/v1/crawls", 401}, {"no token for a page", "", "", "", "GET", "/", 401},
		{"another token", "x" + o.token, "", "", "GET", "/crawls/done", 401}, {"the token", o.token, "", "", "GET", "/", 200},
		{"a name of another site", o.token, "evil.example", "", "GET", "/", 421}, {"a form of another site", o.token, "", "http://evil.example", "POST", "/crawls/steered/stop", 403},
		{"another site, interface", o.token, "", "http://evil.example", "POST", "/api/v1/crawls/steered/stop", 403},
		{"no such crawl", o.token, "", "", "GET", "/api/v1/crawls/none", 404}, {"no such crawl, page", o.token, "", "", "GET", "/crawls/none", 404},
		{"login with another token", "", "", "", "GET", "/login?token=x", 401},
		{"another query than one that reads", o.token, "", "", "GET", "/api/v1/crawls?limit=0", 422},
	} {
		o.token, o.host, o.origin = c.token, c.host, c.origin
		status, header, body := o.do(c.method, c.path, "", "")
		if status != c.status {
			t.Errorf("%s: %d, want %d: %s", c.what, status, c.status, body)
		}
		if p := header.Get("Content-Security-Policy"); !strings.Contains(p, "frame-ancestors 'none'") || !strings.Contains(p, "default-src 'none'") || strings.Contains(p, "unsafe") {
			t.Errorf("%s: policy %q", c.what, p)
		}
	}
}

func readDone(t *testing.T, r *rig, o *operator) {
	if err := operate.Loaded(r.s, r.books, time.Minute); err != nil { // the last status, too
		t.Fatal(err)
	}
	crawls := ask[listed[view.Crawl]](o, "/api/v1/crawls?limit=1")
	if len(crawls.Items) != 1 || crawls.Items[0].Crawl != "done" || crawls.Next == "" {
		t.Fatalf("%+v", crawls)
	}
	if next := ask[listed[view.Crawl]](o, "/api/v1/crawls?cursor="+crawls.Next); len(next.Items) != 1 || next.Items[0].Crawl != "steered" || next.Next != "" {
		t.Errorf("the rest is %+v", next)
	}
	c, st := crawls.Items[0], r.books.Status("done")
	if c.Pages != st.GetPages() || c.State != "finished" || len(c.Arms) != 2 || c.Budget.Pages != 60 {
		t.Errorf("%+v, and the status is %v", c, st)
	}
	curve := ask[listed[view.Point]](o, "/api/v1/crawls/done/curve?limit=500").Items
	if n := len(curve); n == 0 || curve[n-1].Pages != st.GetPages() || !near(curve[n-1].Harvest, c.Harvest) || !near(curve[n-1].Last1K, c.Harvest) {
		t.Errorf("curve %+v, harvest %v", curve, c.Harvest)
	}
	var requests, delivered uint64
	for _, h := range ask[listed[analytics.Host]](o, "/api/v1/crawls/done/hosts?limit=500&by=waste").Items {
		requests, delivered = requests+h.Requests, delivered+h.Delivered
	}
	if requests != st.GetDispatched() || delivered != st.GetPages() {
		t.Errorf("hosts have %d requests and %d pages, status %d and %d", requests, delivered, st.GetDispatched(), st.GetPages())
	}
	readTreated(t, r, o)
	readRejudged(t, r, o)
	pages := ask[listed[analytics.SeenPage]](o, "/api/v1/crawls/done/pages?limit=500").Items
	if uint64(len(pages)) != st.GetPages() {
		t.Errorf("%d pages, status %d", len(pages), st.GetPages())
	}
	links := 0
	for _, p := range pages[:5] {
		address := url.QueryEscape(p.URL)
		if e := ask[operate.Explanation](o, "/api/v1/crawls/done/why?url="+address); e.State != why.Final || len(e.Path) == 0 || e.Path[len(e.Path)-1].URL != p.URL {
			t.Errorf("%s is explained by %+v", p.URL, e)
		}
		if _, _, body := o.do("GET", "/crawls/done/page?url="+address, "", ""); !strings.Contains(body, "It has its outcome: delivered") || !strings.Contains(body, "Path from a seed") {
			t.Errorf("the view of %s does not explain it", p.URL)
		}
		if one := ask[listed[analytics.SeenPage]](o, "/api/v1/crawls/done/pages?url="+url.QueryEscape(p.URL)).Items; len(one) == 0 || one[0].URL != p.URL {
			t.Errorf("%s is %+v", p.URL, one)
		}
		links += len(ask[listed[analytics.SeenLink]](o, "/api/v1/crawls/done/leaps?url="+url.QueryEscape(p.URL)).Items)
	}
	if links == 0 {
		t.Error("five pages have no link")
	}
	var about uint64
	for _, x := range ask[listed[view.Topic]](o, "/api/v1/crawls/done/topics?limit=500").Items {
		if x.Depth == 0 {
			about += x.Pages
		}
		var parts uint64
		for _, p := range x.Parts {
			parts += p.Pages
		}
		if parts != x.Pages || len(x.Parts) != analytics.TopicParts {
			t.Errorf("%s: %d pages, over time %+v", x.Topic, x.Pages, x.Parts)
		}
	}
	if about != st.GetPages() {
		t.Errorf("%d pages by topic, status %d", about, st.GetPages())
	}
	if models := ask[listed[analytics.MadeModel]](o, "/api/v1/crawls/done/models").Items; len(models) == 0 {
		t.Error("no model")
	}
	if turns := ask[listed[view.Turn]](o, "/api/v1/crawls/done/turns").Items; len(turns) == 0 || !strings.HasPrefix(turns[0].Text, "model done/") || turns[0].Pages == 0 {
		t.Errorf("turns %+v", turns)
	}
	if q := ask[why.Queues](o, "/api/v1/crawls/done/queues"); !q.Exact || len(q.Best) != why.MostBest || len(q.Oldest) != why.MostBest || q.Best[0].Cause != "budget" {
		t.Errorf("queues %+v", q)
	}
	ask[listed[analytics.Tenth]](o, "/api/v1/crawls/done/calibration")
	ask[listed[analytics.Letters]](o, "/api/v1/dead-letters")
	status, _, body := o.do("POST", "/api/v1/query", "", `{"sql":"SELECT count() FROM pages WHERE crawl = {crawl:String} AND outcome = 'delivered'","crawl":"done"}`)
	if status != 200 || !strings.Contains(body, `[["60"]]`) {
		t.Errorf("query: %d %s", status, body)
	}
	for _, sql := range []string{"DROP TABLE pages", "SELECT sleepEachRow(3) FROM numbers(100)", "SYSTEM SHUTDOWN"} {
		if status, _, body := o.do("POST", "/api/v1/query", "", fmt.Sprintf(`{"sql":%q}`, sql)); status != 409 {
			t.Errorf("%s: %d %s", sql, status, body)
		}
	}
}

// readRejudged judges the crawl again with its own critic.
func readRejudged(t *testing.T, r *rig, o *operator) {
	critic := r.books.Controls.Get("done").GetCritic()
	r.mustRun("rejudge", "done", "--critic", critic, "--rate", "1000")
	all := ask[listed[analytics.Rejudged]](o, "/api/v1/crawls/done/rejudged").Items
	if len(all) != 1 || all[0].Critic != critic || all[0].Pages != 60 || all[0].Agreement != 1 || !near(all[0].Harvest, all[0].Own) {
		t.Errorf("judged again: %+v", all)
	}
	if _, _, body := o.do("GET", "/crawls/done", "", ""); !strings.Contains(body, "Judged again by other critics") || !strings.Contains(body, "by "+critic) {
		t.Error("the view of the crawl does not have its series")
	}
}

// readTreated compares how hosts were treated, in the interface by pages of 2, with page.fetched and with the view of hosts.
func readTreated(t *testing.T, r *rig, o *operator) {
	sent, disallowed := map[string]uint64{}, map[string]uint64{}
	for _, page := range records[*schemas.PageFetched](r, schemas.TopicPageFetched, "done") {
		u, err := url.Parse(page.Url)
		if err != nil {
			t.Fatal(err)
		}
		switch host := u.Host; {
		case page.Outcome == schemas.Outcome_OUTCOME_ROBOTS_DISALLOWED:
			disallowed[host]++
		case page.Status > 0 || page.Outcome == schemas.Outcome_OUTCOME_TIMEOUT || page.Outcome == schemas.Outcome_OUTCOME_CONNECTION_FAILED:
			sent[host]++
		}
	}
	var all []analytics.Treated
	for next := ""; ; {
		part := ask[listed[analytics.Treated]](o, "/api/v1/crawls/done/treatment?limit=2&cursor="+next)
		all = append(all, part.Items...)
		if next = part.Next; next == "" {
			break
		}
	}
	_, _, view := o.do("GET", "/crawls/done/hosts", "", "")
	_, view, _ = strings.Cut(view, "<h2>Treatment</h2>")
	for i, h := range all {
		if h.Requests != sent[h.Host] || h.Disallowed != disallowed[h.Host] || h.Gaps != max(h.Requests, 1)-1 || h.LeastGap > h.MedianGap || i > 0 && h.Requests > all[i-1].Requests {
			t.Errorf("%+v, of page.fetched %d requests, %d disallowed", h, sent[h.Host], disallowed[h.Host])
		}
		delete(sent, h.Host)
		row := fmt.Sprintf(`<th scope="row">%s</th><td class="n">%d</td>`, h.Host, h.Requests)
		if i < 50 && !strings.Contains(view, row) {
			t.Errorf("the view of hosts lacks %s", row)
		}
	}
	if len(all) < 3 || len(sent) > 0 {
		t.Errorf("%d hosts, without %v", len(all), sent)
	}
}

func near(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 }

// twoOperators derive a change each from the same revision.
func twoOperators(t *testing.T, r *rig, o *operator) {
	const path = "/api/v1/crawls/steered"
	r.until("steered", "under way", time.Minute, func(st *schemas.CrawlStatus) bool { return st.GetPages() > 0 })
	_, header, _ := o.do("GET", path, "", "")
	tag := header.Get("ETag")
	status, header, body := o.do("POST", path+"/pause", tag, "")
	if status != 200 || header.Get("ETag") == tag {
		t.Fatalf("pause: %d %s, ETag %s", status, body, header.Get("ETag"))
	}
	newer := header.Get("ETag")
	if status, _, body := o.do("POST", path+"/ranker", tag, `{"ranker":"in-links"}`); status != 412 || !strings.Contains(body, "nothing was done") {
		t.Errorf("the second operator: %d %s", status, body)
	}
	if c := ask[view.Crawl](o, path); c.Ranker != "soft-focus" || c.Wanted != "paused" || `"`+fmt.Sprint(c.Revision)+`"` != newer {
		t.Errorf("after both: %+v", c)
	}
	r.until("steered", "paused", time.Minute, func(st *schemas.CrawlStatus) bool {
		return st.GetState() == schemas.ShardState_SHARD_STATE_PAUSED && st.GetInFlight() == 0
	})
	for _, c := range []struct {
		name, body string
		status     int
	}{
		{"ranker", `{"ranker":"apprentice"}`, 200}, {"ranker", `{"ranker":"nonsense"}`, 409}, {"focus", `{"good":["Nowhere/Nothing"]}`, 422},
		{"resume", `{"pages":10}`, 409}, {"resume", `{"pages":60000}`, 200}, {"seeds", `{"urls":["http://h0.s1.sim/new"]}`, 200}, {"seeds", `{"urls":["no URL"]}`, 409},
		{"change", `{"set":["politeness.delay=50ms","exclude.domains+=example.net"]}`, 200}, {"change", `{"set":["shards=7"]}`, 409}, {"change", `{"set":["nothing=7"]}`, 422},
		{"change", `{"set":["scope.url_list=/etc/passwd"]}`, 422}, {"critic", `{"critic":"none"}`, 422}, {"marks", `{"urls":["http://never.example/"],"right":true}`, 409}, {"model", `{"version":"x"}`, 422}, {"pause", "", 200},
	} {
		if status, _, body := o.do("POST", path+"/"+c.name, "", c.body); status != c.status {
			t.Errorf("%s %s: %d, want %d: %s", c.name, c.body, status, c.status, body)
		}
	}
	page := ask[listed[analytics.SeenPage]](o, "/api/v1/crawls/done/pages?limit=1").Items[0]
	if status, _, body := o.do("POST", "/api/v1/crawls/done/marks", "", fmt.Sprintf(`{"urls":[%q],"right":false}`, page.URL)); status != 200 {
		t.Errorf("mark: %d %s", status, body)
	}
	if status, _, body := o.do("POST", "/api/v1/crawls/done/pause", "", ""); status != 409 {
		t.Errorf("pausing a finished crawl: %d %s", status, body)
	}
	if _, _, body := o.do("POST", path+"/change", "", `{"set":["shards=7","politeness.delay=1s"],"dry_run":true}`); !strings.Contains(body, `"refused":`) || !strings.Contains(body, "1000ms") {
		t.Errorf("preview: %s", body)
	}
	wait(t, "the changes are turns", func() bool {
		turns := ask[listed[view.Turn]](o, path+"/turns").Items
		return len(turns) > 1 && turns[0].Text == "paused" && slices.ContainsFunc(turns, func(x view.Turn) bool { return strings.Contains(x.Text, "politeness.delay: ") })
	})
	excludeAsCounted(t, r, o)
	if ctl, err := r.books.Control("steered"); err != nil || ctl.GetPoliteness().GetDelayMs() != 50 || !slices.Contains(ctl.GetExcludes().GetDomains(), "example.net") {
		t.Errorf("after the changes: %v, %v", ctl, err)
	}
	// A change that is sent again is made once.
	o.key = "k1"
	_, first, _ := o.do("POST", path+"/change", "", `{"set":["window=7"]}`)
	if _, again, body := o.do("POST", path+"/change", "", `{"set":["window=7"]}`); again.Get("ETag") != first.Get("ETag") || !strings.Contains(body, "window") {
		t.Errorf("sent again: %s, ETag %s, first %s", body, again.Get("ETag"), first.Get("ETag"))
	}
	if status, _, body := o.do("POST", path+"/change", "", `{"set":["window=8"]}`); status != 422 {
		t.Errorf("another change with the key: %d %s", status, body)
	}
	o.key = ""
	// The same by the forms of the page.
	revision := ask[view.Crawl](o, path).Revision
	if status, _, body := o.do("POST", "/crawls/steered/resume", "", fmt.Sprintf("revision=%d&pages=70000", revision)); status != 200 || !strings.Contains(body, "Done: resume") {
		t.Errorf("resume by a form: %d", status)
	}
	now := ask[view.Crawl](o, path).Revision
	form := url.Values{"revision": {fmt.Sprint(now)}, "set": {"politeness.delay=70ms\r\n\r\nshards=7"}, "dry_run": {"yes"}}
	if status, _, body := o.do("POST", "/crawls/steered/change", "", form.Encode()); status != 200 || !strings.Contains(body, "nothing was changed") || !strings.Contains(body, "70ms") {
		t.Errorf("preview by a form: %d", status)
	}
	form = url.Values{"revision": {fmt.Sprint(now)}, "set": {"politeness.delay=70ms\r\n"}}
	if status, _, body := o.do("POST", "/crawls/steered/change", "", form.Encode()); status != 200 || !strings.Contains(body, "Changed") || ask[view.Crawl](o, path).Revision != now+1 {
		t.Errorf("change by a form: %d", status)
	}
	form = url.Values{"revision": {fmt.Sprint(now + 1)}, "bad": {"Nowhere"}, "view": {"topics"}}
	if status, _, body := o.do("POST", "/crawls/steered/focus", "", form.Encode()); status != 422 || !strings.Contains(body, "Nowhere") || !strings.Contains(body, "steered: topics") {
		t.Errorf("a topic that is none, by a form: %d", status)
	}
	if status, _, body := o.do("POST", "/crawls/steered/stop", "", fmt.Sprintf("revision=%d", revision)); status != 412 || !strings.Contains(body, "nothing was done") {
		t.Errorf("stop by a form of an old revision: %d", status)
	}
}

// excludeAsCounted excludes a host of a paused crawl and compares what that did with what the preview counted.
func excludeAsCounted(t *testing.T, r *rig, o *operator) {
	t.Helper()
	const path = "/api/v1/crawls/steered/change"
	preview := func(set string) (effect *why.Effect) {
		_, _, body := o.do("POST", path, "", fmt.Sprintf(`{"set":[%q],"dry_run":true}`, set))
		var c operate.Change
		if err := json.Unmarshal([]byte(body), &c); err != nil || c.Excludes == nil {
			t.Fatalf("%s: %v, %s", set, err, body)
		}
		return c.Excludes
	}
	var before *schemas.CrawlStatus
	var all *why.Effect
	// A status is of an earlier moment than a preview: before the pause, or before the seeds given above arrived.
	wait(t, "nothing is in flight, and the status has as many queued as the preview", func() bool {
		before, all = r.books.Status("steered"), preview("exclude.prefixes=[/]")
		return before.GetState() == schemas.ShardState_SHARD_STATE_PAUSED && before.GetInFlight() == 0 && all.Queued == before.GetQueued()
	})
	if all.Removed != all.Queued || !all.Exact || len(all.Best) == 0 {
		t.Errorf("all URLs: %+v", all)
	}
	u, err := url.Parse(preview("exclude.prefixes=[/]").Best[0].URL)
	if err != nil {
		t.Fatal(err)
	}
	rule := "exclude.hosts+=" + u.Host
	counted, out := preview(rule), ""
	for settled := false; !settled; { // the seeds given above may arrive between the two, and scores under the ranker changed to
		last := counted
		out = r.mustRun("crawl", "change", "steered", "--set", rule, "--dry-run")
		counted = preview(rule)
		settled = counted.Queued == last.Queued && counted.Removed == last.Removed && slices.Equal(counted.Best, last.Best)
	}
	shown := []string{fmt.Sprintf("%d of %d queued URLs would be removed", counted.Removed, counted.Queued)}
	for _, best := range counted.Best {
		shown = append(shown, best.URL)
	}
	for _, want := range shown {
		if !strings.Contains(out, want) {
			t.Errorf("the command does not show %s:\n%s", want, out)
		}
	}
	if status, _, body := o.do("POST", path, "", fmt.Sprintf(`{"set":[%q]}`, rule)); status != 200 {
		t.Fatalf("%s: %d %s", rule, status, body)
	}
	r.until("steered", "excluded", time.Minute, func(st *schemas.CrawlStatus) bool {
		return st.GetRefused()["excluded"] == before.GetRefused()["excluded"]+counted.Removed
	})
	if back := preview("exclude.hosts=[]"); back.Admitted < counted.Removed || back.Removed != 0 {
		t.Errorf("without the rule: %+v, %d were removed", back, counted.Removed)
	}
	if status, _, body := o.do("POST", path, "", `{"set":["exclude.hosts=[]"]}`); status != 200 {
		t.Fatalf("without the rule: %d %s", status, body)
	}
}

// harmless reads every view of a crawl of attacks.
func harmless(t *testing.T, o *operator) {
	page := ask[listed[analytics.SeenPage]](o, "/api/v1/crawls/done/pages?limit=1").Items[0]
	if !strings.Contains(page.Title, "<script>attack()</script>") {
		t.Fatalf("title %q: no attack arrived", page.Title)
	}
	address := url.QueryEscape(page.URL)
	for _, path := range []string{
		"/", "/crawls/done", "/crawls/done/hosts", "/crawls/done/hosts?by=failures", "/crawls/steered/hosts?by=robots", "/crawls/done?against=time", "/crawls/done?against=javascript:attack()", "/crawls/done/pages", "/crawls/done/page?url=" + address, "/crawls/done/models", "/crawls/done/topics",
		"/compare?crawl=done&crawl=steered", "/compare?crawl=done&crawl=steered&against=bytes", "/letters", "/sql?example=harvest", "/crawls/done/page?url=javascript:attack()", "/crawls/done/page?url=%22%3E%3Cscript%3Eattack()",
	} {
		status, header, body := o.do("GET", path, "", "")
		if status != 200 || !strings.HasPrefix(header.Get("Content-Type"), "text/html") {
			t.Errorf("%s: %d %s", path, status, body)
		}
		for _, bad := range []string{"<script>attack", `href="javascript:`, `"onmouseover=`} {
			if strings.Contains(body, bad) {
				t.Errorf("%s has %s", path, bad)
			}
		}
		if i := strings.IndexFunc(body, func(c rune) bool { return c != '\n' && unicode.In(c, unicode.Cc, unicode.Cf) }); i >= 0 {
			t.Errorf("%s has the character %q", path, body[i:i+4])
		}
	}
	status, header, body := o.do("GET", "/crawls/done/copy?url="+address, "", "")
	if policy := header.Get("Content-Security-Policy"); status != 200 || !strings.HasPrefix(policy, "sandbox; default-src 'none'") || !strings.Contains(body, "attack()") {
		t.Errorf("copy: %d, policy %q", status, policy)
	}
}
