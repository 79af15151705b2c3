package evaluate

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func hostile() *Report {
	r := New([]string{`A<script>alert(1)</script>`, `B"&'`}, []Page{
		page("javascript:alert(1)", []int{0}, .3, .7),
		page(`http://h/?"><img src=x>`, []int{1}, .9, .1),
		page("http://h/2", []int{1}, .2, .8),
	})
	r.Examples = "<b>x</b>.jsonl"
	r.How = []Property{{"words", "<i>"}}
	r.Learning = []CurvePoint{{Pages: 1}, {Pages: 3, Raw: Summary{1, 2, 3}}}
	r.Words = []Deciding{{Topic: "<u>", For: []Word{{"<s>", 1, .5}}}}
	return r
}

// TestPageNeedsNothingElse also checks that names of topics and pages are escaped.
func TestPageNeedsNothingElse(t *testing.T) {
	var b strings.Builder
	if err := hostile().WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	html := b.String()
	tags := make(map[string]bool)
	for _, m := range regexp.MustCompile(`<([a-z0-9]+)`).FindAllStringSubmatch(html, -1) {
		tags[m[1]] = true
	}
	for _, tag := range []string{"script", "img", "b", "s", "u", "iframe", "link", "object"} {
		if tags[tag] {
			t.Errorf("the page has a <%s>", tag)
		}
	}
	for _, attribute := range regexp.MustCompile(`<[a-z]+ (?:[^>]* )?(?:src|href|onload)="([^"]*)`).FindAllStringSubmatch(html, -1) {
		if !strings.HasPrefix(attribute[1], "http://h/") && attribute[1] != "#ZgotmplZ" {
			t.Errorf("the page has %q", attribute[0])
		}
	}
	if strings.Contains(html, "url(") || strings.Contains(html, "@import") {
		t.Error("its style loads something")
	}
	for _, s := range []string{"<h2>Reliability", "<h2>Learning curve", "<h2>Topics", "<h2>What is taken for what", "<h2>Relevance", "<h2>Words that decide", "&lt;s&gt;"} {
		if !strings.Contains(html, s) {
			t.Errorf("the page lacks %q", s)
		}
	}
	if strings.Count(html, "<svg") != 3+2+3 {
		t.Errorf("%d drawings", strings.Count(html, "<svg"))
	}
}

func TestPagesComeBack(t *testing.T) {
	var b strings.Builder
	pages := []Page{page("http://h/<1>", []int{0, 1}, .25, .75)}
	if err := WritePages(&b, []string{"A", "B"}, pages); err != nil {
		t.Fatal(err)
	}
	want := `{"classes":["A","B"]}
{"url":"http://h/<1>","own":["A","B"],"raw":[0.25,0.75],"tempered":[0.25,0.75],"calibrated":[0.25,0.75]}
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
	if _, err := json.Marshal(hostile()); err != nil {
		t.Error(err)
	}
}
