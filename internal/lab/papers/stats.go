package papers

import (
	"maps"
	"slices"

	"gonum.org/v1/gonum/stat"

	"forager/internal/lab/experiment"
	"forager/internal/lab/measure"
	"forager/internal/measure/chart"
	"forager/internal/measure/harvest"
)

// overTasks returns the mean over tasks, draws averaged; NaN if there are none.
func overTasks(byTask map[string][]float64) float64 {
	var means []float64
	for _, t := range slices.Sorted(maps.Keys(byTask)) {
		means = append(means, stat.Mean(byTask[t], nil))
	}
	return stat.Mean(means, nil)
}

// less returns the differences of two measures by task, the second one times factor.
func less(a, b map[string][]float64, factor float64) map[string][]float64 {
	out := make(map[string][]float64)
	for task, values := range a {
		for i, v := range values {
			out[task] = append(out[task], v-factor*b[task][i])
		}
	}
	return out
}

// after returns a measure of the crawls of a ranker after a share of the budget, by task.
func (w *World) after(share float64, how how, ranker string, of func(c *measure.Curve, n int) float64) map[string][]float64 {
	return w.byTask(how, ranker, func(k crawlKey, c *experiment.Crawl) float64 {
		return of(w.Environments[k.task].Curve(c), int(share*float64(k.task.Budget)))
	})
}

// auc is a measure for after.
func auc(c *measure.Curve, _ int) float64 { return c.AUC() }

// curveOf returns the mean of of over tasks and draws at each percent of the budget.
func (w *World) curveOf(how how, ranker string, of func(curve *measure.Curve, n int) float64) []float64 {
	var points [101]float64
	crawls := 0
	for _, k := range w.every(how, ranker) {
		c := w.made[k]
		if c == nil {
			continue
		}
		crawls++
		curve := w.Environments[k.task].Curve(c)
		for p := range points {
			points[p] += of(curve, curve.Budget()*p/100)
		}
	}
	for p := range points {
		points[p] /= float64(max(1, crawls))
	}
	return points[:]
}

// lines converts courses to lines of a chart.
func lines(names []string, courses ...[]float64) []chart.Line {
	var all []chart.Line
	for i, y := range courses {
		l := chart.Line{Name: names[i], Y: y[1:]} // before the first page there is no rate
		for p := range l.Y {
			l.X = append(l.X, float64(p+1))
		}
		all = append(all, l)
	}
	return all
}

// budgetChart returns a chart over the budget.
func budgetChart(title, y string, most float64, l []chart.Line) chart.Chart {
	return chart.Chart{Title: title, XTitle: "share of the budget, %", YTitle: y, Lines: l, Most: most}
}

// lossCut returns the share of the baseline's loss that a ranker avoided after a share of the budget.
func (w *World) lossCut(how how, ranker string, share float64) map[string][]float64 {
	return w.byTask(how, ranker, func(k crawlKey, c *experiment.Crawl) float64 {
		base := w.made[crawlKey{k.task, k.draw, experiment.Baseline, asItIs}]
		n := int(share * float64(k.task.Budget))
		g := w.Environments[k.task]
		cut, _ := harvest.LossCut(g.Curve(c).Loss(n), g.Curve(base).Loss(n))
		return cut
	})
}

// words joins names, at least one, as a sentence does.
func words(list []string) string {
	s := list[0]
	for i, w := range list[1:] {
		if i == len(list)-2 {
			s += " and "
		} else {
			s += ", "
		}
		s += w
	}
	return s
}
