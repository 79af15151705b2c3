package papers

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat"

	"forager/internal/lab/experiment"
	"forager/internal/lab/measure"
	"forager/internal/measure/chart"
	"forager/internal/rank/apprentice"
	"forager/internal/rank/linkfeature"
)

const online, gated, taught = "apprentice", "apprentice-gated", "apprentice-taught"

// controls of the gate: its effect without features.
var controls = []string{"gate-fifo", "gate-random"}

// crawls2002 runs the crawls of Figs 10 to 14.
func (s *session) crawls2002() error {
	w := s.w
	rankers := append([]string{soft, online, gated}, controls...)
	rankers = append(rankers, taught)
	if s.transfers() {
		rankers = append(rankers, transferred)
	}
	keys := append(w.every(asItIs, rankers...), w.every(recall, taught)...)
	if err := s.crawls(append(keys, w.every(switched, online)...)); err != nil {
		return err
	}
	s.figure10()
	s.figure11()
	s.figure12()
	if err := s.figure13(); err != nil {
		return err
	}
	s.figure14()
	return nil
}

// transfers reports whether a model of another site, or another synthetic web, is available.
func (s *session) transfers() bool {
	return s.w.Prior != nil || !s.w.Synthetic && s.w.Environments[s.w.Tasks[0]].Refuses(transferred, nil) == nil
}

func (s *session) figure10() {
	w := s.w
	p := Part{}
	cuts, cutBy := make(map[string][2]float64), make(map[string][2]map[string][]float64)
	protocols := []struct {
		title   string
		rankers []string
	}{
		{"Protocol P: a first crawl of the same seeds taught it and is not charged.", append([]string{soft, taught}, controls...)},
		{"Protocol C: every page is charged.", append([]string{soft, online, gated}, controls...)},
		{"Protocol T: other sites taught it.", append([]string{soft, transferred}, controls...)},
	}
	if !s.transfers() {
		protocols = protocols[:2]
		s.missing("2002", "Fig. 10", "protocol T: it has no other site to learn from.")
	} else if w.Synthetic {
		protocols[2].title = "Protocol T: another synthetic web taught it."
	}
	for _, protocol := range protocols {
		t := Table{Title: protocol.title, Columns: []string{"ranker", "loss rate at 25 %", "at 100 %", "loss cut at 25 %", "at 100 %", "targets by label at 25 %", "pages that soft focus has fetched, too"}}
		var curves [][]float64
		for _, r := range protocol.rankers {
			early, late := w.lossCut(asItIs, r, .25), w.lossCut(asItIs, r, 1)
			cuts[r], cutBy[r] = [2]float64{overTasks(early), overTasks(late)}, [2]map[string][]float64{early, late}
			at := func(share float64, of func(*measure.Curve, int) float64) string {
				return num(overTasks(w.after(share, asItIs, r, of)))
			}
			t.row(r, at(.25, (*measure.Curve).LossRate), at(1, (*measure.Curve).LossRate), percent(cuts[r][0]), percent(cuts[r][1]), at(.25, (*measure.Curve).LabelRate), percent(s.w.shared(r)))
			curves = append(curves, w.curveOf(asItIs, r, (*measure.Curve).LossRate))
		}
		p.Tables = append(p.Tables, t)
		if len(p.Charts) == 0 {
			p.Charts = []chart.Chart{budgetChart("Loss rate, protocol P", "share of pages off topic", 1, lines(protocol.rankers, curves...))}
		}
	}
	control := math.Max(cuts[controls[0]][0], cuts[controls[1]][0])
	s.observe("2002", "Fig. 10", cutBy[taught][0], cutBy[taught][1], less(cutBy[taught][0], cutBy[controls[0]][0], 1))
	p.Found = fmt.Sprintf("under protocol P the gated apprentice cuts soft focus's loss by %s in the first quarter of the budget and by %s in all of it; the better of the gate's controls cuts %s in the first quarter, so the features' own part is %+.0f points. Under protocol C the gated apprentice cuts %s and %s.",
		percent(cuts[taught][0]), percent(cuts[taught][1]), percent(control), 100*(cuts[taught][0]-control), percent(cuts[gated][0]), percent(cuts[gated][1]))
	if c, ok := cuts[transferred]; ok {
		p.Found += fmt.Sprintf(" Under protocol T it cuts %s and %s.", percent(c[0]), percent(c[1]))
	}
	p.Why = fmt.Sprintf("Of the pages that the taught apprentice fetches %s are those of the first crawl, which is not charged. With the whole budget targets run out (the apprentice has found %s of all there are), and the loss that is left is the same for all; the paper's web had no end.",
		percent(s.w.shared(taught)), percent(s.w.recallOf(taught)))
	s.add("2002", "Fig. 10", p)
}

func (s *session) figure11() {
	w := s.w
	t := Table{Columns: []string{"after", "both", "baseline only", "apprentice only", "both, by chance"}}
	var both, chance float64
	var bothBy map[string][]float64
	for _, share := range []float64{.25, 1} {
		pies := func(of func(a, b map[string]bool, scope float64) float64) map[string][]float64 {
			return w.byTask(asItIs, taught, func(k crawlKey, c *experiment.Crawl) float64 {
				base := w.made[crawlKey{k.task, k.draw, soft, asItIs}]
				return of(part(base, k, share, nil), part(c, k, share, nil), float64(w.pages(k.task)))
			})
		}
		pie := func(of func(a, b map[string]bool, scope float64) float64) float64 { return overTasks(pies(of)) }
		common := func(a, b map[string]bool) float64 { return measure.Overlap(a, b) * float64(len(a)) }
		bothBy = pies(func(a, b map[string]bool, _ float64) float64 {
			x := common(a, b)
			return x / math.Max(1, float64(len(a)+len(b))-x)
		})
		both = overTasks(bothBy)
		only := func(first bool) float64 {
			return pie(func(a, b map[string]bool, _ float64) float64 {
				x, one := common(a, b), float64(len(a))
				if !first {
					one = float64(len(b))
				}
				return (one - x) / math.Max(1, float64(len(a)+len(b))-x)
			})
		}
		chance = pie(func(a, b map[string]bool, scope float64) float64 {
			x := float64(len(a)) * float64(len(b)) / scope
			return x / math.Max(1, float64(len(a)+len(b))-x)
		})
		t.row(percent(share)+" of the budget", percent(both), percent(only(true)), percent(only(false)), percent(chance))
	}
	s.observe("2002", "Fig. 11", bothBy)
	p := Part{Tables: []Table{t}}
	p.Found = fmt.Sprintf("at the end %s of the URLs that soft focus or the taught apprentice fetched were fetched by both; by chance it would be %s.", percent(both), percent(chance))
	p.Why = fmt.Sprintf("On a closed web of which a budget is a quarter two crawls that look for the same pages must meet: %s by chance alone, and the %s of pages that are targets are wanted by both.", percent(chance), percent(s.targetShare()))
	s.add("2002", "Fig. 11", p)
}

func (s *session) figure12() {
	w := s.w
	t := Table{Columns: []string{"share of the budget", "baseline", "recall crawler", "free apprentice"}}
	// Loss as a share of the baseline's whole loss.
	at := func(how how, ranker string, share float64) map[string][]float64 {
		return w.byTask(how, ranker, func(k crawlKey, c *experiment.Crawl) float64 {
			base := w.Environments[k.task].Curve(w.made[crawlKey{k.task, k.draw, soft, asItIs}])
			return w.Environments[k.task].Curve(c).Loss(int(share*float64(k.task.Budget))) / math.Max(1e-9, base.Loss(base.Budget()))
		})
	}
	below := true
	var quarter [3]float64
	for _, share := range []float64{.1, .25, .5, .75, 1} {
		byBase, byRecall, byFree := at(asItIs, soft, share), at(recall, taught, share), at(asItIs, taught, share)
		b, r, a := overTasks(byBase), overTasks(byRecall), overTasks(byFree)
		t.row(percent(share), num(b), num(r), num(a))
		if share == .25 {
			quarter = [3]float64{b, r, a}
			s.observe("2002", "Fig. 12", less(byBase, byRecall, 1), less(byRecall, byFree, 1))
		}
		below = below && (r < b || share == 1)
	}
	p := Part{Tables: []Table{t}}
	p.Found = fmt.Sprintf("after a quarter of the budget the baseline has lost %s of its whole loss, the recall crawler %s and the free apprentice %s.", num(quarter[0]), num(quarter[1]), num(quarter[2]))
	p.Why = fmt.Sprintf("Free and held apprentice have learnt from the same crawl, and %s of the free one's pages are that crawl's: there is little difference between them.", percent(s.w.shared(taught)))
	if !below {
		p.Why += " Behind its gate the recall crawler puts off links of pages below the threshold, also those that the baseline followed."
	}
	s.add("2002", "Fig. 12", p)
}

// shared returns the share of a ranker's pages that soft focus has, too.
func (w *World) shared(ranker string) float64 {
	return overTasks(w.byTask(asItIs, ranker, func(k crawlKey, c *experiment.Crawl) float64 {
		return measure.Overlap(part(c, k, 1, nil), part(w.made[crawlKey{k.task, k.draw, soft, asItIs}], k, 1, nil))
	}))
}

// figure13 describes the frontier when the apprentice takes over, after a quarter of the budget.
func (s *session) figure13() error {
	w := s.w
	const bins = 10
	var baseline, apprentices, truth [bins]float64
	var b, a, r, missB, missA []float64
	optimistic, lower, nearer := make(map[string][]float64), make(map[string][]float64), make(map[string][]float64)
	for _, t := range w.Tasks { // one task at a time: evidence is large
		k := crawlKey{t, w.Draws[0], soft, kept}
		if err := s.crawls([]crawlKey{k}); err != nil {
			return err
		}
		frontier, err := s.frontier(k)
		if err != nil {
			return err
		}
		delete(w.made, k)
		before := len(b)
		for _, x := range frontier {
			bin := func(v float64) int { return min(bins-1, int(v*bins)) }
			baseline[bin(x.baseline)]++
			apprentices[bin(x.apprentice)]++
			truth[bin(x.truth)]++
			b, a, r = append(b, x.baseline), append(a, x.apprentice), append(r, x.truth)
			missB, missA = append(missB, math.Abs(x.baseline-x.truth)), append(missA, math.Abs(x.apprentice-x.truth))
		}
		if len(frontier) > 0 {
			here := func(x []float64) float64 { return mean(x[before:]) }
			optimistic[t.Name] = []float64{here(b) - here(r)}
			lower[t.Name] = []float64{here(b) - here(a)}
			nearer[t.Name] = []float64{here(missB) - here(missA)}
		}
	}
	if len(b) == 0 {
		s.missing("2002", "Fig. 13", "its frontiers are empty after a quarter of the budget.")
		return nil
	}
	t := Table{Title: "(a) unvisited pages of the frontier by what is expected of them, and by what they are", Columns: []string{"R from", "baseline", "apprentice", "what they are"}}
	n := float64(len(b))
	for i := range bins {
		t.row(fmt.Sprintf("%.1f", float64(i)/bins), num(baseline[i]/n), num(apprentices[i]/n), num(truth[i]/n))
	}
	beforeBy, afterBy, restBy := s.rates()
	before, after, rest := overTasks(beforeBy), overTasks(afterBy), overTasks(restBy)
	rates := Table{Title: "(b) loss rate, by the critic", Columns: []string{"crawl", "in the quarter before", "in the quarter after"}}
	rates.row("baseline goes on", num(before), num(rest))
	rates.row("apprentice takes over", num(before), num(after))
	s.observe("2002", "Fig. 13", optimistic, lower, nearer, less(restBy, afterBy, 1))
	p := Part{
		Tables: []Table{t, rates},
		Charts: []chart.Chart{budgetChart("Loss rate when the apprentice takes over at 25 %", "share of pages off topic", 1,
			lines([]string{soft, "apprentice from 25 %"}, w.curveOf(asItIs, soft, (*measure.Curve).LossRate), w.curveOf(switched, online, (*measure.Curve).LossRate)))},
	}
	p.Found = fmt.Sprintf("of the frontier the baseline expects a mean R of %s, the apprentice %s; it is %s. The mean error is %s for the baseline and %s for the apprentice. In the quarter after the change the loss rate is %s, that of a baseline that goes on %s.",
		num(stat.Mean(b, nil)), num(stat.Mean(a, nil)), num(stat.Mean(r, nil)), num(stat.Mean(missB, nil)), num(stat.Mean(missA, nil)), num(after), num(rest))
	p.Why = fmt.Sprintf("The apprentice has learnt from a quarter of a budget of %s pages. %s of its estimates are nearer than .1 to an end, since naive Bayes takes words for independent and of several links to a page the largest estimate counts: "+
		"they order links, but are no probabilities. It ranks without a gate here, as in the paper's §3.7.", budgets(w), percent((apprentices[0]+apprentices[bins-1])/n))
	s.add("2002", "Fig. 13", p)
	return nil
}

// rates returns the loss rates in the quarter of the budget before the apprentice takes over, in the one after, and in that
// one for a baseline that goes on.
func (s *session) rates() (before, after, rest map[string][]float64) {
	w := s.w
	window := func(how how, ranker string, from, to float64) map[string][]float64 {
		return w.byTask(how, ranker, func(k crawlKey, c *experiment.Crawl) float64 {
			curve, budget := w.Environments[k.task].Curve(c), float64(k.task.Budget)
			m, n := int(from*budget), int(to*budget)
			lost, counted := curve.Loss(n)-curve.Loss(m), curve.Counted(n)-curve.Counted(m)
			return lost / math.Max(1, float64(counted))
		})
	}
	return window(switched, online, 0, .25), window(switched, online, .25, .5), window(asItIs, soft, .25, .5)
}

func (s *session) figure14() {
	beforeBy, afterBy, restBy := s.rates()
	before, after, rest := overTasks(beforeBy), overTasks(afterBy), overTasks(restBy)
	s.observe("2002", "Fig. 14", less(afterBy, beforeBy, .5))
	t := Table{Columns: []string{"", "loss rate"}}
	t.row("before", num(before))
	t.row("after the apprentice took over", num(after))
	t.row("after, had the baseline gone on", num(rest))
	p := Part{Tables: []Table{t}}
	p.Found = fmt.Sprintf("the loss rate goes from %s to %s; the baseline's goes to %s.", num(before), num(after), num(rest))
	p.Why = fmt.Sprintf("Targets are %s of the pages here: the loss rate of any crawl stays high, and rises as they run out.", percent(s.targetShare()))
	s.add("2002", "Fig. 14", p)
}

// prospect is an unvisited page of a frontier.
type prospect struct{ baseline, apprentice, truth float64 }

// frontier returns that of a soft-focus crawl after a quarter of its budget, with the predictions of the baseline and of an
// apprentice trained on the crawl so far for each page, and its relevance.
func (s *session) frontier(k crawlKey) ([]prospect, error) {
	g, c := s.w.Environments[k.task], s.w.made[k]
	n := min(len(c.Steps), int(k.task.Budget/4))
	visited := make(map[string]bool, n)
	for _, step := range c.Steps[:n] {
		visited[step.URL] = true
	}
	counts := apprentice.NewCounts()
	for _, l := range c.Settled() {
		if l.GetTrains() && !l.GetBoundary() && l.GetPages() <= uint64(n) {
			if err := counts.Add(l.GetFeatures(), l.GetTargetRaw()); err != nil {
				return nil, err
			}
		}
	}
	if counts.Leaps() == 0 {
		return nil, nil
	}
	model := counts.Model()
	at := make(map[string]int)
	var all []prospect
	for _, step := range c.Steps[:n] {
		rec, err := g.Verdict(s.ctx, step.URL)
		if err != nil {
			return nil, err
		}
		table, err := linkfeature.Open(rec.GetTable())
		if err != nil {
			return nil, err
		}
		for _, l := range rec.GetLinks() {
			v := g.Resolve(l.GetUrl())
			if v == "" || visited[v] {
				continue
			}
			target, err := g.Verdict(s.ctx, v)
			if err != nil {
				return nil, err
			}
			if target.GetJudgement() == nil {
				continue
			}
			i, known := at[v]
			if !known {
				i = len(all)
				at[v] = i
				all = append(all, prospect{truth: target.GetJudgement().GetRaw()})
			}
			all[i].baseline = math.Max(all[i].baseline, step.Raw)
			all[i].apprentice = math.Max(all[i].apprentice, model.Value(model.Score(table.Features(l, Reach))))
		}
	}
	return all, nil
}
