package simweb

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func web(t testing.TB, seed uint64) *Web {
	t.Helper()
	w, err := New(Default(seed))
	if err != nil {
		t.Fatal(err)
	}
	return w
}

var href = regexp.MustCompile(`href="([^"]*)"`)

func links(html string) []string {
	var out []string
	for _, m := range href.FindAllStringSubmatch(html, -1) {
		out = append(out, m[1])
	}
	return out
}

func TestURLsAndPagesAreOneToOne(t *testing.T) {
	w := web(t, 3)
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Uint64Range(0, w.Size()-1).Draw(t, "n")
		u := w.URL(n)
		id, alias, ok := w.parse(u)
		if !ok || alias || w.scramble(id) != n {
			t.Fatalf("%s: id %d, alias %t, ok %t", u, id, alias, ok)
		}
		if tr := w.Truth(u); !tr.Exists || tr.Topic != w.topics[w.topic(id)] {
			t.Fatalf("%s: %+v", u, tr)
		}
		if tr := w.Truth(w.aliasURL(id)); !tr.Alias || tr.Exists {
			t.Fatalf("alias of %s: %+v", u, tr)
		}
		for _, bad := range []string{u + "x", strings.Replace(u, ".html", "", 1), strings.Replace(u, "http://h", "http://hx", 1), w.deadURL(id, 1)} {
			if tr := w.Truth(bad); tr.Exists || tr.Alias {
				t.Fatalf("%s exists", bad)
			}
		}
	})
}

func TestScrambleIsAPermutation(t *testing.T) {
	c := Default(5)
	c.Pages = 1003
	w, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[uint64]bool)
	for id := range w.Size() {
		n := w.scramble(id)
		if n >= w.Size() || seen[n] || w.unscramble(n) != id {
			t.Fatalf("%d → %d", id, n)
		}
		seen[n] = true
	}
}

func TestLinksLeadSomewhereAndStayOnTopic(t *testing.T) {
	w := web(t, 1)
	var content, local, dead, alias, hubs int
	for n := range uint64(400) {
		u := w.URL(n)
		html, _, ok := w.Page(u)
		if !ok {
			t.Fatal(u)
		}
		again, _, _ := w.Page(u)
		if again != html {
			t.Fatalf("%s changes", u)
		}
		from := w.Truth(u)
		if from.Hub {
			hubs++
			continue
		}
		for _, l := range links(html) {
			to := w.Truth(l)
			content++
			switch {
			case to.Alias:
				alias++
			case !to.Exists:
				dead++
			}
			if to.Topic == from.Topic {
				local++
			}
		}
	}
	share := func(name string, n, of int, low, high float64) {
		if s := float64(n) / float64(of); s < low || s > high {
			t.Errorf("%s: share %.3f outside [%g, %g]", name, s, low, high)
		}
	}
	share("local links", local, content, 0.30, 0.50)
	share("dead links", dead, content, 0.005, 0.04)
	share("aliases", alias, content, 0.005, 0.04)
	share("hubs", hubs, 400, 0.10, 0.20)
}

func TestTwoSeedsShareWordsButNoPage(t *testing.T) {
	a, b := web(t, 1), web(t, 2)
	if strings.Join(a.Topics(), " ") != strings.Join(b.Topics(), " ") {
		t.Error("one language has two topic trees")
	}
	for n := range uint64(200) {
		if b.Truth(a.URL(n)).Exists {
			t.Errorf("%s is in both webs", a.URL(n))
		}
	}
}

func TestHandlerIsAProxy(t *testing.T) {
	w := web(t, 1)
	srv := httptest.NewServer(Handler(w, web(t, 2)))
	defer srv.Close()
	proxy, err := url.Parse(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{
		Transport:     &http.Transport{Proxy: http.ProxyURL(proxy)},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	get := func(u string) (int, string, string) {
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
	want, _, _ := w.Page(u)
	if code, body, _ := get(u); code != 200 || body != want {
		t.Errorf("%s: %d", u, code)
	}
	id, _, _ := w.parse(u)
	if code, _, location := get(w.aliasURL(id)); code != 301 || location != u {
		t.Errorf("alias: %d %s", code, location)
	}
	if code, _, _ := get(w.deadURL(id, 1)); code != 404 {
		t.Errorf("dead: %d", code)
	}
	if code, _, _ := get("http://" + w.hostOf(0) + "/robots.txt"); code != 404 {
		t.Errorf("robots.txt: %d", code)
	}
	if code, _, _ := get("http://elsewhere.example/"); code != 502 {
		t.Errorf("another host: %d", code)
	}
}

func TestBadConfigurationsAreRefused(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"pages": func(c *Config) { c.Pages = 10 }, "tree": func(c *Config) { c.Leaves = 0 },
		"locality": func(c *Config) { c.Locality = 2 }, "dead": func(c *Config) { c.Dead, c.Alias = 0.8, 0.3 },
	} {
		c := Default(1)
		change(&c)
		if _, err := New(c); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func BenchmarkPage(b *testing.B) {
	w := web(b, 1)
	n := 0
	for i := 0; b.Loop(); i++ {
		html, _, _ := w.Page(w.URL(uint64(i) % w.Size()))
		n += len(html)
	}
	b.SetBytes(int64(n / max(1, b.N)))
}
