package papers

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"forager/internal/lab/experiment"
	"forager/internal/lab/measure"
	"forager/internal/lab/taskfile"
	"forager/internal/measure/chart"
	"forager/internal/measure/harvest"
	"forager/internal/rank/distill"
	"forager/internal/web/weburl"
)

const unfocused, soft, hard = "unfocused", experiment.Baseline, "hard-focus"

func (s *session) of1999() error {
	if err := s.crawls(s.w.every(asItIs, unfocused, soft, hard)); err != nil {
		return err
	}
	if err := s.crawls(s.w.every(disjoint, unfocused, soft)); err != nil {
		return err
	}
	s.harvest1999()
	s.overlap1999()
	return s.authorities1999()
}

// tail returns the mean R of a crawl's last hundred pages that count.
func tail(_ crawlKey, c *experiment.Crawl) float64 {
	var rs []float64
	for _, step := range c.Steps {
		if step.Counted {
			rs = append(rs, step.Raw)
		}
	}
	if len(rs) == 0 {
		return 0
	}
	return harvest.MovingAverage(rs, 100)[len(rs)-1]
}

func (s *session) harvest1999() {
	w := s.w
	t := Table{Columns: []string{"ranker", "R, first quarter", "R, whole budget", "R, last 100 pages", "targets by label, first quarter", "by label, whole budget", "share of the budget spent"}}
	var curves [][]float64
	rate, last := make(map[string]float64), make(map[string]float64)
	early, spentBy := make(map[string]float64), make(map[string]float64)
	quarters, tails := make(map[string]map[string][]float64), make(map[string]map[string][]float64)
	for _, r := range []string{unfocused, soft, hard} {
		spent := w.byTask(asItIs, r, func(k crawlKey, c *experiment.Crawl) float64 { return float64(len(c.Steps)) / float64(k.task.Budget) })
		spentBy[r] = overTasks(spent)
		quarters[r], tails[r] = w.after(.25, asItIs, r, (*measure.Curve).Rate), w.byTask(asItIs, r, tail)
		early[r], rate[r], last[r] = overTasks(quarters[r]), overTasks(w.after(1, asItIs, r, (*measure.Curve).Rate)), overTasks(tails[r])
		byLabel := func(share float64) string {
			return num(overTasks(w.after(share, asItIs, r, (*measure.Curve).LabelRate)))
		}
		t.row(r, num(early[r]), num(rate[r]), num(last[r]), byLabel(.25), byLabel(1), percent(spentBy[r]))
		curves = append(curves, w.curveOf(asItIs, r, (*measure.Curve).Rate))
	}
	p := Part{Tables: []Table{t}, Charts: []chart.Chart{budgetChart("Harvest rate by the critic", "mean R of the pages so far", 1, lines([]string{unfocused, soft, hard}, curves...))}}
	p.Found = fmt.Sprintf("of the first quarter's pages unfocused keeps %s relevant, soft focus %s, hard focus %s (by the critic; an early end is filled with zeros); of the last hundred pages %s, %s and %s.",
		percent(early[unfocused]), percent(early[soft]), percent(early[hard]), percent(last[unfocused]), percent(last[soft]), percent(last[hard]))
	s.observe("1999", "harvest rate", tails[unfocused], quarters[soft], less(quarters[soft], quarters[unfocused], 1))
	p.Why = fmt.Sprintf("The budgets are %s pages of a closed web, not thousands of an open one: of what a crawl without focus fetches the critic calls %s relevant, which bounds its fall; "+
		"soft focus has found %s of all targets by the end; hard focus ends after %s of its budget, as nothing is left that it may follow.",
		budgets(w), percent(rate[unfocused]), percent(s.w.recallOf(soft)), percent(spentBy[hard]))
	s.add("1999", "harvest rate", p)
}

// recallOf returns the share of all targets that a ranker's crawls find.
func (w *World) recallOf(ranker string) float64 {
	return overTasks(w.after(1, asItIs, ranker, (*measure.Curve).Recall))
}

// pages returns the number of pages that crawls of a task can fetch.
func (w *World) pages(t *taskfile.Task) int { return w.Environments[t].Pages() }

// budgets returns the range of the tasks' budgets.
func budgets(w *World) string {
	least, most := w.Tasks[0].Budget, w.Tasks[0].Budget
	for _, t := range w.Tasks {
		least, most = min(least, t.Budget), max(most, t.Budget)
	}
	if least == most {
		return fmt.Sprint(least)
	}
	return fmt.Sprintf("%d to %d", least, most)
}

func (s *session) overlap1999() {
	w := s.w
	t := Table{Columns: []string{"after", "soft focus: URLs in common", "unfocused: URLs", "by chance", "soft focus: servers in common", "unfocused: servers"}}
	urls, pairs := make(map[string]float64), make(map[string]map[string][]float64)
	var chance float64
	for _, share := range []float64{.25, .5, 1} {
		row := []string{percent(share) + " of the budget"}
		var servers []string
		for _, r := range []string{soft, unfocused} {
			pair := func(of func(string) string) map[string][]float64 {
				return w.byTask(disjoint, r, func(k crawlKey, c *experiment.Crawl) float64 {
					a, b := part(w.made[crawlKey{k.task, k.draw, r, asItIs}], k, share, of), part(c, k, share, of)
					return measure.Overlap(a, b)
				})
			}
			pairs[r] = pair(func(u string) string { return u })
			urls[r] = overTasks(pairs[r])
			row, servers = append(row, percent(urls[r])), append(servers, percent(overTasks(pair(weburl.Host))))
		}
		chance = overTasks(w.byTask(disjoint, soft, func(k crawlKey, c *experiment.Crawl) float64 {
			return float64(len(part(c, k, share, nil))) / float64(w.pages(k.task))
		}))
		t.row(append(append(row, percent(chance)), servers...)...)
	}
	s.observe("1999", "acquisition", pairs[soft], less(pairs[soft], pairs[unfocused], 1))
	p := Part{Tables: []Table{t}}
	p.Found = fmt.Sprintf("at the end two soft-focus crawls from disjoint seeds have %s of their pages in common, two unfocused ones %s; by chance it would be %s.",
		percent(urls[soft]), percent(urls[unfocused]), percent(chance))
	p.Why = fmt.Sprintf("On a closed web crawls must meet (by chance %s of the pages), and breadth first from the same hubs meets as well: the pair of unfocused crawls is at %s.",
		percent(chance), percent(urls[unfocused]))
	s.add("1999", "acquisition", p)
}

// part returns the set of the values of of for the pages in the first share of a crawl; the pages themselves if of is nil.
func part(c *experiment.Crawl, k crawlKey, share float64, of func(string) string) map[string]bool {
	set := make(map[string]bool)
	for _, step := range c.Steps[:min(len(c.Steps), int(share*float64(k.task.Budget)))] {
		if of == nil {
			set[step.URL] = true
		} else {
			set[of(step.URL)] = true
		}
	}
	return set
}

// topAuthorities is the number of authorities that are compared.
const topAuthorities = 25

// mostDistance is the last row of the table of distances.
const mostDistance = 12

func (s *session) authorities1999() error {
	w := s.w
	var all, agreed []float64
	farBy, agreedBy := make(map[string][]float64), make(map[string][]float64)
	edges, counts := 0, make([]int, mostDistance+1)
	for _, k := range w.every(disjoint, soft) {
		a, n, err := s.authorities(crawlKey{k.task, k.draw, soft, asItIs})
		if err != nil {
			return err
		}
		b, _, err := s.authorities(k)
		if err != nil {
			return err
		}
		edges += n
		servers := func(found map[string]int) map[string]bool {
			set := make(map[string]bool)
			for u := range found {
				set[weburl.Host(u)] = true
			}
			return set
		}
		if len(a) > 0 && len(b) > 0 {
			agreed = append(agreed, measure.Overlap(servers(a), servers(b)))
			agreedBy[k.task.Name] = append(agreedBy[k.task.Name], agreed[len(agreed)-1])
		}
		if len(a) > 0 {
			farBy[k.task.Name] = append(farBy[k.task.Name], beyond(slices.Collect(maps.Values(a))))
		}
		for _, d := range a {
			all = append(all, float64(d))
			counts[min(d, mostDistance)]++
		}
	}
	if len(all) == 0 {
		s.missing("1999", "distance", fmt.Sprintf("no page of its crawls is an authority: %d links lead from one host to another.", edges))
		return nil
	}
	t := Table{Columns: []string{"links from the seeds", "top authorities"}}
	for d, n := range counts {
		if n > 0 {
			name := fmt.Sprint(d)
			if d == mostDistance {
				name += " and more"
			}
			t.row(name, fmt.Sprint(n))
		}
	}
	slices.Sort(all)
	median, most := stat.Quantile(.5, stat.Empirical, all, nil), all[len(all)-1]
	far := beyond(all)
	s.observe("1999", "distance", farBy, agreedBy)
	p := Part{Tables: []Table{t}}
	p.Found = fmt.Sprintf("the top %d authorities of soft-focus crawls lie %.0f links from the seeds in the median, %.0f at most; %s lie more than two links away. Crawls from disjoint seeds have %s of their authorities' servers in common.",
		topAuthorities, median, most, percent(far), percent(mean(agreed)))
	p.Why = fmt.Sprintf("A crawl of this web has %.0f links between hosts on average to find authorities by, and its pages lie close together.", float64(edges)/float64(max(1, len(agreed))))
	s.add("1999", "distance", p)
	return nil
}

// beyond returns the share of distances of more than two links.
func beyond[D int | float64](distances []D) float64 {
	n := 0
	for _, d := range distances {
		if d > 2 {
			n++
		}
	}
	return float64(n) / float64(len(distances))
}

func mean(x []float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	return stat.Mean(x, nil)
}

// authorities returns the top authorities of a crawl with their distances from its seeds, through pages of the crawl, and
// the number of links that counted. Sites are hosts.
func (s *session) authorities(k crawlKey) (map[string]int, int, error) {
	g, c := s.w.Environments[k.task], s.w.made[k]
	number, sites := make(map[string]uint32, len(c.Steps)), make(map[string]uint32)
	var pages []distill.Page
	for _, step := range c.Steps {
		number[step.URL] = uint32(len(pages))
		host := weburl.Host(step.URL)
		if _, ok := sites[host]; !ok {
			sites[host] = uint32(len(sites))
		}
		pages = append(pages, distill.Page{Site: sites[host], R: step.Raw})
	}
	out := make([][]uint32, len(pages))
	for i, step := range c.Steps {
		rec, err := g.Verdict(s.ctx, step.URL)
		if err != nil {
			return nil, 0, err
		}
		for _, l := range rec.GetLinks() {
			if to, ok := number[g.Resolve(l.GetUrl())]; ok {
				out[i] = append(out[i], to)
			}
		}
	}
	ranking, err := distill.Rank(pages, func(yield func(distill.Link, error) bool) {
		for from, list := range out {
			for _, to := range list {
				if !yield(distill.Link{From: uint32(from), To: to}, nil) {
					return
				}
			}
		}
	}, distill.Default)
	if err != nil {
		return nil, 0, err
	}
	var seeds []uint32
	for n := range min(s.seeds(k), len(pages)) {
		seeds = append(seeds, uint32(n))
	}
	distance := experiment.Hops(out, seeds)
	found := make(map[string]int)
	for _, a := range ranking.Authorities[:min(topAuthorities, len(ranking.Authorities))] {
		if d := distance[a.Page]; d >= 0 && a.Score > 0 {
			found[c.Steps[a.Page].URL] = d
		}
	}
	return found, ranking.Edges, nil
}

// seeds returns the number of seeds of a crawl; they are its first pages.
func (s *session) seeds(k crawlKey) int {
	if k.how == disjoint {
		return len(s.w.others(k.task, k.draw))
	}
	return len(k.task.Seeds[k.draw])
}
