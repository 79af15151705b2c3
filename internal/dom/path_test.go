package dom

import (
	"slices"
	"strings"
	"testing"
)

func TestTagPaths(t *testing.T) {
	for _, c := range []struct {
		name, body string
		want       []string
	}{
		{"none", "<p>A", nil},
		{"plain", "<a href=v>A</a>", []string{"html body a"}},
		{"classes and ids", `<div id=" main " class="wide  dark"><ul class=""><li id=""><a class=x href=v>A</a></ul></div>`, []string{"html body div#main.wide.dark ul li a.x"}},
		{"repaired", "<table><a href=v>A</a><tr><td><a href=w>B</a></table>", []string{"html body a", "html body table tbody tr td a"}},
		{"first link to a page", "<p><a href=v>A</a><div><a href=v>B</a><a href=mailto:x@y>C</a><a href=w>D</a></div>", []string{"html body p a", "html body div a"}},
		{"area", "<map><area href=v></map>", []string{"html body map area"}},
		{"deep", strings.Repeat("<div>", 100) + "<a href=v>A</a>", []string{strings.Repeat("div ", maxPathElements-1) + "a"}},
		{"too deep for a tree", strings.Repeat("<div>", 1000) + "<a href=v>A</a><a href=w>B</a>", []string{"", ""}},
	} {
		got, err := TagPaths([]byte(c.body), "text/html", "http://h.test/", Settings{})
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q (%v)", c.name, got, c.want, err)
		}
	}
	if p, err := TagPaths(nil, "", "nowhere", Settings{}); err == nil {
		t.Errorf("paths %q of no URL", p)
	}
}

// FuzzTagPaths: as many paths as links, whatever the page.
func FuzzTagPaths(f *testing.F) {
	f.Add([]byte(`<meta charset=utf-16><base href=/x/><div class="a b"><a href=v>A<table><td><a href=w id=z>B</a>`))
	f.Add([]byte(strings.Repeat("<b>", 600) + "<a href=v>"))
	f.Fuzz(func(t *testing.T, body []byte) {
		paths, err := TagPaths(body, "", "http://h.test/", Settings{})
		if err != nil {
			t.Fatal(err)
		}
		p, err := Parse(body, "", "http://h.test/", Settings{})
		if err != nil {
			t.Fatal(err)
		}
		if len(paths) != len(p.Links) {
			t.Errorf("%d paths of %d links", len(paths), len(p.Links))
		}
	})
}
