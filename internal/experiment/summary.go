package experiment

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Group is the tasks of one web ("webkb-uni": what stands before ":" in their names).
type Group struct {
	Name    string          `json:"name"`
	Tasks   int             `json:"tasks"`
	Draws   int             `json:"draws"`
	Rankers []RankerSummary `json:"rankers"`
}

// RankerSummary is one line of a table.
type RankerSummary struct {
	Ranker string `json:"ranker"`
	// Measures by column name; nAUC is missing without runs of random and oracle, loss cuts
	// (over soft-focus, same task and draw) without runs of soft-focus.
	Measures map[string]Estimate `json:"measures"`
	// Ends counts runs by end reason.
	Ends map[string]int `json:"ends"`
}

// Estimate is a mean over draws, tasks averaged within a draw, with the half width of its 95 %
// t-interval; NaN-free: Half is 0 with one draw. It shows the noise of the seeds only.
type Estimate struct {
	Mean  float64 `json:"mean"`
	Half  float64 `json:"half"`
	Draws int     `json:"draws"`
}

func estimate(byDraw []float64) Estimate {
	e := Estimate{Mean: stat.Mean(byDraw, nil), Draws: len(byDraw)}
	if n := float64(len(byDraw)); n > 1 {
		t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Quantile(0.975)
		e.Half = t * stat.StdDev(byDraw, nil) / math.Sqrt(n)
	}
	return e
}

// columns are the measures of a run by the names of their columns.
func (m *Measures) columns() map[string]float64 {
	return map[string]float64{
		"label@25": m.HarvestLabel[0], "label@50": m.HarvestLabel[1], "label@100": m.HarvestLabel[2],
		"critic@25": m.HarvestCritic[0], "critic@50": m.HarvestCritic[1], "critic@100": m.HarvestCritic[2],
		"recall": m.Recall, "AUC": m.AUC,
	}
}

// Summarise makes the tables, one a group, rankers in the order of Rankers.
func Summarise(results []Result) []Group {
	byGroup := make(map[string][]Result)
	for _, r := range results {
		name, _, _ := strings.Cut(r.Task, ":")
		byGroup[name] = append(byGroup[name], r)
	}
	var groups []Group
	for _, name := range slices.Sorted(maps.Keys(byGroup)) {
		groups = append(groups, summarise(name, byGroup[name]))
	}
	return groups
}

// cell is one task and draw of one ranker; several runs (random) are averaged.
type cell struct {
	task   string
	draw   int
	ranker string
}

func summarise(name string, results []Result) Group {
	values := make(map[cell]map[string]float64)
	runs := make(map[cell]int)
	loss := make(map[cell][2]float64)
	ends := make(map[string]map[string]int)
	tasks, draws := make(map[string]bool), make(map[int]bool)
	for _, r := range results {
		c := cell{r.Task, r.Draw, r.Ranker}
		tasks[r.Task], draws[r.Draw] = true, true
		if values[c] == nil {
			values[c] = make(map[string]float64)
		}
		for k, v := range r.columns() {
			values[c][k] += v
		}
		l := loss[c]
		loss[c] = [2]float64{l[0] + r.Loss[0], l[1] + r.Loss[1]}
		runs[c]++
		if ends[r.Ranker] == nil {
			ends[r.Ranker] = make(map[string]int)
		}
		ends[r.Ranker][r.EndReason]++
	}
	for c, n := range runs {
		for k := range values[c] {
			values[c][k] /= float64(n)
		}
		l := loss[c]
		loss[c] = [2]float64{l[0] / float64(n), l[1] / float64(n)}
	}
	for c := range values {
		base, ok := loss[cell{c.task, c.draw, "soft-focus"}]
		for i, column := range []string{"loss-cut@25", "loss-cut@100"} {
			if ok && base[i] > 0 {
				values[c][column] = 1 - loss[c][i]/base[i]
			}
		}
	}
	g := Group{Name: name, Tasks: len(tasks), Draws: len(draws)}
	taskNames, drawNumbers := slices.Sorted(maps.Keys(tasks)), slices.Sorted(maps.Keys(draws))
	byDraw := func(ranker, column string) []float64 {
		var out []float64
		for _, d := range drawNumbers {
			sum, n := 0.0, 0
			for _, t := range taskNames {
				if v, ok := values[cell{t, d, ranker}][column]; ok {
					sum, n = sum+v, n+1
				}
			}
			if n == len(taskNames) {
				out = append(out, sum/float64(n))
			}
		}
		return out
	}
	random, oracle := byDraw("random", "AUC"), byDraw("oracle", "AUC")
	for _, ranker := range Rankers {
		if ends[ranker] == nil {
			continue
		}
		s := RankerSummary{Ranker: ranker, Measures: make(map[string]Estimate), Ends: ends[ranker]}
		for _, column := range []string{"label@25", "label@50", "label@100", "critic@25", "critic@50", "critic@100", "recall", "AUC", "loss-cut@25", "loss-cut@100"} {
			if v := byDraw(ranker, column); len(v) > 0 {
				s.Measures[column] = estimate(v)
			}
		}
		if a := byDraw(ranker, "AUC"); len(a) > 0 && len(a) == len(oracle) && len(random) > 0 {
			// Random is a constant of the task: its mean over all draws and runs.
			base := stat.Mean(random, nil)
			n := make([]float64, len(a))
			for i := range a {
				n[i] = (a[i] - base) / (oracle[i] - base)
			}
			s.Measures["nAUC"] = estimate(n)
		}
		g.Rankers = append(g.Rankers, s)
	}
	return g
}

// tableColumns are the columns of a table in their order.
var tableColumns = []string{
	"label@25", "label@50", "label@100", "recall", "AUC", "nAUC", "critic@25", "critic@50", "critic@100", "loss-cut@25", "loss-cut@100",
}

// Table is the group as text: a line a ranker, mean ± half width of the 95 % interval.
func (g Group) Table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d tasks, %d draws; mean ± 95 %% interval over draws\n%-18s", g.Name, g.Tasks, g.Draws, "ranker")
	for _, c := range tableColumns {
		fmt.Fprintf(&b, " %12s", c)
	}
	b.WriteByte('\n')
	for _, r := range g.Rankers {
		fmt.Fprintf(&b, "%-18s", r.Ranker)
		for _, c := range tableColumns {
			cell := "–"
			if v, ok := r.Measures[c]; ok {
				cell = fmt.Sprintf("%.3f", v.Mean)
				if v.Draws > 1 {
					cell += fmt.Sprintf("±%.3f", v.Half)
				}
			}
			fmt.Fprintf(&b, " %12s", cell)
		}
		b.WriteByte('\n')
	}
	for _, r := range g.Rankers {
		for _, end := range slices.Sorted(maps.Keys(r.Ends)) {
			if !strings.HasSuffix(end, "budget spent") {
				fmt.Fprintf(&b, "  %s ended %d times with %q\n", r.Ranker, r.Ends[end], end)
			}
		}
	}
	return b.String()
}
