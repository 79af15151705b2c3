//go:build webs

package likeness

import (
	"strings"
	"testing"

	"forager/infra/simweb"
	"forager/internal/page/dom"
	"forager/internal/page/text"
	"forager/internal/testkit/frozen"
	"forager/internal/web/httpresponse"
	"forager/internal/web/webarchive"
	"forager/internal/web/weburl"
	"forager/schemas"
)

// labelled reads a web of the folder with its labels; label returns the topic of a label.
func labelled(t testing.TB, name string, label func(string) string) *Web {
	t.Helper()
	labels := make(map[string]string)
	for url, l := range frozen.Labels(t, name) {
		if u, err := weburl.Parse(url); err == nil {
			labels[u.String()] = label(l)
		}
	}
	archive, err := webarchive.Open(t.Context(), frozen.Path(t, frozen.Webs, name+".warc.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	web, moved := &Web{}, make(map[string]string)
	for _, url := range archive.URLs() {
		p, _, err := archive.Lookup(url)
		if err != nil {
			t.Fatal(err)
		}
		u, err := weburl.Parse(url)
		if err != nil {
			t.Fatal(err)
		}
		kind := p.Header.Get("Content-Type")
		switch m := httpresponse.Of(u, p.Status, p.Location, kind, p.Body); m.Outcome {
		case schemas.Outcome_OUTCOME_REDIRECTED:
			moved[url] = m.Redirect
		case schemas.Outcome_OUTCOME_DELIVERED:
			parsed, err := dom.Parse(p.Body, kind, url, dom.Settings{})
			if err != nil {
				t.Fatal(err)
			}
			web.Pages = append(web.Pages, Page{parsed, labels[url]})
		}
	}
	web.Resolve = func(url string) string {
		for range 10 {
			to, ok := moved[url]
			if !ok {
				break
			}
			url = to
		}
		return url
	}
	return web
}

// encyclopedia is a taxonomy of texts.
func encyclopedia(t testing.TB, name string) *Web {
	t.Helper()
	web := &Web{Texts: true}
	for article := range frozen.Articles(t, name) {
		p, number := &schemas.Page{Url: article.URL}, make(map[string]uint32)
		for _, token := range text.Tokens(nil, article.Text) {
			n, ok := number[token]
			if !ok {
				n = uint32(len(number))
				number[token] = n
				p.Terms = append(p.Terms, token)
			}
			p.Tokens = append(p.Tokens, n)
		}
		web.Pages = append(web.Pages, Page{Page: p})
	}
	return web
}

// TestWebsFigures measures the frozen webs again, and the synthetic one with other cues: the figures are those committed.
func TestWebsFigures(t *testing.T) {
	c := committed(t)
	for name, web := range map[string]func() *Web{
		"webkb": func() *Web {
			return labelled(t, "webkb", func(l string) string { kind, _, _ := strings.Cut(l, "/"); return kind })
		},
		"webplatform":       func() *Web { return labelled(t, "webplatform", func(l string) string { return l }) },
		"schools-wikipedia": func() *Web { return encyclopedia(t, "schools-wikipedia") },
	} {
		f, err := Measure(web())
		if err != nil {
			t.Fatal(err)
		}
		if *update {
			c.Frozen[name] = f
			continue
		}
		same(t, name, f, c.Frozen[name])
	}
	for name, cues := range map[string]simweb.Cues{"simweb, uniform": simweb.CuesUniform, "simweb, absent": simweb.CuesNone} {
		f := synthetic(t, making, cues)
		if *update {
			c.Synthetic[name] = f
			continue
		}
		same(t, name, f, c.Synthetic[name])
	}
	if *update {
		save(t, c)
	}
}
