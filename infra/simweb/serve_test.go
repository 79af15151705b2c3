package simweb

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	meaning "forager/internal/web/httpresponse"
	rfc9309 "forager/internal/web/robots"
	"forager/internal/web/weburl"
	"forager/schemas"
)

// served is a server of webs and a client that uses it as its proxy and follows no redirect.
func served(t *testing.T, log io.Writer, webs ...*Web) (address string, client *http.Client) {
	t.Helper()
	srv := httptest.NewServer(NewServer(log, webs...))
	t.Cleanup(srv.Close)
	proxy, err := url.Parse(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{Proxy: http.ProxyURL(proxy), DisableKeepAlives: true}
	return srv.URL, &http.Client{
		Transport: transport, Timeout: time.Minute,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// TestServerAgreesWithTruth requests pages of every hazard, several times.
func TestServerAgreesWithTruth(t *testing.T) {
	w := hostile(t, func(c *Config) {
		c.Pages, c.Seed = 5000, 7
		c.Hazards.SlowFor, c.Hazards.StallFor, c.Hazards.RetryAfter = 50*time.Millisecond, 100*time.Millisecond, time.Hour
	})
	var log bytes.Buffer
	_, client := served(t, &log, w, made(t, func(c *Config) { c.Seed = 8 }))
	met := make(map[string]int)
	for n := uint64(0); n < w.Size(); n++ {
		u := w.URL(n)
		tr := w.Truth(u)
		class := tr.HostHazard + tr.Hazard
		if met[class]++; met[class] > 3 {
			continue
		}
		began := time.Now()
		resp, err := client.Get(u)
		var body []byte
		if err == nil {
			body, err = io.ReadAll(resp.Body)
			resp.Body.Close()
		}
		switch {
		case tr.HostHazard == HazardStalled:
			if took := time.Since(began); took < 100*time.Millisecond {
				t.Errorf("%s answered after %s", u, took)
			}
			continue
		case tr.Before != "":
			if err != nil || resp.StatusCode != 429 && resp.StatusCode != 503 || resp.Header.Get("Retry-After") != "3600" {
				t.Errorf("%s: %v, %v, truth %+v", u, resp, err, tr)
			}
			continue
		case tr.Outcome == failed:
			if err == nil {
				t.Errorf("%s: %d whole bytes, truth %+v", u, len(body), tr)
			}
			continue
		}
		want := map[string]int{delivered: 200, notHTML: 200, notAllowed: 200, serverError: 500}[tr.Outcome]
		if err != nil || resp.StatusCode != want && tr.Outcome != notAllowed || len(body) < tr.Size || tr.Size == 0 && len(body) > 1<<20 {
			t.Errorf("%s: %v, %v, %d bytes, truth %+v", u, resp, err, len(body), tr)
		}
		if took := time.Since(began); tr.HostHazard == HazardSlow && took < 50*time.Millisecond {
			t.Errorf("%s answered after %s", u, took)
		}
		if page, _, _ := w.Page(u); tr.Size == 0 && tr.Outcome == delivered && page != string(body) {
			t.Errorf("%s: the body is not that of Page", u)
		}
	}
	for _, class := range []string{"", HazardThrottled, HazardSlow, HazardStalled, HazardError, HazardFlaky, HazardFile, HazardCharset, HazardHuge, HazardCut, HazardPrivate} {
		if met[class] == 0 {
			t.Errorf("no page of the hazard %q", class)
		}
	}
	for line := range strings.Lines(log.String()) {
		var a access
		if err := json.Unmarshal([]byte(line), &a); err != nil || !strings.HasPrefix(a.URL, "http://h") || a.Host == "" || a.End.Before(a.Begin) {
			t.Errorf("logged %s: %v", line, err)
		}
		if tr := w.Truth(a.URL); a.Kind != tr.Kind || a.Topic != tr.Topic {
			t.Errorf("logged %s, truth %+v", line, tr)
		}
	}
}

// getter returns a function that requests URLs: status, body and header of the response.
func getter(t *testing.T, client *http.Client) func(url string) (int, string, http.Header) {
	return func(url string) (int, string, http.Header) {
		t.Helper()
		resp, err := client.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(b), resp.Header
	}
}

// TestRobotsAgreeWithTruth: each kind of robots.txt, read by package robots, excludes crawlers from the
// pages whose truth is disallowed and from no others.
func TestRobotsAgreeWithTruth(t *testing.T) {
	w := made(t, func(c *Config) { c.Pages, c.Hazards = 20_000, Hazards{Robots: 1} })
	_, client := served(t, nil, w)
	get := getter(t, client)
	disallowed := make(map[robots]int)
	for h := w.hostOf(0); ; h = w.hostOf(h.hi) {
		kind, origin := w.robotsOf(h), strings.TrimSuffix(string(w.appendOrigin(nil, h)), "/")
		status, body, header := get(origin + "/robots.txt")
		if moved := header.Get("Location"); kind == robotsMoved && status == 301 {
			status, body, _ = get(origin + moved)
		}
		if want := map[bool]int{false: 200, true: 403}[kind == robotsForbidden]; status != want {
			t.Fatalf("%s, kind %d: status %d", origin, kind, status)
		}
		file := rfc9309.Parse([]byte(body))
		for id := h.lo; id < h.hi; id++ {
			url := w.url(id)
			tr := w.Truth(url)
			allowed := status == 403 || file.Allowed("forager", strings.TrimPrefix(url, origin))
			if allowed == (tr.Outcome == notAllowed) {
				t.Errorf("%s, kind %d: allowed %t by %q, truth %+v", url, kind, allowed, body, tr)
			}
			if !allowed {
				disallowed[kind]++
			}
			if delay, _ := file.CrawlDelay("forager"); delay != time.Duration(tr.CrawlDelay)*time.Second || (delay > 0) != (kind == robotsDelay) {
				t.Errorf("%s, kind %d: pause %s, truth %+v", url, kind, delay, tr)
			}
		}
		if h.hi == w.Size() {
			break
		}
	}
	for kind := robotsPlain; kind < robotsKinds; kind++ {
		if (disallowed[kind] == 0) != (kind == robotsForbidden) {
			t.Errorf("kind %d keeps crawlers from %d pages", kind, disallowed[kind])
		}
	}
}

// TestResponsesAgreeWithTruth: the meaning, by package httpresponse, of every kind of file, redirect and error.
func TestResponsesAgreeWithTruth(t *testing.T) {
	w := made(t, func(c *Config) {
		c.Pages, c.Hazards = 20_000, Hazards{Files: 0.4, Errors: 0.2, Huge: 0.01, Cut: 0.2, Stalled: 0.5, Nowhere: 0.1, StallFor: time.Millisecond}
	})
	met := make(map[string]int)
	check := func(url string) {
		t.Helper()
		tr := w.Truth(url)
		s, _ := w.locate(url)
		a := w.answer(&s, nil)
		u, err := weburl.Parse(url)
		if err != nil {
			t.Fatal(err)
		}
		m := meaning.Of(u, a.status, a.location, a.contentType, a.body)
		name := schemas.OutcomeName(m.Outcome)
		if tr.HostHazard == HazardStalled || tr.Outcome == failed {
			return // the response is incomplete
		}
		if name != tr.Outcome {
			t.Errorf("%s: %d, %q, %q means %s, truth %+v", url, a.status, a.location, a.contentType, name, tr)
		}
		to := a.location
		switch {
		case to == url:
			to = "itself"
		case strings.HasPrefix(to, "http:"):
			to = "elsewhere"
		}
		met[fmt.Sprintf("%s %d %s %s", tr.Hazard, a.status, a.contentType, to)]++
	}
	for n := range uint64(1000) {
		check(w.URL(n))
		check(string(w.appendAlias(nil, "void", 1, n)))
		check(string(w.appendAlias(nil, "loop", 0, n)))
		check(string(w.appendAlias(nil, "go", 3, n)))
		check(string(w.appendOrigin(nil, w.hostOf(n))) + "gone/1.html")
	}
	want := []string{
		" 200 " + htmlType + " ", "error 500 text/html ", " 404 text/plain; charset=utf-8 ",
		" 301 text/html ", " 301 text/html itself", " 301 text/html mailto:nobody@localhost", " 301 text/html elsewhere",
	}
	for _, f := range files {
		want = append(want, "file 200 "+f.contentType+" ")
	}
	for _, class := range want {
		if met[class] == 0 {
			t.Errorf("met no %q among %v", class, met)
		}
	}
}

// TestConnectionsBreak: some before anything was sent, some within the body; some stalled hosts send their header.
func TestConnectionsBreak(t *testing.T) {
	w := made(t, func(c *Config) {
		c.Pages, c.Hazards = 5000, Hazards{Cut: 0.5, Stalled: 0.5, StallFor: 10 * time.Millisecond}
	})
	_, client := served(t, nil, w)
	met := make(map[string]int)
	for n := range uint64(200) {
		tr := w.Truth(w.URL(n))
		resp, err := client.Get(w.URL(n))
		var body []byte
		if err == nil {
			body, err = io.ReadAll(resp.Body)
			resp.Body.Close()
		}
		met[fmt.Sprint(tr.HostHazard, " ", tr.Hazard, ": header ", resp != nil && resp.Header.Get("Content-Type") != "", ", body ", len(body) > 0, ", error ", err != nil)]++
	}
	for _, want := range []string{
		" cut: header false, body false, error true", " cut: header true, body true, error true", " : header true, body true, error false",
		"stalled : header true, body false, error false", "stalled : header false, body false, error false",
	} {
		if met[want] == 0 {
			t.Errorf("met no %q among %v", want, met)
		}
	}
}

func TestRetryAfterIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a refusals
		const wait = time.Second
		for _, key := range []string{"x", "x", "y"} {
			if !a.first(key, map[string]time.Duration{"x": wait, "y": time.Hour}[key]) {
				t.Errorf("a request of %s, the first or too early, is let in", key)
			}
		}
		time.Sleep(wait)
		if a.first("x", wait) || !a.first("y", time.Hour) {
			t.Error("who comes late enough is not let in")
		}
		for i := range 3 * mostRefusals {
			a.first(strconv.Itoa(i), time.Hour)
		}
		if len(a.until) > mostRefusals || len(a.order) > mostRefusals {
			t.Errorf("%d are kept", len(a.until))
		}
	})
}

func TestTheServerIsAProxy(t *testing.T) {
	w := made(t, nil)
	address, client := served(t, nil, w, made(t, func(c *Config) { c.Seed = 2 }))
	get := getter(t, client)
	u := w.URL(7)
	origin := u[:strings.LastIndexByte(u, '/')]
	want, _, _ := w.Page(u)
	if code, body, _ := get(u); code != 200 || body != want {
		t.Errorf("%s: %d", u, code)
	}
	alias := string(w.appendAlias(nil, "go", 1, w.unscramble(7)))
	if code, _, header := get(alias); code != 301 || header.Get("Location") != u {
		t.Errorf("alias: %d %s", code, header.Get("Location"))
	}
	if code, _, _ := get(origin + "/gone/1.html"); code != 404 {
		t.Errorf("dead: %d", code)
	}
	if code, _, _ := get(origin + "/robots.txt"); code != 404 {
		t.Errorf("robots.txt: %d", code)
	}
	for _, none := range []string{"http://elsewhere.example/", "http://h.s1.sim/", "http://hzzzzzzzzz.s2.sim/"} {
		if code, _, _ := get(none); code != 502 {
			t.Errorf("%s: %d", none, code)
		}
	}
	if resp, err := client.Post(u, "text/plain", strings.NewReader("x")); err != nil || resp.StatusCode != 405 {
		t.Errorf("POST: %v, %v", resp, err)
	}

	direct := func(path string, v any) int {
		t.Helper()
		resp, err := http.Get(address + path)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if resp.StatusCode == 200 {
			if err := json.NewDecoder(resp.Body).Decode(v); err != nil {
				t.Fatalf("%s: %v", path, err)
			}
		}
		return resp.StatusCode
	}
	var truth Truth
	if code := direct("/.truth?url="+url.QueryEscape(alias), &truth); code != 200 || truth != w.Truth(alias) {
		t.Errorf("truth: %d, %+v", code, truth)
	}
	var list []string
	if code := direct("/.topics?seed=1", &list); code != 200 || len(list) != 24 {
		t.Errorf("topics: %d, %v", code, list)
	}
	if code := direct("/.examples?seed=2&n=5&topic="+url.QueryEscape(list[3]), &list); code != 200 || len(list) != 5 || !strings.Contains(list[0], ".s2.sim/") {
		t.Errorf("examples: %d, %v", code, list)
	}
	if code := direct("/.urls?seed=1&from=99998&n=10", &list); code != 200 || len(list) != 2 || list[0] != w.URL(99_998) {
		t.Errorf("urls: %d, %v", code, list)
	}
	for path, want := range map[string]int{
		"/.topics": 400, "/.urls?seed=1&n=many": 400, "/.topics?seed=9": 400, "/.else": 404, "/": 502,
		"/.examples?seed=1&topic=none": 400, "/.truths": 400, "/.truths?seed=1&from=x": 400,
	} {
		if code := direct(path, &list); code != want {
			t.Errorf("%s: %d, want %d", path, code, want)
		}
	}
}

// TestTruthsOfMany: labels of a whole web, and of a list of URLs of any web.
func TestTruthsOfMany(t *testing.T) {
	w, other := made(t, func(c *Config) { c.Pages = 3000 }), made(t, func(c *Config) { c.Seed = 2 })
	address, _ := served(t, nil, w, other)
	check := func(resp *http.Response, err error, want []Truth) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		var got []Truth
		for d := json.NewDecoder(resp.Body); d.More(); {
			var tr Truth
			if err := d.Decode(&tr); err != nil {
				t.Fatal(err)
			}
			got = append(got, tr)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d truths, want %d", len(got), len(want))
		}
	}
	var want []Truth
	for n := uint64(1000); n < w.Size(); n++ {
		want = append(want, w.Truth(w.URL(n)))
	}
	resp, err := http.Get(address + "/.truths?seed=1&from=1000&n=9999")
	check(resp, err, want)

	urls := []string{other.URL(3), "http://elsewhere.example/", "no URL", w.Alias(5)}
	want = []Truth{other.Truth(urls[0]), w.Truth(urls[1]), w.Truth(urls[2]), w.Truth(urls[3])}
	for n := range uint64(20_000) { // much more than fits in buffers
		urls, want = append(urls, other.URL(n)), append(want, other.Truth(other.URL(n)))
	}
	resp, err = http.Post(address+"/.truths", "text/plain", strings.NewReader(strings.Join(urls, "\r\n")+"\n\n"))
	check(resp, err, want)
}
