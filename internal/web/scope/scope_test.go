package scope

import (
	"fmt"
	"forager/internal/web/weburl"
	"slices"
	"strings"
	"testing"

	"forager/schemas"
)

// reasons are all reasons.
var reasons = []Reason{
	Excluded, OutOfHosts, OutOfPrefixes, OutOfList, Depth, HostCap, Gate, Replay,
	TrapLength, TrapSegments, TrapRepeats, TrapParameters,
}

func TestCheck(t *testing.T) {
	hosts := &schemas.Scope{Hosts: []string{"Example.org", "127.0.0.1:8080", "[::1]"}}
	prefixes := &schemas.Scope{Prefixes: []string{"http://a.example/x/", "https://b.example/"}}
	both := &schemas.Scope{Hosts: []string{"a.example"}, Prefixes: []string{"http://a.example/x/", "http://b.example/"}, MaxDepth: 2}
	list := &schemas.Scope{UrlList: "object"}
	seeds := &schemas.Scope{SeedsOnly: true, MaxDepth: 7, Hosts: []string{"a.example"}}
	long := "http://a.example/" + strings.Repeat("x", maxLength)
	for _, c := range []struct {
		scope *schemas.Scope
		url   string
		depth uint32
		want  Reason
	}{
		{nil, "http://a.example/", 1000, ""},
		{hosts, "http://example.org/", 0, ""},
		{hosts, "https://www.deep.example.org/x", 0, ""},
		{hosts, "http://example.org:8000/", 0, ""},
		{hosts, "http://notexample.org/", 0, OutOfHosts},
		{hosts, "http://example.org.evil.test/", 0, OutOfHosts},
		{hosts, "http://org/", 0, OutOfHosts},
		{hosts, "http://127.0.0.1:8080/", 0, ""},
		{hosts, "http://127.0.0.1:8081/", 0, OutOfHosts},
		{hosts, "http://127.0.0.1/", 0, OutOfHosts},
		{hosts, "http://[::1]:81/", 0, ""},
		{hosts, "http://[::1]/", 0, ""},
		{hosts, "http://[::2]/", 0, OutOfHosts},
		{prefixes, "http://a.example/x/1", 0, ""},
		{prefixes, "http://a.example/y", 0, OutOfPrefixes},
		{prefixes, "https://b.example/y", 0, ""},
		{both, "http://a.example/x/1", 2, ""},
		{both, "http://a.example/x/1", 3, Depth},
		{both, "http://b.example/x/1", 2, OutOfHosts},
		{seeds, "http://a.example/", 0, ""},
		{seeds, "http://b.example/", 0, OutOfHosts},
		{seeds, "http://a.example/", 1, Depth},
		{list, "http://a.example/listed", 9, ""},
		{list, long, 9, ""},
		{list, "http://a.example/other", 9, OutOfList},
		{nil, long, 0, TrapLength},
		{nil, "http://a.example" + strings.Repeat("/1/2", 2) + "/3", 0, ""},
		{nil, "http://a.example" + strings.Repeat("/a", maxRepeats), 0, ""},
		{nil, "http://a.example" + strings.Repeat("/a", maxRepeats+1), 0, TrapRepeats},
		{nil, "http://a.example" + strings.Repeat("/a/b", maxRepeats+1) + "/c", 0, TrapRepeats},
		{nil, "http://a.example" + strings.Repeat("/", maxRepeats+2), 0, ""}, // empty segments are not counted
		{nil, "http://a.example" + segments(maxSegments), 0, ""},
		{nil, "http://a.example" + segments(maxSegments+1), 0, TrapSegments},
		{nil, "http://a.example/?" + strings.Repeat("&a=1", maxParameters)[1:], 0, ""},
		{nil, "http://a.example/?" + strings.Repeat("&a=1", maxParameters+1)[1:], 0, TrapParameters},
		{nil, "http://a.example/?q=" + strings.Repeat("/a", 40), 0, ""}, // a query is no path
	} {
		var l *List
		if c.scope.GetUrlList() != "" {
			l = NewList([]string{"http://a.example/listed", long})
		}
		s, err := New(c.scope, l)
		if err != nil {
			t.Fatal(err)
		}
		got := s.Check(c.url, c.depth)
		if got != c.want {
			t.Errorf("%v: %.80s at depth %d: %q, want %q", c.scope, c.url, c.depth, got, c.want)
		}
		if got != "" && !slices.Contains(reasons, got) {
			t.Errorf("reason %q is not listed", got)
		}
	}
}

func segments(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "/%d", i)
	}
	return b.String()
}

func TestReadList(t *testing.T) {
	l, err := ReadList(strings.NewReader("# two pages\nhttp://a.example/\n\n  http://a.example/b\r\nhttp://a.example/\n"))
	if err != nil || l.Len() != 2 || !l.Has("http://a.example/b") || l.Has("http://a.example/c") {
		t.Errorf("list %+v, %v", l, err)
	}
	for text, expected := range map[string]string{
		"http://a.example/\nno url\n":                    "line 2",
		"HTTP://a.example/\n":                            `not canonical, that would be "http://a.example/"`,
		"http://a.example/" + strings.Repeat("x", 2<<20): "too long",
	} {
		if _, err := ReadList(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), expected) {
			t.Errorf("%.40q: %v, want an error with %q", text, err, expected)
		}
	}
}

func TestBadScopes(t *testing.T) {
	for expected, s := range map[string]*schemas.Scope{
		"URL list":     {UrlList: "object"},
		"empty host":   {Hosts: []string{"a.example", ""}},
		"empty prefix": {Prefixes: []string{""}},
	} {
		if _, err := New(s, nil); err == nil || !strings.Contains(err.Error(), expected) {
			t.Errorf("%v: %v, want an error with %q", s, err, expected)
		}
	}
	if _, err := New(&schemas.Scope{}, NewList(nil)); err == nil {
		t.Errorf("a list without a name is accepted")
	}
}

// FuzzCheck: for every URL there is one result, out of the set.
func FuzzCheck(f *testing.F) {
	for _, u := range []string{"", "http://", "http://a.example/?&&", "://", "http://[::1/", "a/b/a/b/a/b/a/b/a/b", "http://:80/"} {
		f.Add(u)
	}
	s, err := New(&schemas.Scope{Hosts: []string{"example"}, Prefixes: []string{"http://"}}, nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, url string) {
		if r := s.Check(url, 1); r != "" && !slices.Contains(reasons, r) {
			t.Errorf("%q is refused as %q", url, r)
		}
	})
}

// FuzzReadList: an accepted list is a set of canonical URLs, one a line.
func FuzzReadList(f *testing.F) {
	for _, s := range []string{"", "# two\nhttp://a.example/\n\n  http://a.example/b\r\n", "HTTP://a.example/", "http://a.example/\nno url", "\x00", "http://a.example/ http://b.example/"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		l, err := ReadList(strings.NewReader(text))
		if err != nil {
			return
		}
		urls := make(map[string]bool)
		for line := range strings.SplitSeq(text, "\n") {
			if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
				urls[line] = true
			}
		}
		if l.Len() != len(urls) {
			t.Fatalf("%d URLs of %d", l.Len(), len(urls))
		}
		for u := range urls {
			if canonical, err := weburl.Parse(u); err != nil || canonical.String() != u || !l.Has(u) {
				t.Fatalf("%q was taken: canonical %q (%v), listed %t", u, canonical, err, l.Has(u))
			}
		}
	})
}
