package papers

import (
	"fmt"
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

// claim returns the difference of two measures over tasks, also as text.
func claim(a, b map[string][]float64) (measure.Comparison, string) {
	c, err := measure.Compare(a, b)
	if err != nil {
		return c, "cannot be compared: " + err.Error()
	}
	s := fmt.Sprintf("%+.3f [%+.3f, %+.3f], above on %d of %d tasks", c.Mean, c.Low, c.High, c.Above, c.Tasks)
	if c.P != nil {
		s += fmt.Sprintf(", p %.3f", *c.P)
	}
	return c, s
}

// course returns the mean of of over tasks and draws at each percent of the budget.
func (w *World) course(how how, ranker string, of func(k crawlKey, curve *measure.Curve, n int) float64) []float64 {
	var points [101]float64
	crawls := 0
	for _, k := range w.every(how, ranker) {
		c := w.made[k]
		if c == nil {
			continue
		}
		crawls++
		curve := w.Grounds[k.task].Curve(c)
		for p := range points {
			points[p] += of(k, curve, curve.Budget()*p/100)
		}
	}
	for p := range points {
		points[p] /= float64(max(1, crawls))
	}
	return points[:]
}

func lossRate(_ crawlKey, c *measure.Curve, n int) float64 { return c.LossRate(n) }

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
		g := w.Grounds[k.task]
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
