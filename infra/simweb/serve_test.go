package simweb

import (
	"bytes"
	"encoding/json"
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

// TestTheServerDoesWhatTheTruthSays asks for pages of every hazard, once and again.
func TestTheServerDoesWhatTheTruthSays(t *testing.T) {
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

func TestRetryAfterIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a told
		const wait = time.Second
		if !a.first("x", wait) || !a.first("x", wait) || !a.first("y", time.Hour) {
			t.Error("who comes first, or too early, is let in")
		}
		time.Sleep(wait)
		if a.first("x", wait) || !a.first("y", time.Hour) {
			t.Error("who comes late enough is not let in")
		}
		for i := range 3 * mostTold {
			a.first(strconv.Itoa(i), time.Hour)
		}
		if len(a.until) > mostTold || len(a.order) > mostTold {
			t.Errorf("%d are remembered", len(a.until))
		}
	})
}

func TestTheServerIsAProxy(t *testing.T) {
	w := made(t, nil)
	address, client := served(t, nil, w, made(t, func(c *Config) { c.Seed = 2 }))
	get := func(u string) (int, string, string) {
		t.Helper()
		resp, err := client.Get(u)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(b), resp.Header.Get("Location")
	}
	u := w.URL(7)
	origin := u[:strings.LastIndexByte(u, '/')]
	want, _, _ := w.Page(u)
	if code, body, _ := get(u); code != 200 || body != want {
		t.Errorf("%s: %d", u, code)
	}
	alias := string(w.appendAlias(nil, "go", 1, w.unscramble(7)))
	if code, _, location := get(alias); code != 301 || location != u {
		t.Errorf("alias: %d %s", code, location)
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

// TestTruthsOfMany: labels of a whole web, and of a list of URLs from anywhere.
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
	for n := range uint64(20_000) { // much more than fits into buffers
		urls, want = append(urls, other.URL(n)), append(want, other.Truth(other.URL(n)))
	}
	resp, err = http.Post(address+"/.truths", "text/plain", strings.NewReader(strings.Join(urls, "\r\n")+"\n\n"))
	check(resp, err, want)
}
