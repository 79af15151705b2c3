package robots

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// oracle decides by RFC 9309 for files of its plain grammar: one regular expression a rule over strings in which
// each octet has one spelling.
func oracle(file, token, path string) bool {
	type line struct {
		allow   bool
		pattern string
	}
	named, every, isNamed := []line{}, []line{}, false
	var agents []string
	inRules := true
	for l := range strings.SplitSeq(file, "\n") {
		field, value, _ := strings.Cut(l, ": ")
		switch field {
		case "user-agent":
			if inRules {
				agents, inRules = nil, false
			}
			agents = append(agents, value)
			isNamed = isNamed || strings.EqualFold(value, token)
		case "allow", "disallow":
			inRules = true
			for _, a := range agents {
				if strings.EqualFold(a, token) {
					named = append(named, line{field == "allow", value})
				} else if a == "*" {
					every = append(every, line{field == "allow", value})
				}
			}
		}
	}
	lines := every
	if isNamed {
		lines = named
	}
	longest, allowed := -1, true
	for _, l := range lines {
		if l.pattern == "" {
			continue
		}
		text, anchored := strings.CutSuffix(l.pattern, "$")
		parts := strings.Split(text, "*")
		length := len(parts) - 1 + len(l.pattern) - len(text)
		for i := range parts {
			length += len(spell(parts[i]))
			parts[i] = regexp.QuoteMeta(spell(parts[i]))
		}
		expression := "^" + strings.Join(parts, ".*")
		if anchored {
			expression += "$"
		}
		if regexp.MustCompile(expression).MatchString(spell(path)) {
			if length > longest {
				longest, allowed = length, l.allow
			} else if length == longest {
				allowed = allowed || l.allow
			}
		}
	}
	return allowed
}

// spell writes every octet but slashes, letters, digits and "-._~" as an escape.
func spell(s string) string {
	parts := strings.Split(s, "/")
	for i, p := range parts {
		octets, err := url.PathUnescape(p)
		if err != nil {
			panic(err)
		}
		parts[i] = strings.ReplaceAll(url.QueryEscape(octets), "+", "%20")
	}
	return strings.Join(parts, "/")
}

// The parts of generated files and paths.
var (
	tokens   = []string{"*", "forager", "Forager", "foragerbot", "other"}
	segments = []string{"/", "/", "a", "b", "ab", "~", "%7E", "%61", ":", "%3a", "%2F", "%2a", "%24", "ü", "%C3%BC", "x.html", "=", "%3D"}
	wild     = append([]string{"*", "*", "$"}, segments...)
)

func word(from []string) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		return "/" + strings.Join(rapid.SliceOfN(rapid.SampledFrom(from), 0, 4).Draw(t, "segments"), "")
	})
}

func file(agents, patterns []string) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		var b strings.Builder
		for range rapid.IntRange(1, 10).Draw(t, "lines") {
			switch rapid.IntRange(0, 5).Draw(t, "kind") {
			case 0:
				fmt.Fprintf(&b, "user-agent: %s\n", rapid.SampledFrom(agents).Draw(t, "agent"))
			case 1, 2:
				fmt.Fprintf(&b, "allow: %s\n", word(patterns).Draw(t, "pattern"))
			case 3, 4:
				fmt.Fprintf(&b, "disallow: %s\n", word(patterns).Draw(t, "pattern"))
			case 5:
				b.WriteString(rapid.SampledFrom([]string{"\n", "disallow: \n", "sitemap: /x\n", "# user-agent: *\n"}).Draw(t, "other"))
			}
		}
		return b.String()
	})
}

func TestOracle(t *testing.T) {
	var asked, forbidden int
	rapid.Check(t, func(t *rapid.T) {
		text := "user-agent: *\n" + file(tokens, wild).Draw(t, "file")
		f := Parse([]byte(text))
		for range 20 {
			path := word(segments).Draw(t, "path")
			got, want := f.Allowed("forager", path), oracle(text, "forager", path)
			if got != want {
				t.Errorf("%s: allowed %v, oracle %v; file:\n%s", path, got, want, text)
			}
			asked++
			if !got {
				forbidden++
			}
		}
	})
	if forbidden < asked/10 {
		t.Errorf("only %d of %d paths were forbidden", forbidden, asked)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("\xef\xbb\xbfUser-agent: a\r\nDisallow: /*x$\rcrawl-delay: 1"), "/ax?b")
	f.Add([]byte("\xff\xfeu\x00"), "%")
	f.Add([]byte("user-agent: *\nallow: *%\ndisallow: /%2a?/%2f$$"), "/*?%2F")
	f.Fuzz(func(t *testing.T, b []byte, path string) {
		file := Parse(b)
		if delay, ok := file.CrawlDelay("a"); delay < 0 || delay > maxDelay || delay > 0 && !ok {
			t.Errorf("crawl-delay %v, %v", delay, ok)
		}
		path, _, _ = strings.Cut(path, "#")
		got, work := file.allowed("a", path)
		if work > workBound(b) {
			t.Errorf("%d bytes compared, file of %d", work, len(b))
		}
		if file.Allowed("A", path+"#x") != got {
			t.Errorf("case of the token or a fragment changes the answer for %q", path)
		}
		// A path in normal form is the same path; only its slashes may have meant more.
		normal := forms(path, "")
		if path != "" && normal[0] == normal[1] && !strings.Contains(path, "?") && normal[0] != "/robots.txt" &&
			file.Allowed("a", normal[0]) != got {
			t.Errorf("%q and %q get different answers", path, normal[0])
		}
		if path != "/robots.txt" && (&File{}).Allowed("a", path) && Parse([]byte("user-agent: a\ndisallow: *")).Allowed("a", path) {
			t.Errorf("%q escapes a rule for everything", path)
		}
	})
}
