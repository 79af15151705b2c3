package dom

import (
	"slices"
	"strings"
	"testing"

	"github.com/cespare/xxhash/v2"
)

// hashedPairs returns the hashes of the pairs of consecutive elements, the first of them with no predecessor.
func hashedPairs(path []string) []uint32 {
	last, pairs := "", make([]uint32, len(path))
	for i, element := range path {
		pairs[i] = uint32(xxhash.Sum64String(last + " " + element))
		last = element
	}
	return pairs
}

func TestTagPaths(t *testing.T) {
	for _, c := range []struct {
		name, body string
		want       []string
	}{
		{"none", "<p>A", nil},
		{"plain", "<a href=v>A</a>", []string{"html body a"}},
		{"classes and ids", `<div id=" main  part " class="wide  dark"><ul class=""><li id=""><a class=x href=v>A</a></ul></div>`, []string{"html body div#main_part.wide.dark ul li a.x"}},
		{"repaired", "<table><a href=v>A</a><tr><td><a href=w>B</a></table>", []string{"html body a", "html body table tbody tr td a"}},
		{"first link to a page", "<p><a href=v>A</a><div><a href=v>B</a><a href=mailto:x@y>C</a><a href=w>D</a></div>", []string{"html body p a", "html body div a"}},
		{"blank id", `<p id=" "><a href=v>A</a>`, []string{"html body p# a"}},
		{"area", "<map><area href=v></map>", []string{"html body map area"}},
		{"deep", strings.Repeat("<div>", 100) + "<a href=v>A</a>", []string{strings.Repeat("div ", maxPathElements-1) + "a"}},
		{"too deep for a tree", strings.Repeat("<div>", 1000) + "<a href=v>A</a><a href=w>B</a>", []string{"", ""}},
	} {
		p, err := Parse([]byte(c.body), "text/html", "http://h.test/", Settings{TagPaths: true})
		if err != nil || len(p.Links) != len(c.want) {
			t.Fatalf("%s: %d links, want %d (%v)", c.name, len(p.GetLinks()), len(c.want), err)
		}
		for i, l := range p.Links {
			if want := hashedPairs(strings.Fields(c.want[i])); !slices.Equal(l.TagPath, want) {
				t.Errorf("%s: link %d has the path %x, want %x of %q", c.name, i, l.TagPath, want, c.want[i])
			}
		}
	}
}

// FuzzTagPaths: a page has the same links with paths or without, and paths are bounded.
func FuzzTagPaths(f *testing.F) {
	f.Add([]byte(`<meta charset=utf-16><base href=/x/><div class="a b"><a href=v>A<table><td><a href=w id=z>B</a>`))
	f.Add([]byte(strings.Repeat("<b>", 600) + "<a href=v>"))
	f.Fuzz(func(t *testing.T, body []byte) {
		with, err := Parse(body, "", "http://h.test/", Settings{TagPaths: true})
		if err != nil {
			t.Fatal(err)
		}
		p, err := Parse(body, "", "http://h.test/", Settings{})
		if err != nil {
			t.Fatal(err)
		}
		for i, l := range with.Links { // many long URLs may be cut a little earlier
			if i >= len(p.Links) || l.Url != p.Links[i].Url || p.Links[i].TagPath != nil || len(l.TagPath) > maxPathElements {
				t.Fatalf("link %d is %v", i, l)
			}
		}
		if len(with.Links) != len(p.Links) && !with.Cut {
			t.Errorf("%d links with paths, %d without", len(with.Links), len(p.Links))
		}
	})
}
