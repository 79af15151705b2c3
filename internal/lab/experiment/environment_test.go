package experiment

import (
	"bytes"
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"forager/internal/classify/examples"
	"forager/internal/lab/experiment/worldtest"
	"forager/internal/lab/taskfile"
	"forager/internal/rank/linkfeature"
	"forager/schemas"
)

// prepare reads a world from its files.
func prepare(dir string) (*Environment, error) {
	file, err := taskfile.Load(filepath.Join(dir, "tasks.json"))
	if err != nil {
		return nil, err
	}
	tasks, err := file.Select()
	if err != nil {
		return nil, err
	}
	environments, err := Prepare(context.Background(), file, dir, tasks, linkfeature.Settings{DMax: 5})
	if err != nil {
		return nil, err
	}
	return environments[tasks[0]], nil
}

// odd is a world in which examples are named in every way that lists of them name pages.
func odd() *worldtest.World {
	w := &worldtest.World{Budget: 5, Seeds: [][]string{{"http://a.test/"}}, Targets: 2, Critic: map[string][]string{}}
	w.Page("http://a.test/", "hub/one", `<a href="good">x</a> <a href="text">x</a> <a href="http://two.test/a%2fb">x</a>`)
	w.Page("http://a.test/good", "good/one", "<p>good words here")
	w.Page("HTTP://A.test:80/good2", "good/one", "<p>good words there")
	w.Page("http://a.test/goodness", "goodness/one", "<p>not what is looked for")
	w.Page("http://a.test/good2", "bad/one", "<p>the second answer for a URL")
	w.Answers = append(w.Answers, worldtest.Answer{URL: "http://a.test/text", Kind: "text/plain", Status: 200, Body: "plain <b> good & words"})
	w.Labels = append(w.Labels, "http://a.test/text\tgood/one")
	w.Answers = append(w.Answers, worldtest.Answer{URL: "http://a.test/gone", Kind: "text/html", Status: 404, Body: "gone"})
	w.Redirect("http://two.test", "http://two.test/")
	w.Page("http://two.test/", "bad/two", "<p>home of two")
	w.Redirect("http://two.test/old", "http://two.test/older")
	w.Redirect("http://two.test/older", "/a%2fb")
	w.Page("http://two.test/a%2fb", "bad/two", "<p>escaped")
	w.Answers = append(w.Answers, worldtest.Answer{URL: "http://two.test/notes.txt", Kind: "text/plain; charset=us-ascii", Status: 200, Body: "plain #include <stdio.h>"})
	w.Labels = append(w.Labels, "http://two.test/notes.txt\tgood/two")
	w.Page("ftp_//two.test/stray", "good/two", "<p>stray words")
	w.Critic["good"] = []string{"http://two.test/notes.txt", "ftp_//two.test/stray"}
	w.Critic["bad"] = []string{"http://two.test", "http://two.test/a/b"}
	w.Critic["worse"] = []string{"http://two.test/old"}
	return w
}

func TestPrepare(t *testing.T) {
	g, err := prepare(odd().Write(t))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"http://a.test/", "http://a.test/good", "http://a.test/good2", "http://a.test/goodness", "http://a.test/text"}
	if !slices.Equal(g.URLs(), want) {
		t.Errorf("in scope: %q", g.URLs())
	}
	for _, u := range want {
		if g.Target(u) != (u == "http://a.test/good" || u == "http://a.test/good2") {
			t.Errorf("%s is a target: %v", u, g.Target(u))
		}
		if !g.counted(u) || g.counted("http://two.test/") {
			t.Error("what counts is not as in the task file")
		}
	}
	if j := g.found("http://a.test/good2").Judgement; g.found("http://a.test/text").Outcome != schemas.Outcome_OUTCOME_NOT_HTML || j == nil {
		t.Errorf("verdicts: %v", g.found("http://a.test/good2"))
	}
	// Three classes; the page with two names in the lists has both of them.
	if got := g.Critic().Classes(); !slices.Equal(got, []string{"bad", "good", "worse"}) {
		t.Errorf("classes %q", got)
	}
	if n := g.Critic().HeldOut(); n != 4 {
		t.Errorf("%d pages trained the critic, want 4", n)
	}
	for word, class := range map[string]string{"plain": "good", "include": "good", "stdio.h": "good", "stray": "good", "home": "bad"} {
		raw, _, err := g.Critic().Posteriors(&schemas.Page{Terms: []string{word}, Tokens: []uint32{0, 0, 0, 0, 0, 0, 0, 0}})
		if err != nil || slices.Index(raw, slices.Max(raw)) != slices.Index(g.Critic().Classes(), class) {
			t.Errorf("%q is judged %v (%v), want %s", word, raw, err, class)
		}
	}
}

// TestExamplesAreNotCounted: pages that trained the critic may be crawled and are no targets.
func TestExamplesAreNotCounted(t *testing.T) {
	w := worldtest.Random(9, 60)
	w.Pages, w.NotCounted = "all", []string{}
	for u, kept := range map[string]bool{"http://two.test/1": true, "http://two.test/4": false} { // both are good
		if !kept {
			w.NotCounted = append(w.NotCounted, u)
		}
	}
	w.Page("http://x.test/", "hub/one", "<a href=http://two.test/1>a</a><a href=http://two.test/4>a</a>")
	w.Seeds, w.Budget = [][]string{{"http://x.test/"}}, 3
	for i, l := range w.Labels {
		w.Labels[i] = strings.TrimSuffix(strings.TrimSuffix(l, "/one"), "/two")
		if w.Labels[i] != l && strings.HasSuffix(l, "good/two") && !strings.HasPrefix(l, "http://two.test/4\t") {
			w.Targets++
		}
	}
	g := env(t, w)
	if !g.Target("http://two.test/1") || g.Target("http://two.test/4") || !slices.Contains(g.URLs(), "http://two.test/4") {
		t.Error("targets are not those of the task file")
	}
	m := g.Measure(try(t, g, "unfocused", 0, 0))
	if m.Pages != 3 || m.HarvestLabel[2] != .5 {
		t.Errorf("%d pages with harvest %v, want 1 target among 2 pages that count", m.Pages, m.HarvestLabel[2])
	}
}

func TestPrepareRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		change func(w *worldtest.World, dir string)
		want   string
	}{
		"another number of targets": {func(w *worldtest.World, dir string) { w.Targets = 7 }, "names 7 targets, its web has 2"},
		"unknown examples": {func(w *worldtest.World, _ string) {
			w.Critic["bad"] = append(w.Critic["bad"], "http://two.test/nix", "http://a.test/gone")
		}, "2 of its examples are not pages of the web, such as http://two.test/nix"},
		"labels": {func(_ *worldtest.World, dir string) {
			os.WriteFile(filepath.Join(dir, "web.labels.tsv"), []byte("http://a.test/ good\n"), 0o600)
		}, "line 1: want URL, tab, label"},
		"no labels": {func(_ *worldtest.World, dir string) { os.Remove(filepath.Join(dir, "web.labels.tsv")) }, "labels"},
		"no web":    {func(_ *worldtest.World, dir string) { os.Remove(filepath.Join(dir, "web.warc.gz")) }, "web.warc.gz"},
		"empty web": {func(_ *worldtest.World, dir string) { os.WriteFile(filepath.Join(dir, "web.warc.gz"), nil, 0o600) }, "no HTTP answer"},
	} {
		w := odd()
		c.change(w, t.TempDir()) // what must be there before the files are
		dir := w.Write(t)
		c.change(w, dir)
		if _, err := prepare(dir); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestDamagedWeb: what is damaged is missing, the rest is there.
func TestDamagedWeb(t *testing.T) {
	dir := odd().Write(t)
	path := filepath.Join(dir, "web.warc.gz")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(b, b[:len(b)/2]...), 0o600); err != nil {
		t.Fatal(err)
	}
	g, err := prepare(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(g.URLs()) != 5 {
		t.Errorf("in scope: %q", g.URLs())
	}
}

func TestMeasure(t *testing.T) {
	const a, b, p, x, y = "http://a.example/", "http://b.example/", "http://b.example/p", "http://b.example/x", "http://b.example/y"
	g := &Environment{
		task: &taskfile.Task{Budget: 8}, part: &part{urls: []string{a, b, p, x, y}},
		targets: map[string]bool{a: true, b: true, "http://c.example/": true, "http://d.example/": true},
	}
	crawl := &Crawl{
		Steps: []Step{
			{URL: a, Raw: 1, Target: true, Counted: true, Requests: 1, Bytes: 10},
			{URL: y, Raw: .5, Counted: true, Requests: 3, Bytes: 30},
			{URL: x, Raw: .9, Counted: false, Requests: 4, Bytes: 60},
			{URL: b, Target: true, Counted: true, Requests: 6, Bytes: 70},
		},
		Requests: 6, EndReason: "stagnated",
	}
	m := g.Measure(crawl)
	want := Measures{
		Pages: 4, Requests: 6, EndReason: "stagnated", HarvestLabel: [3]float64{.5, 2. / 3, 2. / 7}, HarvestCritic: [3]float64{.75, .5, 1.5 / 7},
		Loss: [2]float64{.5, 5.5}, Recall: .5, AUC: (3*1 + 5*2) / 4. / 8, RequestAUC: (8 + 3) / 4. / 8, TargetHosts: 2, Bytes: 70,
	}
	if m != want {
		t.Errorf("%+v, want %+v", m, want)
	}
	c := g.shape(crawl)
	if len(c.Found) != 101 || len(c.LossRate) != 101 || len(c.Requests) != 101 || len(c.Bytes) != 101 || !slices.Equal(c.Pages, []uint32{0, 4, 3, 1}) {
		t.Fatalf("%+v", c)
	}
	for _, at := range []struct {
		percent         int
		found           int
		loss            float64
		requests, bytes uint64
	}{{0, 0, 0, 0, 0}, {12, 0, 0, 0, 0}, {13, 1, 0, 1, 10}, {25, 1, .25, 3, 30}, {50, 2, .5, 6, 70}, {100, 2, 5.5 / 7, 6, 70}} {
		if k := at.percent; c.Found[k] != at.found || c.LossRate[k] != at.loss || c.Requests[k] != at.requests || c.Bytes[k] != at.bytes {
			t.Errorf("at %d %%: found %d, loss rate %v, %d requests, %d bytes; want %+v", k, c.Found[k], c.LossRate[k], c.Requests[k], c.Bytes[k], at)
		}
	}
}

// TestLabelsWithSlashes: classes and labels are paths of topics, and examples may come from files of their own.
func TestLabelsWithSlashes(t *testing.T) {
	w := worldtest.Random(9, 80)
	dir := w.Write(t)
	rename := func(name string, pairs ...string) {
		t.Helper()
		path := filepath.Join(dir, name)
		b, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(path, []byte(strings.NewReplacer(pairs...).Replace(string(b))), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	open := func() *Environment {
		t.Helper()
		g, err := prepare(dir)
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	plain := open()
	wantSteps := try(t, plain, "context-graph", 0, 0).Steps
	rename("web.labels.tsv", "\tgood", "\tWeb/Very good", "\tbad", "\tWeb/Bad", "\thub", "\tHub")
	rename("tasks.json", `"target_label":"good"`, `"target_label":"Web/Very good"`, `"focus_class":"good"`, `"focus_class":"Web/Very good"`,
		`"good":[`, `"Web/Very good":[`, `"bad":[`, `"Web/Bad":[`, `"hub":[`, `"Hub":[`)
	slashed := open()
	if d := cmp.Diff(plain.targetList, slashed.targetList); d != "" || len(plain.targetList) == 0 {
		t.Errorf("targets:\n%s", d)
	}
	if d := cmp.Diff(wantSteps, try(t, slashed, "context-graph", 0, 0).Steps, cmpopts.EquateApprox(0, 1e-9)); d != "" {
		t.Errorf("another crawl:\n%s", d)
	}
	// The same examples as a file.
	var lines bytes.Buffer
	out := examples.NewWriter(&lines)
	set := criticSet(t, slashed.task, dir)
	for _, class := range set.Classes() {
		for _, u := range set.Examples[class] {
			p := slashed.web.example(u).text()
			var words []string
			for _, n := range p.GetTokens() {
				words = append(words, p.GetTerms()[n])
			}
			if err := out.Write(&examples.Example{URL: u, Topics: []string{class}, Text: strings.Join(words, " ")}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "more.jsonl"), lines.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	model, err := slashed.web.trainCritic(t.Context(), &taskfile.CriticSet{Files: []string{"more.jsonl"}}, dir)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(slashed.model.Classes(), model.Classes()); d != "" {
		t.Error(d)
	}
	for _, u := range slashed.targetList {
		a, err := slashed.model.Judge(slashed.web.pages[u].text(), []string{"Web/Very good"})
		if err != nil {
			t.Fatal(err)
		}
		b, err := model.Judge(slashed.web.pages[u].text(), []string{"Web/Very good"})
		if err != nil || math.Abs(a.GetRaw()-b.GetRaw()) > 1e-6 {
			t.Fatalf("%s: %v by pages, %v by a file, %v", u, a.GetRaw(), b.GetRaw(), err)
		}
	}
	if _, err := slashed.web.trainCritic(t.Context(), &taskfile.CriticSet{Files: []string{"none.jsonl"}}, dir); err == nil || !strings.Contains(err.Error(), "none.jsonl") {
		t.Errorf("a missing file: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "more.jsonl"), append(lines.Bytes(), "{}\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := slashed.web.trainCritic(t.Context(), &taskfile.CriticSet{Files: []string{"more.jsonl"}}, dir); err == nil || !strings.Contains(err.Error(), "more.jsonl") {
		t.Errorf("a bad line: %v", err)
	}
}

// criticSet is that of a task file in a directory.
func criticSet(tb testing.TB, t *taskfile.Task, dir string) *taskfile.CriticSet {
	tb.Helper()
	file, err := taskfile.Load(filepath.Join(dir, "tasks.json"))
	if err != nil {
		tb.Fatal(err)
	}
	set := file.Critics[t.Critic]
	return &set
}
