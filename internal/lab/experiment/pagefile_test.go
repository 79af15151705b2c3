package experiment

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"forager/internal/lab/experiment/worldtest"
	"forager/internal/lab/storedpage"
	"forager/internal/platform/progress"
	"forager/schemas"
)

// cached is a small web on disk with a cache, and the last Opened of the cache.
type cached struct {
	Cache
	t      *testing.T
	web    string
	opened Opened
}

func newCached(t *testing.T) *cached {
	w := new(worldtest.World)
	w.Page("http://one.example/a", "x", "<title>ä</title><a href=/b>to b</a>")
	w.Page("http://one.example/b", "y", "<p>b")
	w.Redirect("http://one.example/c%2fd", "http://one.example/a")
	w.Answers = append(w.Answers, worldtest.Answer{URL: "http://one.example/gone", Status: 404}, worldtest.Answer{URL: "http://one.example/t", Kind: "text/plain", Status: 200, Body: "plain"},
		worldtest.Answer{URL: "ftp_//one.example/stray", Kind: "text/html", Status: 200, Body: "<p>stray"})
	c := &cached{t: t, web: filepath.Join(w.Write(t), "web.warc.gz")}
	c.Folder = filepath.Join(t.TempDir(), "deep", "folder")
	c.Opened = func(o Opened) { c.opened = o }
	return c
}

// load brings the web, which is the one that LoadWeb brings.
func (c *cached) load() *cached {
	c.t.Helper()
	got, err := c.Load(c.t.Context(), c.web, Parsing{Leaves: schemas.LeafMode_LEAF_MODE_COMPACT})
	if err != nil {
		c.t.Fatal(err)
	}
	want, err := LoadWeb(c.t.Context(), c.web, Parsing{Leaves: schemas.LeafMode_LEAF_MODE_COMPACT})
	if err != nil {
		c.t.Fatal(err)
	}
	type plain struct {
		URL, Redirect, Detail string
		Outcome               schemas.Outcome
		Status, Size          int
		Parsed                *schemas.Page
	}
	flat := func(pages map[string]*page) map[string]plain {
		out := make(map[string]plain)
		for url, p := range pages {
			out[url] = plain{p.url, p.redirect, p.detail, p.outcome, p.status, p.size, p.text()}
		}
		return out
	}
	for name, of := range map[string]func(*Web) map[string]*page{
		"pages": func(w *Web) map[string]*page { return w.pages }, "strays": func(w *Web) map[string]*page { return w.strays },
		"without escapes": func(w *Web) map[string]*page { return w.unescaped },
	} {
		if d := cmp.Diff(flat(of(want)), flat(of(got)), protocmp.Transform()); d != "" || len(of(want)) == 0 {
			c.t.Errorf("%s (− parsed, + from the cache):\n%s", name, d)
		}
	}
	if d := cmp.Diff(want.labels, got.labels); d != "" {
		c.t.Error(d)
	}
	return c
}

func (c *cached) file() string {
	c.t.Helper()
	files, err := os.ReadDir(c.Folder)
	if err != nil || len(files) != 1 {
		c.t.Fatalf("%v, %v in the cache", files, err)
	}
	return filepath.Join(c.Folder, files[0].Name())
}

func TestTheCacheHasTheSameWeb(t *testing.T) {
	c := newCached(t)
	if c.load(); c.opened.Cached || c.opened.Damage != nil || c.opened.Unkept != nil || c.opened.Pages != 4 {
		t.Errorf("the first time: %+v", c.opened)
	}
	if c.load(); !c.opened.Cached {
		t.Errorf("the second time: %+v", c.opened)
	}
	// Labels are not kept.
	labels := filepath.Join(filepath.Dir(c.web), "web.labels.tsv")
	b, err := os.ReadFile(labels)
	if err == nil {
		err = os.WriteFile(labels, bytes.ReplaceAll(b, []byte("\ty"), []byte("\tz")), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if c.load(); !c.opened.Cached {
		t.Errorf("other labels: %+v", c.opened)
	}
	// Another numbering of leaves has a file of its own.
	if _, err := c.Load(c.t.Context(), c.web, Parsing{Leaves: schemas.LeafMode_LEAF_MODE_PAPER}); err != nil || c.opened.Cached {
		t.Errorf("other leaves: %v, %+v", err, c.opened)
	}
}

func TestADamagedCacheIsMadeAgain(t *testing.T) {
	c := newCached(t)
	whole, err := os.ReadFile(c.load().file())
	if err != nil {
		t.Fatal(err)
	}
	damage := map[string][]byte{"empty": {}, "longer": append(bytes.Clone(whole), 0)[:len(whole)-1], "of zeros": make([]byte, len(whole))}
	noticed, keyed := 0, len(whole)-2*sha256.Size
	for at := 1; at < keyed; at += len(whole) / 12 {
		b := bytes.Clone(whole)
		b[at] ^= 1
		if err := os.WriteFile(c.file(), b, 0o600); err != nil {
			t.Fatal(err)
		}
		if c.load(); c.opened.Cached == (c.opened.Damage != nil) { // some bits of zip headers mean nothing
			t.Fatalf("a bit at %d: %+v", at, c.opened)
		}
		if !c.opened.Cached {
			noticed++
		}
		damage["cut"] = whole[:at]
		for what, b := range damage {
			if err := os.WriteFile(c.file(), b, 0o600); err != nil {
				t.Fatal(err)
			}
			if c.load(); c.opened.Cached || c.opened.Damage == nil || c.opened.Unkept != nil {
				t.Fatalf("%s at %d: %+v", what, at, c.opened)
			}
		}
		if c.load(); !c.opened.Cached {
			t.Fatalf("mended: %+v", c.opened)
		}
		clear(damage)
	}
	if noticed < 6 {
		t.Errorf("%d damaged bits were noticed", noticed)
	}
	b := bytes.Clone(whole)
	b[keyed] ^= 1
	if err := os.WriteFile(c.file(), b, 0o600); err != nil {
		t.Fatal(err)
	}
	if c.load(); c.opened.Cached || c.opened.Damage != nil {
		t.Errorf("of another program: %+v", c.opened)
	}
}

func TestACacheThatCannotBeWritten(t *testing.T) {
	c := newCached(t)
	c.Folder = c.web // a file
	if c.load(); c.opened.Unkept == nil {
		t.Errorf("%+v", c.opened)
	}
}

// FuzzPageFile reads damaged files.
func FuzzPageFile(f *testing.F) {
	body, err := storedpage.Encode(&schemas.Page{Url: "u", Terms: []string{"a", "", "b"}})
	if err != nil {
		f.Fatal(err)
	}
	var whole bytes.Buffer
	w, err := newPageWriter(&whole, "key")
	if err != nil {
		f.Fatal(err)
	}
	w.index.Pages = []indexed{w.add(&page{url: "u"}, body), w.add(&page{url: "v", outcome: 3, status: 301, redirect: "u"}, nil)}
	w.index.Strays = []indexed{w.add(&page{url: "s"}, body)}
	w.index.Strays[0].Length-- // no damage of the zip archive
	if err := w.end(); err != nil {
		f.Fatal(err)
	}
	f.Add(whole.Bytes())
	f.Add(whole.Bytes()[1:])
	f.Fuzz(func(t *testing.T, b []byte) {
		name := filepath.Join(t.TempDir(), "web")
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := openPageFile(name, "key")
		if err != nil {
			return
		}
		for _, x := range slices.AppendSeq(p.pages, maps.Values(p.strays)) {
			x.parsed() // an error or a page
		}
	})
}

// began calls itself when a task begins.
type began func()

func (f began) Begin(*progress.Task) func() { f(); return func() {} }
func (f began) Moved(*progress.Task)        {}

// TestAnEarlyEndLeavesNoPageFile: neither where the context ends while a web is parsed, nor where the process does.
func TestAnEarlyEndLeavesNoPageFile(t *testing.T) {
	c := newCached(t)
	parts := func() []string {
		names, err := filepath.Glob(filepath.Join(c.Folder, "*"))
		if err != nil {
			t.Error(err)
		}
		return names
	}
	ctx, cancel := context.WithCancel(t.Context())
	ctx = progress.Observe(ctx, began(func() {
		if len(parts()) != 1 {
			t.Errorf("while a web is parsed there is %q", parts())
		}
		cancel()
	}))
	if _, err := c.Load(ctx, c.web, Parsing{Leaves: schemas.LeafMode_LEAF_MODE_COMPACT}); !errors.Is(err, context.Canceled) || len(parts()) > 0 {
		t.Errorf("%v; left is %q", err, parts())
	}

	left, gone, loaded := new(progress.Leftovers), make(chan []string, 1), make(chan error, 1)
	ctx = progress.Observe(progress.Keep(t.Context(), left), began(func() {
		left.Remove()
		gone <- parts()
	}))
	go func() { // it never ends: the process would
		_, err := c.Load(ctx, c.web, Parsing{Leaves: schemas.LeafMode_LEAF_MODE_COMPACT})
		loaded <- err
	}()
	select {
	case names := <-gone:
		if len(names) > 0 {
			t.Errorf("left is %q", names)
		}
	case err := <-loaded:
		t.Errorf("the web was read: %v", err)
	}
}

// TestBlank: the texts of what matches are gone and all else is there, links included; the cache keeps the two webs apart.
func TestBlank(t *testing.T) {
	w := &worldtest.World{Critic: map[string][]string{"good": {"http://one.test/"}}, Seeds: [][]string{{"http://one.test/"}}, Budget: 1}
	w.Page("http://one.test/", "good/one", `<title>title</title><ol class="breadcrumbs"><li>crumb <a href="/svg">svg</a></ol><p>text <a href="/b">more</a></p>`)
	path := filepath.Join(w.Write(t), "web.warc.gz")
	cache := &Cache{Folder: t.TempDir()}
	for range 2 { // parsed, and read from the cache
		for blank, want := range map[string]string{"": "title crumb svg text more", `(?s)<ol class="breadcrumbs">.*?</ol>`: "title text more"} {
			for _, load := range []Loader{LoadWeb, cache.Load} {
				web, err := load(t.Context(), path, Parsing{schemas.LeafMode_LEAF_MODE_COMPACT, blank})
				if err != nil {
					t.Fatal(err)
				}
				p := web.pages["http://one.test/"].text()
				var words, links []string
				for _, token := range p.GetTokens() {
					words = append(words, p.GetTerms()[token])
				}
				for _, l := range p.GetLinks() {
					links = append(links, l.GetUrl())
				}
				if got := strings.TrimSpace(p.GetTitle() + " " + strings.Join(words, " ")); !strings.HasSuffix(got, strings.TrimPrefix(want, "title ")) || strings.Contains(got, "crumb") != (blank == "") ||
					strings.Join(links, " ") != "http://one.test/svg http://one.test/b" {
					t.Errorf("without %q: %q, links %v", blank, got, links)
				}
			}
		}
	}
	if _, err := LoadWeb(t.Context(), path, Parsing{Blank: "("}); err == nil || !strings.Contains(err.Error(), "blanked") {
		t.Errorf("no regular expression: %v", err)
	}
}
