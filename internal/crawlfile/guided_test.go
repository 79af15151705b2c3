package crawlfile

import (
	"strings"
	"testing"

	"forager/schemas"
)

func TestWhatGuidedCrawlsCanHave(t *testing.T) {
	const file = "name: a\ncritic: c\nfocus: [x]\nseeds: [\"http://a.example/\"]\nbudget: {pages: 3}\npoliteness: {contact: me@example.org}\n"
	const guided = "ranker: context-graph+unfocused\nguides: {context-graph: near}\n"
	c, problems := Parse([]byte(file+guided+"expand: page\nbacklinks: {source: links, ration: 5}"), ".")
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if b := c.Control.GetBacklinks(); b.GetSource() != "links" || b.GetRation() != 5 {
		t.Errorf("backlinks %v", b)
	}
	if p := c.Control.GetPolicies(); p[0].GetExpand() != schemas.Expand_EXPAND_PAGE || p[1].GetExpand() != schemas.Expand_EXPAND_LINK {
		t.Errorf("policies %v", p)
	}
	for text, want := range map[string]string{
		guided + "expand: link":                       "",
		guided + "expand: site":                       "expand",
		"expand: page":                                "expand",
		guided + "backlinks: {source: links}":         "backlinks.ration",
		guided + "backlinks: {ration: 5}":             "backlinks.source",
		"backlinks: {source: links, ration: 5}":       "backlinks",
		guided + "backlinks: {source: links, ra: 5}":  "backlinks",
		guided + "backlinks: {source: x, ration: -1}": "backlinks",
	} {
		_, problems := Parse([]byte(file+text), ".")
		if (len(problems) == 0) != (want == "") || len(problems) > 0 && !strings.HasPrefix(problems[0].Path, strings.Split(want, ".")[0]) {
			t.Errorf("%q: %v, want %q", text, problems, want)
		}
	}
}
