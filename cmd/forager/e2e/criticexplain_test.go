package e2e

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"forager/cmd/forager/critic"
	"forager/cmd/internal/cli"
	"forager/internal/measure/evaluate"
	"forager/schemas"
)

// testCriticEvaluate measures the critic of the small examples.
func (r *rig) testCriticEvaluate(t *testing.T) {
	good := r.file("good.jsonl", smallExamples())
	page, lines := filepath.Join(r.dir, "critic.html"), filepath.Join(r.dir, "pages.jsonl")
	args := []string{"critic", "evaluate", good, "--minimum", "10", "--html", page, "--pages", lines}
	out := r.mustRun(args...)
	for _, want := range []string{"27 pages of 3 classes", "calibrated", "Arts/Music", "WORDS THAT DECIDE", "music", "RELEVANCE", "written to " + page} {
		if !strings.Contains(out, want) {
			t.Errorf("critic evaluate lacks %q: %s", want, out)
		}
	}
	if html, err := os.ReadFile(page); err != nil || !strings.HasPrefix(string(html), "<!DOCTYPE html>") || !strings.HasSuffix(string(html), "</html>\n") {
		t.Errorf("%d bytes of a page, %v", len(html), err)
	}
	if b, err := os.ReadFile(lines); err != nil || strings.Count(string(b), "\n") != 28 {
		t.Errorf("the pages are %q, %v", b, err)
	}
	r.fails(t, cli.ExitFailure, args, "exists already")
	for _, method := range []string{"bayes", "bayes-tree", "logistic"} {
		var report evaluate.Report
		if err := json.Unmarshal([]byte(r.mustRun("--json", "critic", "evaluate", good, "--minimum", "10", "--model", method, "--no-curve", "--words", "stop stem")), &report); err != nil {
			t.Fatal(err)
		}
		if report.Pages != 27 || report.Raw.Accuracy < .8 || len(report.Learning) != 1 || report.How[0].Value != method || report.How[1].Value != "uax29/1 stop stem" {
			t.Errorf("%s: %+v", method, report)
		}
	}
	r.fails(t, cli.ExitUsage, []string{"critic", "evaluate", good, "--minimum", "10", "--model", "magic"}, "bayes")
	r.fails(t, cli.ExitUsage, []string{"critic", "evaluate", good, "--words", "stop numbers=none"}, "kept, shaped, dropped")
}

// testCriticExplain explains pages of the small crawl, and files.
func (r *rig) testCriticExplain(t *testing.T) {
	var v *schemas.LinkFound
	for _, each := range r.verdictsOf(t, "small") {
		if each.GetJudgement().GetKnownTokens() > 0 {
			v = each
		}
	}
	if v == nil {
		t.Fatal("no page of the crawl has a word that is in the critic's model")
	}
	var x critic.Explanation
	if err := json.Unmarshal([]byte(r.mustRun("--json", "critic", "explain", v.GetUrl(), "--crawl", "small")), &x); err != nil {
		t.Fatal(err)
	}
	if j := v.GetJudgement(); x.URL != v.GetUrl() || x.Critic != j.GetCritic() || x.Judgement == nil ||
		math.Abs(x.Judgement.GetRaw()-j.GetRaw()) > 1e-9 || math.Abs(x.Judgement.GetCalibrated()-j.GetCalibrated()) > 1e-9 || len(x.Terms) == 0 {
		t.Errorf("explained %+v, the crawl judged %v", x, j)
	}
	if out := r.mustRun("critic", "explain", v.GetUrl(), "--critic", x.Critic); !strings.Contains(out, v.GetUrl()) || !strings.Contains(out, x.Terms[0].Word) {
		t.Errorf("explained without a crawl: %s", out)
	}
	page := r.file("page.html", "<title>Of music</title><p>Music, arts and physics: music.")
	out := r.mustRun("critic", "explain", page, "--critic", "small", "--focus", "Arts/Music")
	for _, want := range []string{"for Arts/Music", "WORDS FOR IT", "music ", "WORDS AGAINST IT", "physics", "CLASS", "* Arts/Music"} {
		if !strings.Contains(out, want) {
			t.Errorf("critic explain lacks %q: %s", want, out)
		}
	}
	if html := r.mustRun("critic", "explain", r.file("page.txt", "Of music Music, arts and physics: music."), "--critic", "small"); strings.SplitN(html, "\n", 4)[3] != strings.SplitN(out, "\n", 4)[3] {
		t.Errorf("the page is explained as %s, its text as %s", out, html)
	}
	r.fails(t, cli.ExitFailure, []string{"critic", "explain", "http://nobody.test/", "--crawl", "small"}, "crawl small has delivered http://nobody.test/")
	r.fails(t, cli.ExitFailure, []string{"critic", "explain", page, "--critic", "none"}, `no critic "none"`)
	r.fails(t, cli.ExitFailure, []string{"critic", "explain", page, "--critic", "small", "--focus", "Arts/Musik"}, `"Arts/Musik"`, "Arts/Music")
	r.fails(t, cli.ExitFailure, []string{"critic", "explain", r.file("empty.html", " \n"), "--critic", "small"}, "the page is empty")
	r.fails(t, cli.ExitUsage, []string{"critic", "explain", page}, "--critic")
	r.fails(t, cli.ExitUsage, []string{"critic", "explain", "nowhere.html", "--critic", "small"}, "no file, and no URL")
}
