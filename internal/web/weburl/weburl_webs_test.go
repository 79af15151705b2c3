//go:build webs

package weburl

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	whatwg "github.com/nlnwa/whatwg-url/url"

	"forager/internal/testkit/frozen"
)

// platformCase is one case of the web-platform tests' urltestdata.json.
type platformCase struct {
	Input    string  `json:"input"`
	Base     *string `json:"base"`
	Failure  bool    `json:"failure"`
	Href     string  `json:"href"`
	Protocol string  `json:"protocol"`
	Username string  `json:"username"`
	Password string  `json:"password"`
	Host     string  `json:"host"`
	Hostname string  `json:"hostname"`
	Port     string  `json:"port"`
	Pathname string  `json:"pathname"`
	Search   string  `json:"search"`
	Hash     string  `json:"hash"`
}

func platformCases(t *testing.T) []platformCase {
	var raw []json.RawMessage
	if err := json.NewDecoder(frozen.Open(t, frozen.Cases, "urltestdata.json")).Decode(&raw); err != nil {
		t.Fatal(err)
	}
	var cases []platformCase
	for _, r := range raw {
		if r[0] != '{' {
			continue // a comment
		}
		var c platformCase
		if err := json.Unmarshal(r, &c); err != nil {
			t.Fatalf("%s: %v", r, err)
		}
		cases = append(cases, c)
	}
	if len(cases) < 800 {
		t.Fatalf("only %d cases", len(cases))
	}
	return cases
}

// spaceBeforeQuery: a path without authority keeps its spaces, and since 2025 the last one before "?" or "#" is
// escaped. whatwg-url 0.6.2 does not escape it. This is not corrected: such URLs have schemes that are refused
// here ("data:", "mailto:"), so the code would never run.
const spaceBeforeQuery = "space at the end of an opaque path"

// knownDifferences are the web-platform cases, by input, in which browse differs, and why.
var knownDifferences = map[string]string{
	"non-special:opaque  ?hi":        spaceBeforeQuery,
	"non-special:opaque  #hi":        spaceBeforeQuery,
	"non-special:opaque \t\t  \t#hi": spaceBeforeQuery,
	"non-special:opaque \t\t  #hi":   spaceBeforeQuery,
	"non-special:opaque\t\t  \r #hi": spaceBeforeQuery,
}

func TestWebPlatformCases(t *testing.T) {
	differences := make(map[string]bool)
	for _, c := range platformCases(t) {
		problem := ""
		u, err := c.browse()
		switch {
		case c.Failure && err == nil:
			problem = "no failure, got " + u.Href(false)
		case c.Failure:
		case err != nil:
			problem = err.Error()
		default:
			got := platformCase{c.Input, c.Base, false, u.Href(false), u.Protocol(), u.Username(), u.Password(),
				u.Host(), u.Hostname(), u.Port(), u.Pathname(), u.Search(), u.Hash()}
			if got != c {
				problem = "got " + got.Href + ", want " + c.Href
			}
		}
		if problem == "" {
			continue
		}
		differences[c.Input] = true
		if knownDifferences[c.Input] == "" {
			t.Errorf("%q on %v: %s", c.Input, c.Base, problem)
		}
	}
	for input := range knownDifferences {
		if !differences[input] {
			t.Errorf("%q passes or is no case: it does not belong in the list", input)
		}
	}
}

// browse parses the input of a case on its base.
func (c platformCase) browse() (*whatwg.Url, error) {
	if c.Base == nil {
		return browse(nil, c.Input)
	}
	base, err := browse(nil, *c.Base)
	if err != nil {
		return nil, err
	}
	return browse(base, c.Input)
}

// TestCanonicalWebPlatformCases: what fails in a browser is refused; what a browser reads as http or https has the
// canonical URL of the resulting href, or is refused for its host.
func TestCanonicalWebPlatformCases(t *testing.T) {
	refusedHosts, canonicals := 0, 0
	for _, c := range platformCases(t) {
		base := new(Base)
		if c.Base != nil {
			u, err := Parse(*c.Base)
			if err != nil {
				continue // the base is not of the web
			}
			base = NewBase(u)
		}
		got, err := base.Resolve(c.Input)
		checkPaths(t, base, c.Input)
		isWeb := c.Protocol == "http:" || c.Protocol == "https:"
		switch {
		case c.Failure || !isWeb:
			if err == nil {
				t.Errorf("%q on %v is canonical: %s", c.Input, c.Base, got)
			}
		case checkName(strings.TrimSuffix(c.Hostname, ".")) != nil && c.Hostname[0] != '[':
			refusedHosts++
			if err == nil {
				t.Errorf("%q on %v with the host %q is canonical: %s", c.Input, c.Base, c.Hostname, got)
			}
		default:
			canonicals++
			want, werr := Parse(c.Href)
			if err != nil || werr != nil || got != want {
				t.Errorf("%q on %v: %q, %v; its href %q is %q, %v", c.Input, c.Base, got, err, c.Href, want, werr)
			}
			checkCanonical(t, got)
		}
	}
	t.Logf("%d canonical, %d hosts refused", canonicals, refusedHosts)
	if canonicals < 200 || refusedHosts == 0 {
		t.Errorf("only %d canonical URLs and %d refused hosts", canonicals, refusedHosts)
	}
}

// labelled returns the URLs of a frozen web's labels.
func labelled(t *testing.T, web string) []string {
	var urls []string
	for url := range frozen.Labels(t, web) {
		urls = append(urls, url)
	}
	if len(urls) < 1000 {
		t.Fatalf("only %d labels in %s", len(urls), web)
	}
	return urls
}

// change describes the change of a URL by canonicalisation.
func change(raw string) string {
	u, err := Parse(raw)
	if err != nil {
		return "refused: " + raw[:strings.Index(raw, "//")]
	}
	if u.String() == raw {
		return ""
	}
	_, rest, _ := strings.Cut(raw, "://")
	host, path, hasPath := strings.Cut(rest, "/")
	switch {
	case !hasPath && u.String() == strings.ToLower(raw)+"/":
		return "a slash added behind the bare host"
	case u.Host() == strings.ToLower(host) && host != u.Host() && u.PathAndQuery() == "/"+path:
		return "host in lower case"
	case u.Host() == strings.TrimSuffix(host, ":80") && u.PathAndQuery() == "/"+path:
		return "default port dropped"
	case u.Host() == strings.TrimSuffix(host, ".") && u.PathAndQuery() == "/"+path:
		return "dot behind the host dropped"
	case u.Host() == host && strings.EqualFold(u.PathAndQuery(), "/"+path) && strings.Contains(path, "%"):
		return "escapes in capitals"
	case u.Host() == host && strings.Contains(path, "."):
		return "dot segments resolved or escapes undone"
	}
	return "other: " + raw + " → " + u.String()
}

// TestLabelsUnderCanonicalisation pins how many URLs of the frozen webs change, and why. Programs that join
// labels, tasks or WARC records with crawled pages must make them canonical first.
func TestLabelsUnderCanonicalisation(t *testing.T) {
	for web, want := range map[string]map[string]int{
		"webkb": {
			"a slash added behind the bare host": 86, // "http://cs.nyu.edu": the packer kept URLs as links had them
			"host in lower case":                 96,
			"dot behind the host dropped":        1,
			"escapes in capitals":                31, // "ncstrl.uwmadison%2fCS-TR-89-890"
			"refused: ftp_":                      46, // not URLs: file names of the 1997 crawl, "_" for ":"
			"refused: file_":                     6,
			// Ports are written in hosts in the same way ("cs-tr.cs.cornell.edu_80"); those are unchanged.
			"the same URL twice":             2,
			"the same page as another label": 6, // with and without the slash after the host
		},
		"webplatform": {},
	} {
		got := make(map[string]int)
		canonical := make(map[string]string)
		for _, raw := range labelled(t, web) {
			if why := change(raw); why != "" {
				got[why]++
			}
			u, err := Parse(raw)
			if err != nil {
				continue
			}
			checkCanonical(t, u)
			if other, ok := canonical[u.String()]; ok && other == raw {
				got["the same URL twice"]++
			} else if ok {
				got["the same page as another label"]++
			}
			canonical[u.String()] = raw
		}
		if !maps.Equal(got, want) {
			t.Errorf("%s: %v, want %v", web, got, want)
		}
	}
}

// hrefs finds what looks like the value of href or src. It need not be exact: unusual references are useful.
var hrefs = regexp.MustCompile(`(?i)(?:href|src|action)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>"']+))`)

// realReferences yields the references of a frozen web, page by page, with the URL of each page.
func realReferences(t *testing.T, web string, f func(page string, refs []string)) {
	unpacked, err := gzip.NewReader(bufio.NewReader(frozen.Open(t, frozen.Webs, web+".warc.gz")))
	if err != nil {
		t.Fatal(err)
	}
	all, err := io.ReadAll(unpacked)
	if err != nil {
		t.Fatal(err)
	}
	for _, record := range strings.Split(string(all), "\r\nWARC/1.1\r\n") {
		_, page, ok := strings.Cut(record, "WARC-Target-URI: ")
		if !ok {
			continue
		}
		page, _, _ = strings.Cut(page, "\r\n")
		var refs []string
		for _, m := range hrefs.FindAllStringSubmatch(record, -1) {
			refs = append(refs, m[1]+m[2]+m[3])
		}
		f(page, refs)
	}
}

func TestFastPathIsSlowPathOnRealReferences(t *testing.T) {
	for _, web := range []string{"webkb", "webplatform"} {
		var pages, all, distinct, plain int
		var fast, slow time.Duration
		seen := make(map[string]bool)
		realReferences(t, web, func(page string, found []string) {
			u, err := Parse(page)
			if err != nil {
				return
			}
			pages++
			all += len(found)
			base := NewBase(u)
			found = slices.DeleteFunc(found, func(ref string) bool {
				key := base.u.s[:base.dir] + " " + ref
				if _, _, isAbsolute := cutScheme(ref); isAbsolute || strings.HasPrefix(ref, "/") {
					key = base.u.Host() + " " + ref
				}
				isSeen := seen[key]
				seen[key] = true
				return isSeen
			})
			distinct += len(found)
			for _, ref := range found {
				if checkPaths(t, base, ref) {
					plain++
				}
			}
			begin := time.Now()
			for _, ref := range found {
				_, _ = base.Resolve(ref)
			}
			fast += time.Since(begin)
			begin = time.Now()
			for _, ref := range found {
				_, _ = base.slow(ref)
			}
			slow += time.Since(begin)
		})
		t.Logf("%s: %d pages, %d references, %d distinct, %.1f%% plain; %.2f µs each, whatwg-url alone %.2f µs, ratio %.1f", web, pages, all,
			distinct, 100*float64(plain)/float64(distinct), float64(fast.Nanoseconds())/1e3/float64(distinct),
			float64(slow.Nanoseconds())/1e3/float64(distinct), float64(slow)/float64(fast))
		if pages < 5000 || float64(plain) < 0.9*float64(distinct) {
			t.Errorf("%s: %d pages, %d of %d references are plain", web, pages, plain, distinct)
		}
	}
}
