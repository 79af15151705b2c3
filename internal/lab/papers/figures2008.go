package papers

import (
	"fmt"
	"strings"

	"forager/internal/lab/experiment"
	"forager/internal/lab/measure"
	"forager/internal/measure/chart"
)

const bestFirst, memm = "best-first-cosine", "memm-"

// gamma is the index in experiment.Gammas of the cosine of a page on topic.
const gamma = 2

func (s *session) of2008() error {
	w := s.w
	if w.Synthetic {
		return nil
	}
	if !w.deep() {
		s.missing("2008", "Figs 2 and 3", "its pages lie one link from a target, so that there are no starts four links away.")
		return nil
	}
	if w.MEMM == 0 {
		const why = "MEMMs were left out of this run: they are trained for each task, which takes longer than all else."
		s.missing("2008", "Figs 2 and 3", why)
		s.missing("2008", "Fig. 4", why)
		return nil
	}
	s.w = w.some(w.MEMM)
	defer func() { s.w = w }()
	w = s.w
	rankers := []string{bestFirst}
	for _, r := range experiment.Rankers {
		if strings.HasPrefix(r, memm) && !strings.HasPrefix(r, memm+"marginal-") {
			rankers = append(rankers, r)
		}
	}
	if err := s.crawls(w.every(layer4, rankers...)); err != nil {
		return err
	}
	return s.precision2008(rankers)
}

func (s *session) precision2008(rankers []string) error {
	w := s.w
	t := Table{Columns: []string{"ranker", "cosine ≥ .5", "≥ .6", "≥ .7", "≥ .8", "σ", "targets by label, whole budget", "AUC by label"}}
	near, label := make(map[string]map[string][]float64), make(map[string]map[string][]float64)
	var curves [][]float64
	for _, r := range rankers {
		similar, err := w.similar(layer4, r)
		if err != nil {
			return err
		}
		row := []string{r}
		for i := range experiment.Gammas {
			row = append(row, num(overTasks(w.byTask(layer4, r, func(k crawlKey, _ *experiment.Crawl) float64 { return similar[k].Precision[i] }))))
		}
		near[r] = w.byTask(layer4, r, func(k crawlKey, _ *experiment.Crawl) float64 { return similar[k].Precision[gamma] })
		label[r] = w.after(1, layer4, r, auc)
		t.row(append(row, num(overTasks(w.byTask(layer4, r, func(k crawlKey, _ *experiment.Crawl) float64 { return similar[k].Sigma }))),
			num(overTasks(w.after(1, layer4, r, (*measure.Curve).LabelRate))), num(overTasks(label[r])))...)
		curves = append(curves, w.curveOf(layer4, r, (*measure.Curve).Recall))
	}
	p := Part{Tables: []Table{t}, Charts: []chart.Chart{budgetChart("Targets found from four links away", "share of all targets", 1, lines(rankers, curves...))}}
	marginal, viterbi := memm+"marginal", memm+"viterbi"
	var found []string
	var claims []map[string][]float64
	for _, other := range []string{bestFirst, viterbi} {
		d, byLabel := less(near[marginal], near[other], 1), less(label[marginal], label[other], 1)
		above, below := count(d)
		found = append(found, fmt.Sprintf("%s finds more pages of cosine ≥ %.1f than %s on %d of %d tasks (fewer on %d); in AUC by label the difference is %+.3f",
			marginal, experiment.Gammas[gamma], other, above, len(d), below, overTasks(byLabel)))
		claims = append(claims, d)
	}
	s.observe("2008", "Figs 2 and 3", claims...)
	p.Found = strings.Join(found, "; ") + "."
	p.Why = fmt.Sprintf("Of the starts %s, and the sequences that teach come from sites other than the one that is crawled, whose pages are written otherwise.", s.startsAt4())
	s.add("2008", "Figs 2 and 3", p)
	return s.subsets2008(marginal)
}

// similar returns the similarity of each crawl of a ranker to the targets.
func (w *World) similar(how how, ranker string) (map[crawlKey]*experiment.Similarity, error) {
	all := make(map[crawlKey]*experiment.Similarity)
	for _, k := range w.every(how, ranker) {
		one, err := w.Environments[k.task].Similarity(w.made[k])
		if err != nil {
			return nil, err
		}
		all[k] = one
	}
	return all, nil
}

func (s *session) startsAt4() string {
	nearer, _, err := s.w.nearer(4)
	if err != nil {
		return fmt.Sprintf("how far is unknown: %v", err)
	}
	return fmt.Sprintf("those of %d of %d tasks lie nearer than four links from a target, as fewer than %d pages lie so far", nearer, len(s.w.Tasks), starts)
}

// count returns on how many tasks the mean of some differences is above and below 0.
func count(byTask map[string][]float64) (above, below int) {
	for _, draws := range byTask {
		switch d := mean(draws); {
		case d > 0:
			above++
		case d < 0:
			below++
		}
	}
	return above, below
}

// some returns the world with so many of its tasks, evenly spread.
func (w *World) some(n int) *World {
	n = min(n, len(w.Tasks))
	few := &World{Name: w.Name, Environments: w.Environments, Draws: w.Draws}
	for i := range n {
		few.Tasks = append(few.Tasks, w.Tasks[i*len(w.Tasks)/n])
	}
	return few
}

// subsets2008 compares all observations with the rankers that have some of them.
func (s *session) subsets2008(all string) error {
	subsets := []string{all + "-words", all + "-rest"}
	few := s.w
	if err := s.crawls(few.every(layer4, subsets...)); err != nil {
		return err
	}
	var names []string
	for _, t := range few.Tasks {
		names = append(names, t.Name)
	}
	t := Table{Columns: []string{"observed", "cosine ≥ .7", "targets by label, whole budget", "AUC by label", "tasks with fewer pages of cosine ≥ .7 than all", "with more"}}
	near := make(map[string]map[string][]float64)
	above, pairs, best, most := 0, 0, "", 0
	var claims []map[string][]float64
	for _, r := range append([]string{all}, subsets...) {
		similar, err := few.similar(layer4, r)
		if err != nil {
			return err
		}
		near[r] = few.byTask(layer4, r, func(k crawlKey, _ *experiment.Crawl) float64 { return similar[k].Precision[gamma] })
		d := less(near[all], near[r], 1)
		over, under := count(d)
		t.row(r, num(overTasks(near[r])), num(overTasks(few.after(1, layer4, r, (*measure.Curve).LabelRate))), num(overTasks(few.after(1, layer4, r, auc))), fmt.Sprint(over), fmt.Sprint(under))
		if r == all {
			continue
		}
		claims = append(claims, d)
		above, pairs = above+over, pairs+len(d)
		if under >= most {
			best, most = r, under
		}
	}
	s.observe("2008", "Fig. 4", claims...)
	p := Part{
		Tables: []Table{t},
		Found:  fmt.Sprintf("on %s, all features find more pages of cosine ≥ .7 than some of them in %d of %d comparisons.", words(names), above, pairs),
	}
	p.Why = fmt.Sprintf("%s finds more than all features on %d of %d tasks: what the features left out learn of the sites that taught does not hold on the one that is crawled.", best, most, len(few.Tasks))
	s.add("2008", "Fig. 4", p)
	return nil
}
