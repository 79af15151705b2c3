package weburl

import (
	"net/url"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for raw, want := range map[string]string{
		"http://example.com":                                    "http://example.com/",
		"HTTP://Example.COM/A/b":                                "http://example.com/A/b",
		"http://example.com:80/":                                "http://example.com/",
		"https://example.com:443/":                              "https://example.com/",
		"http://example.com:443/":                               "http://example.com:443/",
		"https://example.com:080/":                              "https://example.com:80/",
		"http://example.com:/x":                                 "http://example.com/x",
		"http://example.com/a/./b/../c/":                        "http://example.com/a/c/",
		"http://example.com/a/%2e%2E/b":                         "http://example.com/b",
		"http://example.com/../../b":                            "http://example.com/b",
		"http://example.com/a//b/":                              "http://example.com/a//b/",
		"http://example.com/%7euser/%41%2d%5F%2E":               "http://example.com/~user/A-_.",
		"http://example.com/a%2fb%3f%23":                        "http://example.com/a%2Fb%3F%23",
		"http://example.com/?q=%7e%2f":                          "http://example.com/?q=~%2F",
		"http://example.com/a b":                                "http://example.com/a%20b",
		"http://example.com/ü?ü":                                "http://example.com/%C3%BC?%C3%BC",
		"http://example.com/\xfc?\xfc":                          "http://example.com/%FC?%FC",
		"http://example.com/100%":                               "http://example.com/100%25",
		"http://example.com/%2%45":                              "http://example.com/%252E",
		"http://example.com/%%32e%%32e/":                        "http://example.com/%252e%252e/",
		"http://example.com/a|b^c?d|e^f":                        "http://example.com/a%7Cb%5Ec?d|e^f",
		"http://example.com/it's?it's":                          "http://example.com/it's?it%27s",
		"http://example.com/a[1]?b[]=2":                         "http://example.com/a[1]?b[]=2",
		"http://example.com/a?":                                 "http://example.com/a",
		"http://example.com/a?#":                                "http://example.com/a",
		"http://example.com/a??":                                "http://example.com/a??",
		"http://example.com?":                                   "http://example.com/",
		"http://example.com?a=b":                                "http://example.com/?a=b",
		"http://example.com/a?b=1&a=2&b=0":                      "http://example.com/a?b=1&a=2&b=0",
		"http://example.com/a#b?c#d":                            "http://example.com/a",
		"http://example.com/a #b":                               "http://example.com/a%20",
		" \t\nhttp://exam\nple.com/a\tb\r\n ":                   "http://example.com/ab",
		"http:\\\\example.com\\a\\b":                            "http://example.com/a/b",
		"http:example.com/a":                                    "http://example.com/a",
		"http:////example.com/a":                                "http://example.com/a",
		"http://user:secret@example.com/a":                      "http://example.com/a",
		"http://user@example.com/a@b":                           "http://example.com/a@b",
		"http://example.com./a":                                 "http://example.com/a",
		"http://example.com.:8080/a":                            "http://example.com:8080/a",
		"http://ex%61mple.com/":                                 "http://example.com/",
		"http://Bücher.example/":                                "http://xn--bcher-kva.example/",
		"http://XN--BCHER-KVA.example/":                         "http://xn--bcher-kva.example/",
		"http://FAẞ.de/":                                        "http://xn--fa-hia.de/",
		"http://Faß.de/":                                        "http://xn--fa-hia.de/",
		"http://fa%e1%BA%9eẞ%61.de/%E1%BA%9E":                   "http://xn--faa-6kaa.de/%E1%BA%9E",
		"http://ｅｘａｍｐｌｅ。com/":                                   "http://example.com/",
		"http://a.b.c.XN--pokxncvks/":                           "http://a.b.c.xn--pokxncvks/",
		"http://cs-tr.cs.cornell.edu_80/TR/CORNELLCS:TR94-1466": "http://cs-tr.cs.cornell.edu_80/TR/CORNELLCS:TR94-1466",
		"http://0x7f.1/":                                        "http://127.0.0.1/",
		"http://127.1./":                                        "http://127.0.0.1/",
		"http://[0:0::1]:80/":                                   "http://[::1]/",
		"http://[::FFFF:1.2.3.4]:8080/":                         "http://[::ffff:102:304]:8080/",
		"http://a-.-b_.example/":                                "http://a-.-b_.example/",
	} {
		got, err := Parse(raw)
		if err != nil || got.String() != want {
			t.Errorf("Parse(%q) = %q, %v; want %q", raw, got, err, want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for raw, reason := range map[string]string{
		"":                              "",
		"/a/b":                          "",
		"example.com":                   "",
		"//example.com/":                "",
		"ftp://example.com/":            errScheme.Error(),
		"mailto:a@example.com":          errScheme.Error(),
		"javascript:void(0)":            errScheme.Error(),
		"java\nscript:void(0)":          errScheme.Error(),
		"file_//issl.cs.byu.edu/docs/x": "",
		"http:":                         "",
		"http://":                       "",
		"http://./":                     errHost.Error(),
		"http:///":                      "",
		"http://?":                      "",
		"http://a..example/":            "empty label",
		"http://example.com../":         "empty label",
		"http://.example.com/":          "empty label",
		"http://exa mple.com/":          "",
		"http://exam*ple.com/":          "contains '*'",
		"http://exam%22ple.com/":        "contains '\"'",
		"http://example.com:65536/":     "",
		"http://example.com:8a/":        "",
		"http://256.256.256.256/":       "",
		"http://a.xn--pokxncvks.1/":     "",
		"http://a.xn--pokxncvks.0xg/":   "ok",
		"http://[::1/":                  "",
		"http://xn--bücher.example/":    "",
		"http://example.com/" + strings.Repeat("a", MaxLength):                     "too long",
		"http://example.com/" + strings.Repeat("a", MaxLength-18):                  errLong.Error(),
		"http://example.com/" + strings.Repeat("ü", MaxLength/6):                   errLong.Error(),
		"http://example.com" + strings.Repeat("/a", maxSegments):                   errSegments.Error(),
		"http://example.com" + strings.Repeat("\\", maxSegments):                   errSegments.Error(),
		"http://" + strings.Repeat("@", 2*maxCredentials) + "@example.com/":        "user name",
		"\n ht\ttp:\\a" + strings.Repeat("\t@", 2*maxCredentials) + "example.com/": "user name",
		" ftp://a" + strings.Repeat("@", 2*maxCredentials) + "example.com/":        "user name",
	} {
		got, err := Parse(raw)
		if reason == "ok" {
			if err != nil {
				t.Errorf("Parse(%.80q): %v", raw, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("Parse(%.80q) = %q, %v; want an error with %q", raw, got, err, reason)
		}
		if err != nil && len(err.Error()) > 1500 {
			t.Errorf("Parse(%.80q): the error has %d bytes", raw, len(err.Error()))
		}
	}
}

func TestLongReferencesOfShortURLs(t *testing.T) {
	for _, raw := range []string{
		"http://example.com/a#" + strings.Repeat("f", 10*MaxLength),
		"http://example.com/a #" + strings.Repeat("f/", 10*MaxLength),
		"http://example.com/" + strings.Repeat("b/../", maxSegments/2-2) + "a",
		"http://example.com/?" + strings.Repeat("@", maxCredentials),
		"http://example.com/a#" + strings.Repeat("@", 2*maxCredentials),
	} {
		if u, err := Parse(raw); err != nil || len(u.String()) > 300 {
			t.Errorf("Parse(%.30q…) = %.80q, %v", raw, u, err)
		}
	}
}

func TestResolve(t *testing.T) {
	page, err := Parse("https://example.com:8443/a/b/c?d=e")
	if err != nil {
		t.Fatal(err)
	}
	base := NewBase(page)
	const root = "https://example.com:8443"
	for ref, want := range map[string]string{
		"":                      root + "/a/b/c?d=e",
		"#x":                    root + "/a/b/c?d=e",
		"?":                     root + "/a/b/c",
		"?x=y":                  root + "/a/b/c?x=y",
		"x":                     root + "/a/b/x",
		"x/":                    root + "/a/b/x/",
		".":                     root + "/a/b/",
		"./x":                   root + "/a/b/x",
		"..":                    root + "/a/",
		"../x":                  root + "/a/x",
		"../../../x":            root + "/x",
		"x/../y":                root + "/a/b/y",
		"x/..":                  root + "/a/b/",
		"/":                     root + "/",
		"/x?y#z":                root + "/x?y",
		"/x/.":                  root + "/x/",
		"/.x/..y/z.":            root + "/.x/..y/z.",
		"//other.example":       "https://other.example/",
		"//other.example:443/x": "https://other.example/x",
		"http://other.example":  "http://other.example/",
		"https:x":               root + "/a/b/x",
		"https:/x":              root + "/x",
		"http:x":                "http://x/",
		"1:2":                   root + "/a/b/1:2",
		"x_y:z":                 root + "/a/b/x_y:z",
		"x/y:z":                 root + "/a/b/x/y:z",
		"%41%2f":                root + "/a/b/A%2F",
		" x ":                   root + "/a/b/x",
		"\\x":                   root + "/x",
		"\\\\other.example\\x":  "https://other.example/x",
		"ü":                     root + "/a/b/%C3%BC",
	} {
		got, err := base.Resolve(ref)
		if err != nil || got.String() != want {
			t.Errorf("Resolve(%q) = %q, %v; want %q", ref, got, err, want)
		}
		if slow, err := base.slow(ref); err != nil || slow != got {
			t.Errorf("slow(%q) = %q, %v; Resolve gives %q", ref, slow, err, got)
		}
	}
	for _, ref := range []string{"mailto:x", "x+y.z-1:", "https://", "//", "///", "//a b/", "https://:80/"} {
		if got, err := base.Resolve(ref); err == nil {
			t.Errorf("Resolve(%q) = %q, want an error", ref, got)
		}
	}
}

func TestParts(t *testing.T) {
	u, err := Parse("https://Example.com:8443/a/b?c=/d?e#f")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string][2]string{
		"Scheme":            {u.Scheme(), "https"},
		"Host":              {u.Host(), "example.com:8443"},
		"Hostname":          {u.Hostname(), "example.com"},
		"Path":              {u.Path(), "/a/b"},
		"PathAndQuery":      {u.PathAndQuery(), "/a/b?c=/d?e"},
		"Host of a string":  {Host(u.String()), "example.com:8443"},
		"Host without path": {Host("http://[::1]:8080/"), "[::1]:8080"},
		"Host of nothing":   {Host(""), ""},
		"zero":              {URL{}.String() + URL{}.Scheme() + URL{}.Host() + URL{}.Path(), ""},
	} {
		if c[0] != c[1] {
			t.Errorf("%s = %q, want %q", name, c[0], c[1])
		}
	}
}

// checkCanonical fails the test unless u has every property of canonical URLs.
func checkCanonical(t interface {
	Helper()
	Errorf(string, ...any)
}, u URL) {
	t.Helper()
	again, err := Parse(u.s)
	if err != nil || again != u {
		t.Errorf("Parse(%q) = %+v, %v; not idempotent: %+v", u.s, again, err, u)
	}
	var none Base
	slow, err := none.slow(u.s)
	if err != nil || slow != u {
		t.Errorf("slow(%q) = %+v, %v; not idempotent: %+v", u.s, slow, err, u)
	}
	n, err := url.Parse(u.s)
	if err != nil || n.String() != u.s || n.RequestURI() != u.PathAndQuery() || n.Host != u.Host() {
		t.Errorf("net/url reads %q as %v, %v", u.s, n, err)
	}
	if len(u.s) > MaxLength || strings.ContainsAny(u.s, "# \t\r\n\"<>") || Host(u.s) != u.Host() || u.Path()[0] != '/' {
		t.Errorf("%q is not canonical", u.s)
	}
}
