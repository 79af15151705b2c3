package scope

import (
	"strings"
	"testing"

	"forager/schemas"
)

func TestExcludes(t *testing.T) {
	x, err := NewExcludes(&schemas.Excludes{
		Urls: []string{`\Q[?`, `(?i)/CALENDAR/\d+`, `^https://`}, Hosts: []string{"a.example", "b.example:8080"}, Domains: []string{"c.co.uk", "[::1]"},
		Prefixes:     []string{"http://d.example/x/", "/private/"},
		ContentTypes: []string{"application/xhtml+xml"}, Languages: []string{"de"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for url, want := range map[string]string{
		"http://e.example/":                    "",
		"http://e.example/calendar/7":          `exclude.urls: (?i)/CALENDAR/\d+`,
		"http://e.example/calendar/x":          "",
		"http://e.example/a[?b":                `exclude.urls: \Q[?`,
		"https://e.example/":                   "exclude.urls: ^https://",
		"http://a.example/":                    "exclude.hosts: a.example",
		"http://a.example:81/":                 "",
		"http://www.a.example/":                "",
		"http://b.example:8080/":               "exclude.hosts: b.example:8080",
		"http://b.example/":                    "",
		"http://c.co.uk/":                      "exclude.domains: c.co.uk",
		"http://www.c.co.uk:81/":               "exclude.domains: c.co.uk",
		"http://notc.co.uk/":                   "",
		"http://[::1]:81/":                     "exclude.domains: [::1]",
		"http://d.example/x/y":                 "exclude.prefixes: http://d.example/x/",
		"http://d.example/y/x/":                "",
		"http://e.example:81/private/":         "exclude.prefixes: /private/",
		"http://e.example/x?http:///private/y": "",
	} {
		if got := x.URL(url); got != want {
			t.Errorf("%s: %q, want %q", url, got, want)
		}
	}
	for page, want := range map[[2]string]string{
		{"text/html", "en"}:                            "",
		{"text/html; charset=utf-8", "de"}:             "exclude.languages: de",
		{"Application/XHTML+xml ;charset=utf-8", "en"}: "exclude.content_types: application/xhtml+xml",
		{"", ""}: "",
	} {
		if got := x.Page(page[0], page[1]); got != want {
			t.Errorf("%q: %q, want %q", page, got, want)
		}
	}
	var none *Excludes
	if none.URL("http://a.example/") != "" || none.Page("text/html", "de") != "" {
		t.Error("nothing excludes something")
	}
	if none, err := NewExcludes(new(schemas.Excludes)); none != nil || err != nil {
		t.Error("no rules:", none, err)
	}
}

func TestBadExcludes(t *testing.T) {
	for expected, x := range map[string]*schemas.Excludes{
		`exclude.urls: "(": error parsing regexp`: {Urls: []string{"(", "a"}},
		"it is empty":       {Prefixes: []string{""}},
		`write "a.example"`: {Hosts: []string{"A.example"}},
		"1001 bytes":        {Urls: []string{strings.Repeat("a", maxRuleLength+1)}},
		"more than 1000":    {Hosts: make([]string, 0, maxRules+1)},
	} {
		for x.Hosts != nil && cap(x.Hosts) > len(x.Hosts) {
			x.Hosts = append(x.Hosts, "a.example")
		}
		if _, err := NewExcludes(x); err == nil || !strings.Contains(err.Error(), expected) {
			t.Errorf("%v, want an error with %q", err, expected)
		}
	}
}

// FuzzExcludes: a rule that is taken excludes with and without other rules.
func FuzzExcludes(f *testing.F) {
	for _, p := range []string{`\Qa`, `(?i)A`, `^http`, `a|b`, `(?s:.)$`, `[[:alpha:]]+x{2,3}`} {
		f.Add(p, "http://a.example/axx")
	}
	f.Fuzz(func(t *testing.T, pattern, url string) {
		alone, err := NewExcludes(&schemas.Excludes{Urls: []string{pattern}})
		if err != nil {
			return
		}
		both, err := NewExcludes(&schemas.Excludes{Urls: []string{"^no such URL$", pattern}})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := both.URL(url), alone.URL(url); got != want {
			t.Errorf("%q: %q with another rule, %q without", url, got, want)
		}
	})
}
