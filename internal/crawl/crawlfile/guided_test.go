package crawlfile

import (
	"strings"
	"testing"

	"forager/schemas"
)

func TestWhatGuidedCrawlsCanHave(t *testing.T) {
	const file = "name: a\ncritic: c\nfocus: [x]\nseeds: [\"http://a.example/\"]\nbudget: {pages: 3}\npoliteness: {contact: me@example.org}\n"
	const guided = "ranker: context-graph+unfocused\nguides: {context-graph: near}\n"
	c, problems := asWritten([]byte(file+guided+"expand: page\nbacklinks: {source: links, ration: 5}"), ".")
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
		_, problems := asWritten([]byte(file+text), ".")
		if (len(problems) == 0) != (want == "") || len(problems) > 0 && !strings.HasPrefix(problems[0].Path, strings.Split(want, ".")[0]) {
			t.Errorf("%q: %v, want %q", text, problems, want)
		}
	}
}

func TestContextGraphsThatCrawlsMakeThemselves(t *testing.T) {
	const file = "name: a\ncritic: c\nfocus: [x]\nseeds: [\"http://a.example/\"]\nbudget: {pages: 3}\npoliteness: {contact: me@example.org}\n"
	c, problems := asWritten([]byte(file+"ranker: unfocused+context-graph\nexpand: page\ncontext_graph: {bootstrap: 10, rebuild_every: 50}"), ".")
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	p, r := c.Control.GetPolicies()[1], c.Control.GetRenewal()
	if p.GetName() != "context-graph" || p.GetRanker() != schemas.Ranker_RANKER_UNFOCUSED || r.GetBootstrap() != 10 || r.GetEvery() != 50 ||
		r.GetThen().GetRanker() != schemas.Ranker_RANKER_GUIDE || r.GetThen().GetExpand() != schemas.Expand_EXPAND_PAGE || r.GetThen().GetGuide() != "" {
		t.Errorf("%v, %v", p, r)
	}
	const guided = "ranker: context-graph\nguides: {context-graph: near}\n"
	for text, want := range map[string]string{
		guided + "context_graph: {rebuild_every: 9}":                 "",
		guided + "context_graph: {bootstrap: 9}":                     "context_graph",
		guided + "shards: 2\ncontext_graph: {rebuild_every: 9}":      "context_graph",
		"ranker: soft-focus\ncontext_graph: {bootstrap: 9}":          "context_graph",
		"ranker: context-graph\ncontext_graph: {rebuild_every: 9}":   "ranker",
		"ranker: context-graph\ncontext_graph: {bootstrap: 9, m: 1}": "context_graph",
	} {
		_, problems := asWritten([]byte(file+text), ".")
		if (len(problems) == 0) != (want == "") || len(problems) > 0 && !strings.HasPrefix(problems[0].Path, want) {
			t.Errorf("%q: %v, want %q", text, problems, want)
		}
	}
}
