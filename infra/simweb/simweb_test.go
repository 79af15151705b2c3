package simweb

import (
	"errors"
	"math"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/encoding/charmap"
	"pgregory.net/rapid"

	"forager/internal/page/dom"
	"forager/internal/web/weburl"
)

func made(t testing.TB, change func(*Config)) *Web {
	t.Helper()
	c := Default(1)
	if change != nil {
		change(&c)
	}
	w, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// hostile is a web with every hazard and short times.
func hostile(t testing.TB, change func(*Config)) *Web {
	return made(t, func(c *Config) {
		c.Pages, c.Hazards = 20_000, AllHazards()
		if change != nil {
			change(c)
		}
	})
}

var href = regexp.MustCompile(`href="([^"]*)"`)

// links of a page, absolute.
func links(t testing.TB, url, html string) []string {
	t.Helper()
	u, err := weburl.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	base := weburl.NewBase(u)
	var out []string
	for _, m := range href.FindAllStringSubmatch(html, -1) {
		if strings.HasSuffix(m[1], ".css") {
			continue
		}
		to, err := base.Resolve(m[1])
		if err != nil {
			t.Fatalf("%s links to %s: %v", url, m[1], err)
		}
		out = append(out, to.String())
	}
	return out
}

func TestURLsAndPagesAreOneToOne(t *testing.T) {
	for name, w := range map[string]*Web{
		"plain": made(t, nil), "hostile": hostile(t, nil), "topics in URLs": hostile(t, func(c *Config) { c.TopicURLs = true }),
		"small": made(t, func(c *Config) { c.Pages = 1000 }), "immense": hostile(t, func(c *Config) { c.Pages = 1e12 }),
	} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				n := rapid.Uint64Range(0, w.Size()-1).Draw(t, "n")
				u := w.URL(n)
				s, ok := w.locate(u)
				if !ok || s.kind != isPage || s.page.id != w.unscramble(n) || w.scramble(s.page.id) != n {
					t.Fatalf("%s: %+v, %t", u, s, ok)
				}
				if c, err := weburl.Parse(u); err != nil || c.String() != u {
					t.Fatalf("%s is not canonical: %s, %v", u, c, err)
				}
				if tr := w.Truth(u); !tr.Exists || tr.Topic != w.topicName(s.page.topic) {
					t.Fatalf("%s: %+v", u, tr)
				}
				for hops := 1; hops <= mostHops; hops++ {
					alias := string(w.appendAlias(nil, "go", hops, s.page.id))
					if tr := w.Truth(alias); !tr.Alias || tr.Exists || tr.Hops != hops || tr.Target != u && tr.HostHazard != HazardStalled {
						t.Fatalf("%s: %+v", alias, tr)
					}
				}
				for _, bad := range []string{u + "x", strings.Replace(u, "/", "/x/", 3), strings.Replace(u, "http://h", "http://h0", 1), u + "gone/1.html"} {
					if tr := w.Truth(bad); tr.Exists || tr.Alias {
						t.Fatalf("%s exists", bad)
					}
				}
			})
		})
	}
}

func TestScrambleIsAPermutation(t *testing.T) {
	w := made(t, func(c *Config) { c.Pages = 1003 })
	seen := make(map[uint64]bool)
	for id := range w.Size() {
		n := w.scramble(id)
		if n >= w.Size() || seen[n] || w.unscramble(n) != id {
			t.Fatalf("%d → %d", id, n)
		}
		seen[n] = true
	}
}

// Hosts divide the ids without gaps, and every page of one returns the same host.
func TestHostsPartitionThePages(t *testing.T) {
	w := made(t, func(c *Config) { c.Pages = 20_000 })
	names := make(map[string]bool)
	for id := uint64(0); id < w.Size(); {
		h := w.hostOf(id)
		if h.lo != id || h.hi <= h.lo || h.hi > w.Size() {
			t.Fatalf("page %d is on host %+v", id, h)
		}
		name := string(w.appendHost(nil, h))
		if names[name] {
			t.Fatalf("two hosts are called %s", name)
		}
		names[name] = true
		for ; id < h.hi; id++ {
			if w.hostOf(id) != h {
				t.Fatalf("page %d is on host %+v, its neighbour on %+v", id, w.hostOf(id), h)
			}
		}
	}
	if len(names) < 300 {
		t.Errorf("%d hosts only", len(names))
	}
}

// Links of a page lead to pages, except for the dead share, and other URLs respond as their truth.
func TestLinksAgreeWithTruth(t *testing.T) {
	w := hostile(t, nil)
	kinds := make(map[string]int)
	all := 0
	for n := range uint64(1500) {
		u := w.URL(n)
		html, _, ok := w.Page(u)
		if !ok {
			continue
		}
		if again, _, _ := w.Page(u); again != html {
			t.Fatalf("%s changes", u)
		}
		if w.Truth(u).Hazard != "" {
			continue // in another encoding, or not HTML
		}
		for _, l := range links(t, u, html) {
			tr := w.Truth(l)
			all++
			kinds[tr.Kind]++
			if tr.Kind == "no host" {
				t.Errorf("%s leads to %s, where there is no host", u, l)
			}
			if _, redirect, _ := w.Page(l); redirect != w.Truth(l).Redirect && tr.HostHazard != HazardStalled {
				t.Errorf("%s redirects to %q, the truth is %+v", l, redirect, tr)
			}
		}
	}
	for kind, want := range map[string][2]float64{"page": {0.85, 0.97}, "redirect": {0.02, 0.08}, "missing": {0.005, 0.03}, "trap": {0.002, 0.05}} {
		if s := float64(kinds[kind]) / float64(all); s < want[0] || s > want[1] {
			t.Errorf("%s: share %.4f of the links, want %v", kind, s, want)
		}
	}
}

// Chains of redirects end at their targets after the number of hops in their truth.
func TestRedirectsAreFollowed(t *testing.T) {
	w := hostile(t, nil)
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.Uint64Range(0, w.Size()-1).Draw(t, "id")
		follow := func(u string) (string, int) {
			for n := 0; ; n++ {
				_, next, ok := w.Page(u)
				if !ok || next == "" || n == 20 {
					return u, n
				}
				u = next
			}
		}
		hops := rapid.IntRange(1, mostHops).Draw(t, "hops")
		if at, n := follow(string(w.appendAlias(nil, "go", hops, id))); n != hops || w.pageHazard(id) == "" && at != w.url(id) {
			t.Fatalf("%d hops to %s, want %d to %s", n, at, hops, w.url(id))
		}
		far := string(w.appendAlias(nil, "far", farHops, id))
		if _, n := follow(far); n != farHops || w.Truth(far).End == delivered {
			t.Fatalf("a chain of %d, want %d: %+v", n, farHops, w.Truth(far))
		}
		if _, n := follow(string(w.appendAlias(nil, "loop", 0, id))); n != 20 {
			t.Fatalf("a loop ends after %d", n)
		}
		straight := w.Truth(string(w.appendAlias(nil, "go", 1, id)))
		if end := w.Truth(w.url(id)); straight.Outcome == redirected && straight.End != end.End {
			t.Fatalf("%+v ends otherwise than %+v", straight, end)
		}
	})
}

// Endless pages always link to further ones.
func TestTrapsHaveNoEnd(t *testing.T) {
	w := hostile(t, nil)
	seen := make(map[kind]bool)
	for id := uint64(0); id < w.Size() && len(seen) < 3; id = w.hostOf(id).hi {
		h := w.hostOf(id)
		k := w.trapKind(h)
		if k == isPage || seen[k] {
			continue
		}
		seen[k] = true
		at := string(w.appendOrigin(nil, h)) + trapEntry[k]
		visited := make(map[string]bool)
		for range 60 {
			html, _, ok := w.Page(at)
			if tr := w.Truth(at); !ok || tr.Kind != "trap" || visited[at] {
				t.Fatalf("%s: %t, %+v", at, ok, tr)
			}
			visited[at] = true
			for _, l := range links(t, at, html) {
				if !visited[l] && w.Truth(l).Kind == "trap" && len(l) > len(at)-3 {
					at = l
					break
				}
			}
		}
	}
	if len(seen) != 3 {
		t.Errorf("kinds of traps: %v", seen)
	}
}

// TestCharsetsAreReadAsBrowsersDo: package dom detects the encoding of the truth and, where the declaration is
// right, reads the accents.
func TestCharsetsAreReadAsBrowsersDo(t *testing.T) {
	w := hostile(t, func(c *Config) { c.Hazards = Hazards{Charsets: 1} })
	seen := make(map[*charset]bool)
	for n := uint64(0); len(seen) < len(charsets); n++ {
		s, _ := w.locate(w.URL(n))
		c := w.charset(s.page.id)
		seen[c] = true
		a := w.answer(&s, nil)
		p, err := dom.Parse(a.body, a.contentType, w.URL(n), dom.Settings{})
		if err != nil {
			t.Fatal(err)
		}
		if want := w.Truth(w.URL(n)).Charset; p.GetCharset() != want || want != c.read {
			t.Errorf("%+v: read as %s, the truth is %s", c, p.GetCharset(), want)
		}
		accents := slices.ContainsFunc(p.GetTerms(), func(t string) bool { return strings.Contains(t, "ré") })
		if lies := c.encoding == charmap.Windows1252 && c.read == "utf-8"; accents == lies {
			t.Errorf("%+v: accents %t", c, accents)
		}
	}
}

func TestTwoSeedsShareWordsButNoPage(t *testing.T) {
	a, b := made(t, nil), made(t, func(c *Config) { c.Seed = 2 })
	if !slices.Equal(a.Topics(), b.Topics()) {
		t.Error("one language has two topic trees")
	}
	for n := range uint64(200) {
		if b.Truth(a.URL(n)).Exists {
			t.Errorf("%s is in both webs", a.URL(n))
		}
	}
	other := made(t, func(c *Config) { c.Language = 2 })
	if slices.Equal(a.Topics(), other.Topics()) {
		t.Error("two languages have one topic tree")
	}
}

// Labels do not follow from URLs: the numbers of a topic's pages are uniform, and no name of a topic occurs in
// them, unless that is set.
func TestURLsDoNotTellTopics(t *testing.T) {
	w := made(t, nil)
	open := made(t, func(c *Config) { c.TopicURLs = true })
	const topic = 5
	var below, all float64
	for id := w.starts[topic]; id < w.starts[topic+1]; id++ {
		all++
		if w.scramble(id) < w.Size()/2 {
			below++
		}
		if id%50 == 0 {
			p := w.page(id)
			for name := range strings.SplitSeq(w.topics[topic], "/") {
				if strings.Contains(w.url(id), name) {
					t.Fatalf("%s names its topic", w.url(id))
				}
			}
			if u := open.url(id); p.topic >= 0 && p.index() > 0 && !strings.Contains(u, w.topics[p.topic]) {
				t.Fatalf("%s does not name its topic %s", u, w.topics[p.topic])
			}
		}
	}
	if share := below / all; math.Abs(share-0.5) > 0.05 {
		t.Errorf("of the topic's pages %.3f have numbers in the lower half", share)
	}
}

// broken reports whether a crawler can see that the URL is wrong.
func broken(t Truth) bool {
	return t.Hazard != "" || t.HostHazard != "" || !slices.Contains([]string{"page", "missing"}, t.Kind)
}

func TestExamples(t *testing.T) {
	w := hostile(t, nil)
	for _, topic := range append([]string{Other}, w.Topics()...) {
		urls := w.Examples(topic, 20)
		if len(urls) != 20 {
			t.Errorf("%s: %d examples", topic, len(urls))
		}
		for _, u := range urls {
			if tr := w.Truth(u); tr.Topic != topic || broken(tr) || tr.Outcome != delivered {
				t.Errorf("%s: %+v", u, tr)
			}
		}
	}
	if urls := w.Examples("none", 3); len(urls) != 0 {
		t.Errorf("examples of no topic: %v", urls)
	}
}

// TestAHundredMillionPagesNeedNoMemory visits pages of a web of 10⁸ pages: memory does not grow, and a page
// takes as many allocations as in a web of 10⁴.
func TestAHundredMillionPagesNeedNoMemory(t *testing.T) {
	visit := func(w *Web, from, n uint64) (allocations float64) {
		buf := make([]byte, 0, 1<<20)
		at := from
		return testing.AllocsPerRun(int(n), func() {
			at++
			s, ok := w.locate(w.URL(mix(at) % w.Size()))
			if !ok {
				t.Fatal("a page is missing")
			}
			a := w.answer(&s, buf)
			buf = a.body
		})
	}
	held := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := held()
	large := made(t, func(c *Config) { c.Pages = 100_000_000 })
	perPage := visit(large, 0, 2000)
	after := held()
	visit(large, 1e6, 20_000)
	end := held()
	if grown := int64(after) - int64(before); grown > 8<<20 {
		t.Errorf("a web of 10⁸ pages holds %d bytes", grown)
	}
	if grown := int64(end) - int64(after); grown > 256<<10 {
		t.Errorf("20,000 more pages hold %d bytes", grown)
	}
	if small := visit(made(t, func(c *Config) { c.Pages = 10_000 }), 0, 2000); perPage > small+2 || perPage > 12 {
		t.Errorf("%.1f allocations a page, %.1f in a small web", perPage, small)
	}
	runtime.KeepAlive(large)
}

// TestHazardsAreIndependent enables them one by one, by name: only hazards of that kind occur, and without it none.
func TestHazardsAreIndependent(t *testing.T) {
	meets := func(h Hazards) map[string]bool {
		w := made(t, func(c *Config) { c.Pages, c.Hazards, c.Dead, c.Alias = 5000, h, 0, 0 })
		met := make(map[string]bool)
		for n := range w.Size() {
			tr := w.Truth(w.URL(n))
			met[tr.Hazard+tr.HostHazard] = true
			if n >= 300 || tr.Hazard == HazardCharset { // its links are in its encoding
				continue
			}
			html, _, _ := w.Page(w.URL(n))
			for _, l := range links(t, w.URL(n), html) {
				if tr := w.Truth(l); tr.Kind != "page" {
					met[tr.Kind+" to "+tr.End] = true
				}
			}
		}
		return met
	}
	if met := meets(Hazards{}); len(met) != 1 {
		t.Errorf("without hazards: %v", met)
	}
	all := Hazards{}
	for name, want := range map[string]string{
		"robots": HazardPrivate, "throttled": HazardThrottled, "slow": HazardSlow, "stalled": HazardStalled, "calendars": "trap to delivered",
		"errors": HazardError, "flaky": HazardFlaky, "files": HazardFile, "charsets": HazardCharset, "huge": HazardHuge, "cut": HazardCut,
		"chains": "redirect to delivered", "endless": "redirect to bad-redirect", "loops": "redirect to bad-redirect", "nowhere": "redirect to bad-redirect",
	} {
		var h Hazards
		if err := errors.Join(h.Set(name, 0.3), all.Set(name, 0.3)); err != nil {
			t.Fatal(err)
		}
		met := meets(h)
		if delete(met, ""); !met[want] || len(met) != 1 {
			t.Errorf("%s: met %v, want %q alone", name, met, want)
		}
	}
	for name, share := range all.shares() {
		if *share == 0 {
			t.Errorf("%s is not tried", name)
		}
	}
	if err := all.Set("fire", 1); err == nil || !strings.Contains(err.Error(), "calendars, chains") {
		t.Errorf("no hazard: %v", err)
	}
}

func TestBadConfigurationsAreRefused(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"pages": func(c *Config) { c.Pages = 10 }, "tree": func(c *Config) { c.Leaves = 0 }, "topics": func(c *Config) { c.Branches, c.Leaves = 1, 1 },
		"locality": func(c *Config) { c.Locality = 2 }, "links": func(c *Config) { c.Dead, c.Alias = 0.8, 0.3 },
		"cues": func(c *Config) { c.Cues = 7 }, "not a number": func(c *Config) { c.HubShare = math.NaN() },
		"pages' hazards": func(c *Config) { c.Hazards = Hazards{Errors: 0.6, Cut: 0.6} }, "negative": func(c *Config) { c.Hazards.Robots = -1 },
		"time": func(c *Config) { c.Hazards.SlowFor = -1 }, "retry": func(c *Config) { c.Hazards.RetryAfter = 1 },
	} {
		c := Default(1)
		change(&c)
		if _, err := New(c); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// FuzzTruth: every query gets a response, in bounded time.
func FuzzTruth(f *testing.F) {
	w := hostile(f, nil)
	for n := range uint64(20) {
		f.Add(w.URL(n))
	}
	for _, u := range []string{"", "http://", "http://h.s1.sim/", w.URL(0) + "go/1/", w.url(0) + "calendar/99999999999/12", w.url(0) + "browse?sort=new&f1=a", w.url(0) + "list/more/more"} {
		f.Add(u)
	}
	f.Fuzz(func(t *testing.T, url string) {
		tr := w.Truth(url)
		if tr.Outcome == "" || tr.Kind == "" {
			t.Errorf("%q: %+v", url, tr)
		}
		w.Page(url)
	})
}

// BenchmarkPage measures the work of the server for a page before it is sent.
func BenchmarkPage(b *testing.B) {
	for name, change := range map[string]func(*Config){"100k": nil, "100M": func(c *Config) { c.Pages = 100_000_000 }} {
		b.Run(name, func(b *testing.B) {
			w := made(b, change)
			var buf []byte
			n := 0
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				s, _ := w.locate(w.URL(mix(uint64(i)) % w.Size()))
				a := w.answer(&s, buf)
				buf = a.body
				n += len(buf)
			}
			b.ReportMetric(float64(n)/float64(b.N), "bytes/page")
		})
	}
}
