package papers

import (
	"fmt"
	"slices"
	"strings"

	"forager/internal/lab/experiment"
	"forager/internal/lab/measure"
	"forager/internal/lab/taskfile"
	"forager/internal/measure/chart"
	"forager/internal/measure/harvest"
)

// The paper orders pages and expands each wholly; backlinks are asked for where links are ordered one by one.
const contextGraph, contextLinks, focused2000 = "context-graph-pages", "context-graph", "focused-2000-pages"

func (s *session) of2000() error {
	w := s.w
	if w.Synthetic {
		return nil // these rankers read whole webs
	}
	if !w.deep() {
		s.missing("2000", "Figs 4 and 7", "its site is all one layer: no start of a task lies more than one link from a target.")
		return nil
	}
	rankers := []string{contextGraph, focused2000, unfocused}
	if err := s.crawls(w.every(layers34, rankers...)); err != nil {
		return err
	}
	s.targets2000(rankers)
	s.window2000(rankers)
	s.backlinks2000()
	return nil
}

func (s *session) targets2000(rankers []string) {
	w := s.w
	found := make(map[string]map[string][]float64)
	t := Table{Columns: []string{"ranker", "targets, first quarter", "targets, half", "targets, whole budget", "AUC"}}
	at := func(r string, share float64) float64 {
		return overTasks(w.after(share, layers34, r, func(c *measure.Curve, n int) float64 { return float64(c.Found(n)) }))
	}
	var curves [][]float64
	for _, r := range rankers {
		row := []string{r}
		for _, share := range []float64{.25, .5, 1} {
			row = append(row, num(at(r, share)))
		}
		found[r] = w.after(1, layers34, r, auc)
		t.row(append(row, num(overTasks(found[r])))...)
		curves = append(curves, w.curveOf(layers34, r, (*measure.Curve).Recall))
	}
	recall := func(r string) map[string][]float64 { return w.after(1, layers34, r, (*measure.Curve).Recall) }
	more, breadth := at(contextGraph, 1)/at(focused2000, 1)-1, at(focused2000, 1)/at(unfocused, 1)-1
	ahead := less(found[contextGraph], found[focused2000], 1)
	s.observe("2000", "Figs 4 and 7", less(recall(contextGraph), recall(focused2000), 1.25), less(recall(contextGraph), recall(unfocused), 1.5),
		less(recall(focused2000), recall(unfocused), 1.5), ahead)
	p := Part{
		Tables: []Table{t},
		Charts: []chart.Chart{budgetChart("Targets found from three and four links away", "share of all targets", 1, lines(rankers, curves...))},
	}
	p.Found = fmt.Sprintf("ordering pages, with the whole budget context graph finds %+.0f %% more targets than focused-2000, which finds %+.0f %% more than breadth first; in AUC context graph − focused-2000 is %+.3f.", 100*more, 100*breadth, overTasks(ahead))
	p.Why = fmt.Sprintf("Context graphs can only help where layers can be distinguished: of the starts %s, and the layers' models learn from %s targets of other sites. A budget is a quarter of all pages, of which breadth first finds %s of the targets anyway.",
		s.starts(), s.samples(), percent(overTasks(recall(unfocused))))
	s.add("2000", "Figs 4 and 7", p)
}

// deep reports whether a task has starts from which a crawl must follow more than one link.
func (w *World) deep() bool {
	return slices.ContainsFunc(w.Tasks, func(t *taskfile.Task) bool {
		_, nearest, err := w.far(t, w.Draws[0], 3, 4)
		return err == nil && nearest > 1
	})
}

// starts describes how far away the crawls began.
func (s *session) starts() string {
	tasks, fewest, err := s.w.nearer(3)
	switch {
	case err != nil:
		return fmt.Sprintf("how far is unknown: %v", err)
	case tasks == 0:
		return "all lie three or four links from a target"
	}
	return fmt.Sprintf("those of %d of %d tasks lie nearer than three links, down to %d", tasks, len(s.w.Tasks), fewest)
}

// samples describes how many targets there are to learn from, in the mean.
func (s *session) samples() string {
	var n []float64
	for _, t := range s.w.Tasks {
		n = append(n, float64(s.w.Environments[t].Samples()))
	}
	return fmt.Sprintf("graphs around %.0f", mean(n))
}

// window2000 is a sliding window, by label: the paper's own measure is that of the guide.
func (s *session) window2000(rankers []string) {
	w := s.w
	const window = 200
	t := Table{Columns: []string{"ranker", "by label, after half", "by label, at the end", "R, after half", "R, at the end"}}
	end := make(map[string]map[string][]float64)
	for _, r := range rankers {
		at := func(share float64, label bool) map[string][]float64 {
			return w.byTask(layers34, r, func(k crawlKey, c *experiment.Crawl) float64 {
				values := make([]float64, k.task.Budget)
				for i, step := range c.Steps {
					switch {
					case !label:
						values[i] = step.Raw
					case step.Target:
						values[i] = 1
					}
				}
				return harvest.MovingAverage(values, window)[int(share*float64(len(values)))-1]
			})
		}
		end[r] = at(1, true)
		t.row(r, num(overTasks(at(.5, true))), num(overTasks(end[r])), num(overTasks(at(.5, false))), num(overTasks(at(1, false))))
	}
	s.observe("2000", "Fig. 5", less(end[contextGraph], end[focused2000], 1), less(end[contextGraph], end[unfocused], 1))
	p := Part{Tables: []Table{t}}
	p.Found = fmt.Sprintf("over the last 200 pages %s of context graph's, %s of focused-2000's and %s of breadth first's are targets. The paper measures by the likelihood that guides the crawl; here it is done by label, and by another classifier.",
		percent(overTasks(end[contextGraph])), percent(overTasks(end[focused2000])), percent(overTasks(end[unfocused])))
	p.Why = fmt.Sprintf("Budgets of %s pages leave little beyond one window, and who finds targets early has fewer left at the end.", budgets(w))
	s.add("2000", "Fig. 5", p)
}

// backlinks2000 compares rankers with backlinks, if there are any.
func (s *session) backlinks2000() {
	asking := slices.DeleteFunc(slices.Clone(experiment.Rankers), func(r string) bool { return !strings.Contains(r, "backlink") })
	r := asking[0] // the index with all pages
	if err := s.crawls(s.w.every(layers34, append([]string{contextLinks, "focused-2000"}, asking...)...)); err != nil {
		s.missing("2000", "Fig. 6", err.Error())
		return
	}
	w := s.w
	auc := func(r string) map[string][]float64 {
		return w.byTask(layers34, r, func(k crawlKey, c *experiment.Crawl) float64 { return w.Environments[k.task].Measure(c).RequestAUC })
	}
	ahead := less(auc(r), auc(contextLinks), 1)
	s.observe("2000", "Fig. 6", ahead)
	t := Table{Columns: []string{"ranker", "AUC over requests", "targets in the best 20 pages running"}}
	for _, name := range append([]string{contextLinks}, asking...) {
		t.row(name, num(overTasks(auc(name))), num(overTasks(w.byTask(layers34, name, func(_ crawlKey, c *experiment.Crawl) float64 { return burst(c) }))))
	}
	shown, curves := []string{contextLinks, r, "focused-2000", unfocused}, [][]float64(nil)
	for _, name := range shown {
		curves = append(curves, w.curveOf(layers34, name, (*measure.Curve).Recall))
	}
	drawn := budgetChart("Targets found with and without backlinks, by pages without queries", "share of all targets", 1, lines(shown, curves...))
	p := Part{Tables: []Table{t}, Charts: []chart.Chart{drawn}, Found: fmt.Sprintf("in AUC over requests %s − %s is %+.3f.", r, contextLinks, overTasks(ahead))}
	p.Why = "A query is charged as a request here, and on a web of some thousand pages those that link to a target are mostly ones that the crawl has met."
	s.add("2000", "Fig. 6", p)
}

// burst returns the largest number of targets among 20 successive pages.
func burst(c *experiment.Crawl) float64 {
	const pages = 20
	most, now := 0, 0
	for i, step := range c.Steps {
		if step.Target {
			now++
		}
		if i >= pages && c.Steps[i-pages].Target {
			now--
		}
		most = max(most, now)
	}
	return float64(most)
}
