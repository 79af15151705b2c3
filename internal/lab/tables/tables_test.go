package tables

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"forager/internal/lab/experiment"
	"forager/internal/lab/taskfile"
)

// results of six tasks, two draws: AUC by ranker is given by f.
func madeUp(tasks int, f func(task, draw int, ranker string) float64, rankers ...string) ([]*taskfile.Task, []experiment.Result) {
	var all []*taskfile.Task
	var results []experiment.Result
	for i := range tasks {
		all = append(all, &taskfile.Task{Name: fmt.Sprintf("web:t%d", i), Warc: fmt.Sprint(i)})
		for draw := range 2 {
			for _, r := range rankers {
				runs := 1
				if r == "random" {
					runs = 2
				}
				for run := range runs {
					m := experiment.Measures{AUC: f(i, draw, r) + float64(2*run-runs+1)*.01, Loss: [2]float64{10 - 10*f(i, draw, r), 20}, EndReason: "page budget spent"}
					results = append(results, experiment.Result{Access: experiment.AccessOf(r, all[i]), Task: all[i].Name, Draw: draw, Variant: r, Ranker: r, Measures: m})
				}
			}
		}
	}
	return all, results
}

func TestSummarise(t *testing.T) {
	auc := func(task, draw int, ranker string) float64 {
		switch ranker {
		case "random":
			return .15 + .1*float64(draw)
		case "oracle":
			return .8
		case "apprentice":
			return .5 + .1*float64(draw) + .01*float64(task)
		case "oracle-labels":
			return .5
		}
		return .4
	}
	tasks, results := madeUp(6, auc, "oracle", "apprentice", "random", "soft-focus", "oracle-labels", "oracle-hubs")
	sum, err := Summarise(tasks, results)
	if err != nil || len(sum.Groups) != 1 {
		t.Fatal(sum, err)
	}
	g := sum.Groups[0]
	if g.Name != "web" || g.Tasks != 6 || g.Draws != 2 || g.Diagnostic || len(g.Rankers) != 6 {
		t.Errorf("%+v", g)
	}
	var order []string
	for _, r := range g.Rankers {
		order = append(order, r.Ranker)
		want := map[string][5]float64{ // AUC, nAUC, loss cut at 25 %, gaps to oracle and oracle-labels, which is at .5
			"random": {.2, 0, (1 - 8.5/6 + 1 - 7.5/6) / 2, -.5, -2}, "oracle": {.8, 1, 2. / 3, 1, 4}, "soft-focus": {.4, 1. / 3, 0, 0, 0}, "apprentice": {.575, .625, 1 - 4.25/6, .4375, 1.75},
			"oracle-labels": {.5, .5, 1. / 6, .25, 1}, "oracle-hubs": {.4, 1. / 3, 0, 0, 0},
		}[r.Ranker]
		if len(r.ByTask) != 6 {
			t.Errorf("%s has nAUC of the tasks %v", r.Ranker, r.ByTask)
		}
		for task, n := range r.ByTask {
			if r.Ranker == "oracle" && n != 1 || r.Ranker == "random" && math.Abs(n) > 1e-9 {
				t.Errorf("%s has an nAUC of %v on %s", r.Ranker, n, task)
			}
		}
		for i, column := range []string{"AUC", "nAUC", "loss-cut@25", "gap:all", "gap:labels"} {
			if e := r.Measures[column]; math.Abs(e.Mean-want[i]) > 1e-9 || e.N != 2-i/3 {
				t.Errorf("%s: %s %+v, want %v", r.Ranker, column, e, want[i])
			}
		}
		if e, ok := r.Measures["gap:hubs"]; ok {
			t.Errorf("%s closes %v of the gap to an oracle no better than soft focus", r.Ranker, e)
		}
	}
	if fmt.Sprint(order) != "[oracle apprentice random soft-focus oracle-labels oracle-hubs]" {
		t.Errorf("order %v", order)
	}
	if len(sum.Comparisons) != 1 {
		t.Fatalf("comparisons %+v", sum.Comparisons)
	}
	if c := sum.Comparisons[0]; c.Ranker != "apprentice" || c.To != "soft-focus" || math.Abs(c.Mean-.175) > 1e-9 || c.Above != 6 ||
		c.P == nil || *c.P != 2./64 || c.Corrected == nil || *c.Corrected != *c.P {
		t.Errorf("comparison %+v", c)
	}
	table := g.Table() + Compared(sum.Comparisons)
	for _, part := range []string{"web, access seeds: tasks 6, draws 2;", "apprentice", "0.575±0.635", "apprentice − soft-focus", "+0.175", " 6 sites  6 tasks   6 above  0 below  p 0.0312"} {
		if !strings.Contains(table, part) {
			t.Errorf("no %q in\n%s", part, table)
		}
	}
	for _, task := range tasks {
		task.Warc = ""
	}
	sum, err = Summarise(tasks, results)
	if err != nil || sum.Comparisons[0].P != nil || !strings.Contains(Compared(sum.Comparisons), " 1 sites  6 tasks") {
		t.Errorf("six tasks of one site: %+v, %v", sum.Comparisons[0], err)
	}
}

// TestOneFamilyOverAllGroups: six webs of one task each are six sites of one comparison; a group that is a diagnostic, or was not run with
// both rankers, is not among them. Groups that crawl the same pages are one site.
func TestOneFamilyOverAllGroups(t *testing.T) {
	tasks, results := madeUp(8, func(task, _ int, ranker string) float64 {
		if ranker == "link-value" {
			return .5 + .01*float64(task)
		}
		return .4
	}, "soft-focus", "link-value", "hard-focus")
	for i, task := range tasks {
		name := task.Name
		task.Name, task.Warc = fmt.Sprintf("web%d:t", i), fmt.Sprintf("web%d.warc.gz", i%7)
		for k := range results {
			if results[k].Task == name {
				results[k].Task = task.Name
			}
		}
	}
	tasks[0].DiagnosticOnly = true
	tasks[1].Warc = "webkb.warc.gz"
	results = slices.DeleteFunc(results, func(r experiment.Result) bool { return r.Task == "web2:t" && r.Ranker == "link-value" })
	sum, err := Summarise(tasks, results)
	if err != nil || len(sum.Groups) != 8 {
		t.Fatalf("%d groups, %v", len(sum.Groups), err)
	}
	for _, g := range sum.Groups {
		for _, r := range g.Rankers {
			if r.Tuned != (g.Name == "web1" && r.Ranker == "link-value") {
				t.Errorf("%s, %s: tuned %v", g.Name, r.Ranker, r.Tuned)
			}
		}
		if strings.Contains(g.Table(), "link-value *") != (g.Name == "web1") || g.Diagnostic != (g.Name == "web0") {
			t.Errorf("%s is a diagnostic: %v\n%s", g.Name, g.Diagnostic, g.Table())
		}
	}
	if len(sum.Comparisons) != 2 {
		t.Fatalf("%+v", sum.Comparisons)
	}
	// Tasks 1, 3, 4, 5, 6 and 7, of which none share a web; task 0, a diagnostic, would share that of task 7.
	if c := sum.Comparisons[0]; c.Ranker != "link-value" || c.Sites != 6 || c.Tasks != 6 || c.P == nil || *c.P != 2./64 || *c.Corrected != 4./64 {
		t.Errorf("%+v", c)
	}
	if c := sum.Comparisons[1]; c.Sites != 7 || c.Tasks != 7 || *c.Corrected != 1 {
		t.Errorf("%+v", c)
	}
}

func TestSummariseLittle(t *testing.T) {
	tasks, results := madeUp(5, func(_, _ int, _ string) float64 { return .5 }, "hard-focus", "soft-focus", "oracle", "random")
	tasks[0].DiagnosticOnly = true
	results[0].EndReason = "stagnated"
	sum, err := Summarise(tasks, results)
	if err != nil {
		t.Fatal(err)
	}
	g := sum.Groups[0]
	if !g.Diagnostic {
		t.Errorf("%+v", g)
	}
	for _, r := range g.Rankers {
		if _, ok := r.Measures["nAUC"]; ok {
			t.Errorf("%s has an nAUC where the oracle is no better than random order", r.Ranker)
		}
	}
	for _, part := range []string{"diagnostic", `hard-focus ended 1 times with "stagnated"`, "–"} {
		if !strings.Contains(g.Table(), part) {
			t.Errorf("no %q in\n%s", part, g.Table())
		}
	}
	if sum, err = Summarise(tasks, nil); err != nil || len(sum.Groups) != 0 {
		t.Errorf("of nothing: %v, %v", sum, err)
	}
	if b, err := json.Marshal(sum); err != nil || string(b) != `{"groups":[],"comparisons":[]}` {
		t.Errorf("%s, %v", b, err)
	}
	// A ranker with fewer draws than the others cannot be paired.
	tasks, results = madeUp(6, func(_, _ int, _ string) float64 { return .5 }, "hard-focus", "soft-focus")
	if _, err := Summarise(tasks, results[1:]); err == nil || !strings.Contains(err.Error(), "hard-focus and soft-focus") {
		t.Errorf("unpaired: %v", err)
	}
}

// TestAccessesAreNotMixed: rankers that read labels of the same site, or of others, are in other tables than those that read none. What
// trained a ranker is part of its requests.
func TestAccessesAreNotMixed(t *testing.T) {
	rankers := []string{"soft-focus", "apprentice", "apprentice-taught", "context-graph", "shark-search", "mixture", "context-graph-backlinks", "oracle"}
	tasks, results := madeUp(2, func(task, draw int, _ string) float64 { return .1 + .01*float64(task+draw) }, rankers...)
	for i := range results {
		results[i].Requests = 100
		if results[i].Ranker == "context-graph" {
			results[i].Training = 30
		}
	}
	sum, err := Summarise(tasks, results)
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[experiment.Access]string)
	for _, g := range sum.Groups {
		for _, r := range g.Rankers {
			got[g.Access] += " " + r.Ranker
			want := 100.
			if r.Ranker == "context-graph" {
				want = 130
			}
			if r.Measures["requests"].Mean != want {
				t.Errorf("%s made %v requests", r.Ranker, r.Measures["requests"])
			}
		}
	}
	for access, want := range map[experiment.Access]string{
		"seeds": " soft-focus apprentice mixture oracle", "examples": " soft-focus shark-search oracle", "foreign": " soft-focus context-graph oracle",
		"site": " soft-focus apprentice-taught oracle", "backlinks": " soft-focus context-graph-backlinks oracle",
	} {
		if got[access] != want {
			t.Errorf("access %s:%s, want%s", access, got[access], want)
		}
	}
	all := &taskfile.Task{Pages: taskfile.PageSet{All: true}}
	if a := experiment.AccessOf("soft-focus+context-graph", all); a != experiment.AccessSite {
		t.Errorf("a mixture with a context graph of the same site has access %s", a)
	}
}

// TestComparisonsNameRankers: every comparison names two rankers.
func TestComparisonsNameRankers(t *testing.T) {
	names := make(map[string]bool)
	for _, r := range experiment.Rankers {
		names[r] = true
	}
	for r := range tuned {
		if !names[r] {
			t.Errorf("%s, which was tuned, is no ranker", r)
		}
	}
	for r, others := range claims {
		for _, name := range append(others, r, experiment.Baseline) {
			if !names[name] {
				t.Errorf("a comparison of %s names %s, which is no ranker", r, name)
			}
		}
	}
	for _, r := range references {
		if !names[r] || experiment.AccessOf(r, new(taskfile.Task)) != experiment.AccessSeeds {
			t.Errorf("the reference %s is no ranker, or reads more than verdicts", r)
		}
	}
}
