package robots

import (
	"slices"
	"strings"
	"testing"

	"github.com/temoto/robotstxt"
	"pgregory.net/rapid"
)

// temoto decides by github.com/temoto/robotstxt 1.1.2.
func temoto(file, token, path string) (allowed, ok bool) {
	f, err := robotstxt.FromBytes([]byte(file))
	if err != nil {
		return false, false
	}
	return f.TestAgent(path, token), true
}

var plainSegments = []string{"/", "a", "b", "ab", "~", "x.html", "_"}

// differences are the points in which temoto/robotstxt departs from RFC 9309. Files without them get the same
// results (TestTemotoAgrees); each has an example, which the test confirms, and a family of files with it and no
// other, in which differences occur.
var differences = []struct {
	name, sentence       string
	example, path        string
	rfc                  bool
	agents, patterns     []string
	hasTies, hasRuleless bool
}{
	{
		name:     "equal rules",
		sentence: `§2.2.2: If an "allow" rule and a "disallow" rule are equivalent, then the "allow" rule SHOULD be used.`,
		example:  "user-agent: *\ndisallow: /a\nallow: /a\n", path: "/a", rfc: true,
		agents: tokens, patterns: plainSegments, hasTies: true,
	}, {
		name:     "wildcards rank by the length of a regular expression",
		sentence: `§2.2.2: The most specific match is the match that has the most octets.`,
		example:  "user-agent: *\ndisallow: /*.c\nallow: /a.c\n", path: "/a.c", rfc: true,
		agents: tokens, patterns: append([]string{"*", "$"}, plainSegments...),
	}, {
		name:     "wildcards match anywhere",
		sentence: `§2.2.2: The matching MUST start with the first octet of the path.`,
		example:  "user-agent: *\ndisallow: /a$\n", path: "/b/a", rfc: true,
		agents: tokens, patterns: append([]string{"*", "$"}, plainSegments...),
	}, {
		name:     "escapes are compared as they are",
		sentence: `§2.2.2: If a percent-encoded ASCII octet is encountered in the URI, it MUST be unencoded prior to comparison, unless it is a reserved character`,
		example:  "user-agent: *\ndisallow: /%61\n", path: "/a", rfc: false,
		agents: tokens, patterns: append([]string{"%61", "%7E", "%7e"}, plainSegments...),
	}, {
		name:     "octets outside ASCII are compared as they are",
		sentence: `§2.2.2: Octets in the URI and robots.txt paths outside the range of the ASCII coded character set […] MUST be percent-encoded […] prior to comparison.`,
		example:  "user-agent: *\ndisallow: /ü\n", path: "/%C3%BC", rfc: false,
		agents: tokens, patterns: append([]string{"ü", "%C3%BC", "%c3%bc"}, plainSegments...),
	}, {
		name:     "a name applies to crawlers whose name begins with it",
		sentence: `§2.2.1: Crawlers MUST use case-insensitive matching to find the group that matches the product token`,
		example:  "user-agent: forage\ndisallow: /\n", path: "/a", rfc: true,
		agents: append([]string{"forage", "f"}, tokens...), patterns: plainSegments,
	}, {
		name:     "a group without rules does not count",
		sentence: `§2.1: The last group may have no rules, which means it implicitly allows everything.`,
		example:  "user-agent: *\ndisallow: /\nuser-agent: forager\n", path: "/a", rfc: true,
		agents: tokens, patterns: plainSegments, hasRuleless: true,
	},
}

// settle removes from a file what temoto handles wrongly: rules that conflict with an earlier one, and a last
// group without rules.
func settle(file string, ties, ruleless bool) string {
	var kept []string
	seen := make(map[string]bool)
	for l := range strings.SplitSeq(file, "\n") {
		field, pattern, _ := strings.Cut(l, ": ")
		opposite := map[string]string{"allow": "disallow", "disallow": "allow"}[field]
		if !ties && seen[opposite+": "+pattern] {
			continue
		}
		seen[l] = true
		kept = append(kept, l)
	}
	if !ruleless {
		kept = append(kept, "disallow: /nothing\n")
	}
	return strings.Join(kept, "\n")
}

func TestTemotoAgrees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := settle("user-agent: *\n"+file(tokens, plainSegments).Draw(t, "file"), false, false)
		for range 20 {
			path := word(plainSegments).Draw(t, "path")
			got := Parse([]byte(text)).Allowed("forager", path)
			if want, ok := temoto(text, "forager", path); ok && got != want {
				t.Errorf("%s: allowed %v, temoto %v; file:\n%s", path, got, want, text)
			}
		}
	})
}

func TestTemotoDiffers(t *testing.T) {
	for _, d := range differences {
		t.Run(d.name, func(t *testing.T) {
			if got := Parse([]byte(d.example)).Allowed("forager", d.path); got != d.rfc {
				t.Errorf("allowed %v, want %v: %s", got, d.rfc, d.sentence)
			}
			if got, ok := temoto(d.example, "forager", d.path); !ok || got == d.rfc {
				t.Errorf("temoto answers %v, %v: it is no longer a difference", got, ok)
			}
			type requests struct {
				text  string
				paths []string
			}
			draw := rapid.Custom(func(t *rapid.T) requests {
				return requests{
					settle("user-agent: *\n"+file(d.agents, d.patterns).Draw(t, "file"), d.hasTies, d.hasRuleless),
					rapid.SliceOfN(word(d.patterns[min(2, len(d.patterns)-len(plainSegments)):]), 20, 20).Draw(t, "paths"),
				}
			})
			rapid.Check(t, func(t *rapid.T) {
				r := draw.Draw(t, "requests")
				for _, path := range r.paths {
					if got, want := Parse([]byte(r.text)).Allowed("forager", path), oracle(r.text, "forager", path); got != want {
						t.Errorf("%s: allowed %v, oracle %v; file:\n%s", path, got, want, r.text)
					}
				}
			})
			differs := func(seed int) bool {
				r := draw.Example(seed)
				return slices.ContainsFunc(r.paths, func(path string) bool {
					other, ok := temoto(r.text, "forager", path)
					return ok && other != oracle(r.text, "forager", path)
				})
			}
			for seed := 0; !differs(seed); seed++ {
				if seed == 1000 {
					t.Fatal("no generated file shows this difference")
				}
			}
		})
	}
}
