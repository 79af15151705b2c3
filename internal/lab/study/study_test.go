package study

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"forager/internal/lab/experiment"
	"forager/internal/lab/experiment/worldtest"
	"forager/internal/lab/taskfile"
)

const planText = `
name: tiny
tasks: [tasks.json]
draws: {first: 0, count: 2}
random_runs: 2
rankers: [soft-focus, apprentice, apprentice-taught, random, oracle]
settings: {d_max: [0, 3], switch_pages: [5]}
`

// folder has a plan and the small world of its tasks.
func folder(t *testing.T) (dir string, p *Plan) {
	t.Helper()
	dir = worldtest.Random(11, 80).Write(t)
	path := filepath.Join(dir, "plan.yaml")
	if err := os.WriteFile(path, []byte(planText), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := LoadPlan(path)
	if err != nil {
		t.Fatal(err)
	}
	return dir, p
}

// counted counts the calls, and calls ran after each run.
type counted struct {
	known, all int
	torn       int64
	runs       int
	ran        func(n int)
}

func (p *counted) Prepared(known, all int, torn int64) { p.known, p.all, p.torn = known, all, torn }
func (p *counted) Ran(*experiment.Result, time.Duration, int, int) {
	if p.runs++; p.ran != nil {
		p.ran(p.runs)
	}
}

// written is all that a study comes to, as bytes.
func written(t *testing.T, r *Report) map[string]string {
	t.Helper()
	var c, p, h, x bytes.Buffer
	j, err := json.Marshal(r)
	r.Print(&x)
	if err := errors.Join(err, WriteCSV(&c, r.Rows()), WriteParquet(&p, r.Rows()), r.WriteHTML(&h)); err != nil {
		t.Fatal(err)
	}
	return map[string]string{"csv": c.String(), "parquet": p.String(), "html": h.String(), "json": string(j), "text": x.String()}
}

// TestAStudyIsTheSameHoweverItIsStopped: made in one go, and stopped again and again, once in the
// middle of a line.
func TestAStudyIsTheSameHoweverItIsStopped(t *testing.T) {
	dir, p := folder(t)
	var whole counted
	rep, err := Run(t.Context(), p, filepath.Join(dir, "whole.jsonl"), &whole)
	if err != nil {
		t.Fatal(err)
	}
	const jobs = 2 * (1 + 2 + 2 + 2 + 1)
	if whole.all != jobs || whole.known != 0 || whole.runs != jobs || rep.Runs != jobs || len(rep.Rows()) != jobs {
		t.Fatalf("%+v, %d rows", whole, len(rep.Rows()))
	}
	want := written(t, rep)
	path := filepath.Join(dir, "parts.jsonl")
	for stops := 0; ; stops++ {
		if stops > jobs {
			t.Fatal("it does not get on")
		}
		ctx, stop := context.WithCancel(t.Context())
		again := counted{ran: func(n int) {
			if n == 2 {
				stop()
			}
		}}
		rep, err := Run(ctx, p, path, &again)
		stop()
		if err == nil {
			if stops < 2 || again.known+again.runs != jobs {
				t.Errorf("stopped %d times; %+v", stops, again)
			}
			for name, text := range written(t, rep) {
				if text != want[name] {
					t.Errorf("another %s", name)
				}
			}
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if stops == 1 {
			tear(t, path, 7)
		} else if stops == 2 && again.torn == 0 {
			t.Error("the torn log is not reported")
		}
	}
	// What was read back is the report that was written.
	var back Report
	if err := json.Unmarshal([]byte(want["json"]), &back); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"html", "text"} {
		if got := written(t, &back)[name]; got != want[name] {
			t.Errorf("another %s from the file", name)
		}
	}
}

func tear(t *testing.T, path string, bytes int64) {
	t.Helper()
	info, err := os.Stat(path)
	if err == nil {
		err = os.Truncate(path, info.Size()-bytes)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestReport compares the files with each other and the curves with the measures.
func TestReport(t *testing.T) {
	dir, p := folder(t)
	rep, err := Run(t.Context(), p, filepath.Join(dir, "runs.jsonl"), new(counted))
	if err != nil {
		t.Fatal(err)
	}
	files := written(t, rep)
	rows, err := parquet.Read[Row](strings.NewReader(files["parquet"]), int64(len(files["parquet"])))
	if err != nil || !reflect.DeepEqual(rows, rep.Rows()) {
		t.Errorf("the Parquet file has other rows (%v)", err)
	}
	lines, err := csv.NewReader(strings.NewReader(files["csv"])).ReadAll()
	if err != nil || len(lines) != len(rows)+1 {
		t.Fatalf("%d lines of CSV for %d rows (%v)", len(lines), len(rows), err)
	}
	at := make(map[string]int)
	for i, name := range lines[0] {
		at[name] = i
	}
	auc := make(map[string][]float64)
	for i, r := range rows {
		line := lines[i+1]
		if line[at["variant"]] != r.Variant || line[at["web_digest"]] != r.WebDigest || len(r.WebDigest) != 64 || line[at["draw"]] != fmt.Sprint(r.Draw) {
			t.Errorf("row %d is %v, in Parquet %+v", i, line, r)
		}
		if v, err := strconv.ParseFloat(line[at["auc"]], 64); err != nil || v != r.AUC {
			t.Errorf("row %d: auc is %s, in Parquet %v", i, line[at["auc"]], r.AUC)
		}
		if wants := map[bool]string{true: "site", false: "seeds"}[r.Ranker == "apprentice-taught"]; r.Access != wants || (r.Training > 0) != (wants == "site") {
			t.Errorf("%s: access %s, %d requests trained it", r.Variant, r.Access, r.Training)
		}
		if (r.Settings == `{"d_max":3,"switch_pages":"5","pairs":"PAIRS_BOTH"}`) != strings.HasSuffix(r.Variant, "d_max=3") {
			t.Errorf("%s has the settings %s", r.Variant, r.Settings)
		}
		auc[r.Variant] = append(auc[r.Variant], r.AUC)
	}
	if len(rep.Groups) != 2 || rep.Groups[0].Access != "seeds" || rep.Groups[1].Access != "site" {
		t.Fatalf("groups %+v", rep.Groups)
	}
	for _, g := range rep.Groups {
		for _, c := range g.Curves {
			// The mean of recall over the budget is AUC, up to the width of a step.
			var sum, want float64
			for _, v := range c.Recall[1:] {
				sum += v / 100
			}
			for _, v := range auc[c.Variant] {
				want += v / float64(len(auc[c.Variant]))
			}
			if math.Abs(sum-want) > .03 {
				t.Errorf("%s: the curve's mean is %.3f, AUC %.3f", c.Variant, sum, want)
			}
			if c.Overlap == nil || c.Again == nil || c.Chance == nil || *c.Chance <= 0 || *c.Chance > 1 {
				t.Fatalf("%s: overlaps %+v", c.Variant, c)
			}
			if same := c.Variant == "soft-focus"; same != (*c.Overlap == 1) {
				t.Errorf("%s has %v of its pages in common with soft focus", c.Variant, *c.Overlap)
			}
		}
	}
	for _, want := range []string{"apprentice d_max=3", "access site", "Targets found", "<svg", "with itself, other seeds"} {
		if !strings.Contains(files["html"], want) {
			t.Errorf("no %q in the page", want)
		}
	}
	for _, never := range []string{"http-equiv", "<script", "src=", "NaN", "-0.000", "%!"} {
		if strings.Contains(files["html"], never) {
			t.Errorf("%q is in the page", never)
		}
	}
}

// TestLogsOfOtherOriginsAreRefused changes what results depend on, one thing at a time.
func TestLogsOfOtherOriginsAreRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.jsonl")
	o := Origin{Version: 1, Study: "s", Program: "p", Tasks: "t", Webs: map[string]string{"w": "1"}, Critics: map[string]string{"c": "1"}}
	first, err := OpenLog(path, o)
	if err != nil {
		t.Fatal(err)
	}
	v := &experiment.Variant{Name: "soft-focus", Ranker: "soft-focus"}
	job := experiment.Job{Task: &taskfile.Task{Name: "a"}, Variant: v, Seed: 3}
	if err := errors.Join(first.Add(v, &experiment.Result{Task: "a", Variant: "soft-focus", Seed: 3, Measures: experiment.Measures{Pages: 9}}), first.Close()); err != nil {
		t.Fatal(err)
	}
	same, err := OpenLog(path, o)
	if err != nil {
		t.Fatal(err)
	}
	if r := same.Known(job); r == nil || r.Pages != 9 || len(same.known) != 1 {
		t.Errorf("known: %+v of %d", r, len(same.known))
	}
	if other := job; true {
		other.Draw = 1
		if r := same.Known(other); r != nil {
			t.Errorf("another draw is known: %+v", r)
		}
	}
	same.Close()
	for want, change := range map[string]func(*Origin){
		"another build of the program": func(o *Origin) { o.Program = "q" },
		"another task file":            func(o *Origin) { o.Tasks = "u" },
		`another web "w"`:              func(o *Origin) { o.Webs = map[string]string{"w": "2"} },
		`another critic "c"`:           func(o *Origin) { o.Critics = map[string]string{"c": "2"} },
		`of the study "s", not of "r"`: func(o *Origin) { o.Study = "r" },
		"version 1, this program":      func(o *Origin) { o.Version = 2 },
	} {
		changed := o
		change(&changed)
		if _, err := OpenLog(path, changed); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", want, err)
		}
	}
	more := o
	more.Webs = map[string]string{"w": "1", "x": "1"}
	if l, err := OpenLog(path, more); err != nil {
		t.Errorf("one more web: %v", err)
	} else {
		l.Close()
	}
	if err := os.WriteFile(path, []byte("{\"version\":1,\"study\":\"s\",\"program\":\"p\",\"tasks\":\"t\"}\n{\"settings\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenLog(path, o); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("a damaged line: %v", err)
	}
}

// TestCriticsAreAFactor: every ranker that reads a critic is run under each, and no other ranker twice. Under the method of the task file
// crawls are those without critics; under another they differ, and so do digests.
func TestCriticsAreAFactor(t *testing.T) {
	dir, p := folder(t)
	plain, err := Run(t.Context(), p, filepath.Join(dir, "plain.jsonl"), new(counted))
	if err != nil {
		t.Fatal(err)
	}
	critics := []string{"bayes", "logistic", "positives-only", "perfect", "errors 0.85/0.10"}
	path := filepath.Join(dir, "critics.yaml")
	if err := os.WriteFile(path, []byte(planText+`critics: [bayes, logistic, positives-only, perfect, "errors 0.85/0.10"]`), 0o600); err != nil {
		t.Fatal(err)
	}
	if p, err = LoadPlan(path); err != nil {
		t.Fatal(err)
	}
	rep, err := Run(t.Context(), p, filepath.Join(dir, "runs.jsonl"), new(counted))
	if err != nil {
		t.Fatal(err)
	}
	auc, digests := make(map[string]float64), make(map[string]string)
	for _, row := range rep.Rows() {
		auc[fmt.Sprint(row.Variant, row.Draw, row.Seed)] = row.AUC
		_, by, _ := strings.Cut(row.Variant, "@")
		if digests[by] == "" {
			digests[by] = row.CriticDigest
		}
		if row.CriticDigest != digests[by] || row.CriticDigest == "" {
			t.Errorf("%s has a critic with the digest %q, others under it %q", row.Variant, row.CriticDigest, digests[by])
		}
		if row.Ranker == experiment.Baseline && (row.LossCut100 == nil || *row.LossCut100 != 0) {
			t.Errorf("%s is not its own baseline", row.Variant)
		}
	}
	differ := make(map[string]bool)
	for _, row := range plain.Rows() {
		name, critics := row.Variant, critics
		if !experiment.Judges(row.Ranker) {
			critics = []string{""}
		}
		for _, by := range critics {
			v := experiment.Variant{Name: name}
			if by != "" {
				v = v.Under(by)
			}
			other, ok := auc[fmt.Sprint(v.Name, row.Draw, row.Seed)]
			if !ok || (by == "" || by == "bayes") && other != row.AUC {
				t.Errorf("%s, draw %d: AUC %v, want that of %s, %v", v.Name, row.Draw, other, name, row.AUC)
			}
			differ[by] = differ[by] || other != row.AUC
		}
	}
	distinct := make(map[string]bool)
	for _, digest := range digests {
		distinct[digest] = true
	}
	if len(distinct) != 1+len(critics) || !differ["logistic"] || !differ["positives-only"] || !differ["perfect"] || !differ["errors 0.85/0.10"] {
		t.Errorf("%d digests of critics; crawls differ: %v", len(distinct), differ)
	}
}

func TestPlansThatCannotFinish(t *testing.T) {
	dir, p := folder(t)
	log := filepath.Join(dir, "runs.jsonl")
	p.Draws = []int{0, 7}
	if _, err := Run(t.Context(), p, log, new(counted)); err == nil || !strings.Contains(err.Error(), "has 2 draws, no draw 7") {
		t.Errorf("%v", err)
	}
	w := worldtest.Random(11, 80)
	w.Seeds[1] = []string{w.Seeds[1][0], "http://elsewhere.test/"}
	other := w.Write(t)
	p.Draws, p.Tasks = []int{0, 1}, []string{filepath.Join(other, "tasks.json")}
	if _, err := Run(t.Context(), p, log, new(counted)); err == nil || !strings.Contains(err.Error(), "draw 1: seed http://elsewhere.test/ is no page") {
		t.Errorf("%v", err)
	}
	p.Only = []string{"none:*"}
	if _, err := Run(t.Context(), p, log, new(counted)); err == nil || !strings.Contains(err.Error(), "none:*") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(log); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a log was begun: %v", err)
	}
}

func TestPlan(t *testing.T) {
	_, p := folder(t)
	var names []string
	for _, v := range p.Variants {
		names = append(names, v.Name)
	}
	if want := "soft-focus|apprentice d_max=0|apprentice d_max=3|apprentice-taught d_max=0|apprentice-taught d_max=3|random|oracle"; strings.Join(names, "|") != want || p.DMax != 3 {
		t.Errorf("%q, d_max %d", names, p.DMax)
	}
	if p, problems := parsePlan([]byte("name: x\ntasks: [x]\nrankers: [all]")); len(problems) > 0 || len(p.Variants) != len(experiment.Rankers) {
		t.Errorf("all rankers: %d variants, %v", len(p.Variants), problems)
	}
	rationed, problems := parsePlan([]byte("name: x\ntasks: [x]\nrankers: [context-graph-backlinks, context-graph]\nsettings: {ration: [.1, 1]}"))
	if len(problems) > 0 || len(rationed.Variants) != 3 || rationed.Variants[1].Name != "context-graph-backlinks ration=1" ||
		settingsOf(&rationed.Variants[1]) != `{"learning":{"d_max":5,"pairs":"PAIRS_BOTH"},"ration":1}` || rationed.Variants[2].Ration != 0 {
		t.Errorf("rations: %+v, %v", rationed, problems)
	}
	for text, want := range map[string]string{
		"name: x\ntasks: [x]\nrankers: [random]\ncritics: [magic]":                                               `critics: critic "magic" is neither "perfect" nor`,
		"name: x\ntasks: [x]\nrankers: [random]\ncritics: [perfect, perfect]":                                    "critics: perfect is named twice",
		"name: x\ntasks: [x]\nrankers: [random@perfect]":                                                         "ranker random reads no critic",
		"name: x\ntasks: [x]\nrankers: [soft-focus@perfect]\ncritics: [bayes]":                                   "soft-focus@perfect names a critic, and so does critics",
		"tasks: [x]\nrankers: [random]":                                                                          "name: is missing",
		"name: x\nrankers: [random]":                                                                             "tasks: is missing",
		"name: x\ntasks: [x]":                                                                                    "rankers: is missing; known: unfocused",
		"name: x\ntasks: [x]\nrankers: [best]":                                                                   `no ranker "best"; known`,
		"name: x\ntasks: [x]\nrankers: [random, random]":                                                         "random is named twice",
		"name: x\ntasks: [x]\nrankers: [random]\ndraws: {count: 0}":                                              "draws: begins at 0 and has 0; want at least 0 and 1 to 10000",
		"name: x\ntasks: [x]\nrankers: [random]\nsettings: {depth: [1]}":                                         "unknown field; known here: active, count, d_max",
		"name: x\ntasks: [x]\nrankers: [random]\nsettings: {d_max: [101]}":                                       "holds 101; want 0 to 100",
		"name: x\ntasks: [x]\nrankers: [random]\nsettings: {d_max: [1,1]}":                                       "holds 1 twice",
		"name: x\ntasks: [x]\nrankers: [random]\nsettings: {smooth: [5]}":                                        "learning.smooth is 5",
		"name: x\ntasks: [x]\nrankers: [random]\nsettings: {count: [no]}":                                        `"no" is not one of binary, normalised, raw`,
		"name: x\ntasks: [x]\nrankers: [random]\nsettings: {pairs: [no]}":                                        `"no" is not one of both, forward`,
		"name: x\ntasks: [x]\nrankers: [random]\nsettings: {refit_pages: [" + strings.Repeat("9, ", 1001) + "]}": "makes 1001 combinations",
		"name: x\ntasks: [x]\nrankers: [context-graph-backlinks]\nsettings: {ration: [1.5]}":                     "1.5 is not above 0 and at most 1",
		"name: x\ntasks: [x]\nrankers: [context-graph-backlinks]\nsettings: {ration: [.1,.1]}":                   "holds 0.1 twice",
		"name: x\ntasks: [x]\nrankers: [random]\nrandom_runs: 0":                                                 "random_runs: is 0",
	} {
		_, problems := parsePlan([]byte(text))
		var all []string
		for _, p := range problems {
			all = append(all, p.Path+": "+p.Message)
		}
		if len(all) != 1 || !strings.Contains(all[0], want) {
			t.Errorf("%q: %q, want one problem: %q", text, all, want)
		}
	}
}

// FuzzPlan: whatever the text, there are problems or a plan that can be tried.
func FuzzPlan(f *testing.F) {
	f.Add([]byte(planText))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, problems := parsePlan(b)
		if len(problems) == 0 && (len(p.Variants) == 0 || len(p.Draws) == 0) {
			t.Errorf("%+v", p)
		}
	})
}

// TestStartsAreAFactor: each way to choose seeds is a group of tasks of its own, with the same rankers.
func TestStartsAreAFactor(t *testing.T) {
	dir, p := folder(t)
	p.Starts, p.Draws = []string{experiment.StartsGiven, experiment.StartsFresh}, p.Draws[:1]
	rep, err := Run(t.Context(), p, filepath.Join(dir, "runs.jsonl"), &counted{})
	if err != nil {
		t.Fatal(err)
	}
	runs := make(map[string]int)
	for _, row := range rep.Rows() {
		group, _, _ := strings.Cut(row.Task, ":")
		_, way, _ := strings.Cut(group, "@")
		runs[way]++
	}
	if len(runs) != 2 || runs[""] == 0 || runs[""] != runs["fresh"] {
		t.Errorf("runs by seeds: %v", runs)
	}
	for _, wrong := range []string{"[elsewhere]", "[far, far]"} {
		if _, problems := parsePlan([]byte(planText + "starts: " + wrong + "\n")); len(problems) != 1 {
			t.Errorf("%s: %v", wrong, problems)
		}
	}
}
