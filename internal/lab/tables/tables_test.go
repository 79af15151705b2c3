package tables

import (
	"encoding/json"
	"fmt"
	"math"
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
					results = append(results, experiment.Result{Task: all[i].Name, Draw: draw, Variant: r, Ranker: r, Measures: m})
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
	groups, err := Summarise(tasks, results)
	if err != nil || len(groups) != 1 {
		t.Fatal(groups, err)
	}
	g := groups[0]
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
	if len(g.Comparisons) != 1 {
		t.Fatalf("comparisons %+v", g.Comparisons)
	}
	if c := g.Comparisons[0]; c.Ranker != "apprentice" || c.To != "soft-focus" || math.Abs(c.Mean-.175) > 1e-9 || c.Above != 6 ||
		c.P == nil || *c.P != 2./64 || c.Corrected == nil || *c.Corrected != *c.P {
		t.Errorf("comparison %+v", c)
	}
	table := g.Table()
	for _, part := range []string{"web, protocol C: tasks 6, draws 2;", "apprentice", "0.575±0.635", "apprentice − soft-focus", "+0.175", "6 above  0 below  p 0.0312"} {
		if !strings.Contains(table, part) {
			t.Errorf("no %q in\n%s", part, table)
		}
	}
	for _, task := range tasks {
		task.Warc = ""
	}
	groups, err = Summarise(tasks, results)
	if err != nil || groups[0].Comparisons[0].P != nil || !strings.Contains(groups[0].Table(), "over 6 tasks of 1 sites") {
		t.Errorf("six tasks of one site: %+v, %v", groups[0].Comparisons[0], err)
	}
	if table != g.Table() {
		t.Error("the table changes")
	}
}

func TestSummariseLittle(t *testing.T) {
	tasks, results := madeUp(5, func(_, _ int, _ string) float64 { return .5 }, "hard-focus", "soft-focus", "oracle", "random")
	tasks[0].DiagnosticOnly = true
	results[0].EndReason = "stagnated"
	groups, err := Summarise(tasks, results)
	if err != nil {
		t.Fatal(err)
	}
	g := groups[0]
	if len(g.Comparisons) != 0 || !g.Diagnostic {
		t.Errorf("%+v", g)
	}
	for _, r := range g.Rankers {
		if _, ok := r.Measures["nAUC"]; ok {
			t.Errorf("%s has an nAUC where the oracle is no better than random order", r.Ranker)
		}
	}
	for _, part := range []string{"diagnostic", "Too few tasks", `hard-focus ended 1 times with "stagnated"`, "–"} {
		if !strings.Contains(g.Table(), part) {
			t.Errorf("no %q in\n%s", part, g.Table())
		}
	}
	b, err := json.Marshal(g)
	if err != nil || !strings.Contains(string(b), `"comparisons":[]`) {
		t.Errorf("%s, %v", b, err)
	}
	if groups, err := Summarise(tasks, nil); err != nil || len(groups) != 0 {
		t.Errorf("of nothing: %v, %v", groups, err)
	}
	// A ranker with fewer draws than the others cannot be paired.
	tasks, results = madeUp(6, func(_, _ int, _ string) float64 { return .5 }, "hard-focus", "soft-focus")
	if _, err := Summarise(tasks, results[1:]); err == nil || !strings.Contains(err.Error(), "hard-focus and soft-focus") {
		t.Errorf("unpaired: %v", err)
	}
}

// TestProtocolsAreNotMixed: a ranker trained on a first crawl is in another table than those without.
func TestProtocolsAreNotMixed(t *testing.T) {
	tasks, results := madeUp(6, func(task, draw int, _ string) float64 { return .1 + .01*float64(task+draw) },
		"soft-focus", "apprentice", "apprentice-taught", "oracle")
	groups, err := Summarise(tasks, results)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, g := range groups {
		for _, r := range g.Rankers {
			got = append(got, g.Protocol+":"+r.Ranker)
		}
		for _, c := range g.Comparisons {
			got = append(got, g.Protocol+":"+c.Ranker+"-"+c.To)
		}
	}
	want := "[C:soft-focus C:apprentice C:oracle C:apprentice-soft-focus P:soft-focus P:apprentice-taught P:oracle P:apprentice-taught-soft-focus]"
	if fmt.Sprint(got) != want {
		t.Errorf("%v", got)
	}
}

// TestComparisonsNameRankers: every comparison names two rankers.
func TestComparisonsNameRankers(t *testing.T) {
	names := make(map[string]bool)
	for _, r := range experiment.Rankers {
		names[r] = true
	}
	for r, others := range claims {
		for _, name := range append(others, r, experiment.Baseline) {
			if !names[name] {
				t.Errorf("a comparison of %s names %s, which is no ranker", r, name)
			}
		}
	}
	for _, r := range references {
		if !names[r] || protocols[r] != "" {
			t.Errorf("the reference %s is no ranker, or one of a protocol", r)
		}
	}
}
