package experiment

import (
	"slices"

	"forager/internal/lab/measure"
	"forager/internal/web/weburl"
)

// Measures of one crawl, by human labels and by the critic.
type Measures struct {
	// Pages delivered, requests charged, and why the crawl ended.
	Pages     int    `json:"pages"`
	Requests  uint64 `json:"requests"`
	EndReason string `json:"end_reason"`
	// HarvestLabel is the share of targets among the counted pages of the first 25, 50 and 100 % of the budget; an early
	// end is filled with pages that are no targets.
	HarvestLabel [3]float64 `json:"harvest_label"`
	// HarvestCritic is the mean of R over the same pages, filled with zeros.
	HarvestCritic [3]float64 `json:"harvest_critic"`
	// Loss is Σ(1 − R) over the counted pages of the first 25 and 100 % of the budget, pages.
	Loss [2]float64 `json:"loss"`
	// Recall is the share of the task's targets that was found, AUC its mean over the budget.
	Recall float64 `json:"recall"`
	AUC    float64 `json:"auc"`
	// RequestAUC is AUC by requests instead of pages, over as many requests as the budget has pages.
	RequestAUC float64 `json:"request_auc"`
	// TargetHosts is the number of hosts of which a target was found; Bytes the size of the
	// bodies of all pages delivered.
	TargetHosts int    `json:"target_hosts"`
	Bytes       uint64 `json:"bytes"`
}

// Measure computes the measures of a crawl of the environment.
func (g *Environment) Measure(c *Crawl) Measures {
	curve := g.Curve(c)
	budget := curve.Budget()
	m := Measures{
		Pages: len(c.Steps), Requests: c.Requests, EndReason: c.EndReason,
		Loss:   [2]float64{curve.Loss(budget / 4), curve.Loss(budget)},
		Recall: curve.Recall(budget), AUC: curve.AUC(), RequestAUC: g.requestAUC(c), TargetHosts: targetHosts(c), Bytes: c.after(len(c.Steps)).Bytes,
	}
	for i, n := range []int{budget / 4, budget / 2, budget} {
		m.HarvestLabel[i], m.HarvestCritic[i] = curve.LabelRate(n), curve.Rate(n)
	}
	return m
}

// requestAUC returns the mean share of the targets found after 1, 2, … budget requests.
func (g *Environment) requestAUC(c *Crawl) float64 {
	if len(g.targets) == 0 {
		return 0
	}
	var area float64
	for _, s := range c.Steps {
		if s.Target && s.Counted && s.Requests <= g.task.Budget {
			area += float64(g.task.Budget - s.Requests + 1)
		}
	}
	return area / float64(len(g.targets)) / float64(g.task.Budget)
}

// Shape is a crawl along its budget: for tables of curves, and for comparing the pages that two crawls fetched.
type Shape struct {
	// After 0, 1, … 100 % of the budget (rounded down to pages): targets found; loss rate, [0,1], 0 while no page counts;
	// requests made; bytes of the pages' bodies. After an early end the targets found stay the same, and the loss
	// continues, as in package measure.
	Found    []int     `json:"found,omitempty"`
	LossRate []float64 `json:"loss_rate,omitempty"`
	Requests []uint64  `json:"requests,omitempty"`
	Bytes    []uint64  `json:"bytes,omitempty"`
	// Pages delivered, in order, as indices into the sorted URLs in scope (Environment.URLs).
	Pages []uint32 `json:"pages,omitempty"`
}

// coursePoints is the number of points of a course after the first.
const coursePoints = 100

// shape computes that of a crawl.
func (g *Environment) shape(c *Crawl) Shape {
	curve := g.Curve(c)
	var course Shape
	for k := range coursePoints + 1 {
		n := curve.Budget() * k / coursePoints
		course.Found = append(course.Found, curve.Found(n))
		course.LossRate = append(course.LossRate, curve.LossRate(n))
		last := c.after(n)
		course.Requests, course.Bytes = append(course.Requests, last.Requests), append(course.Bytes, last.Bytes)
	}
	for _, s := range c.Steps {
		i, _ := slices.BinarySearch(g.urls, s.URL)
		course.Pages = append(course.Pages, uint32(i))
	}
	return course
}

// targetHosts returns the number of hosts of which a crawl found a target.
func targetHosts(c *Crawl) int {
	hosts := make(map[string]bool)
	for _, s := range c.Steps {
		if s.Target {
			hosts[weburl.Host(s.URL)] = true
		}
	}
	return len(hosts)
}

// after returns the last of the first n steps; the zero Step if there is none.
func (c *Crawl) after(n int) (s Step) {
	if n = min(n, len(c.Steps)); n > 0 {
		s = c.Steps[n-1]
	}
	return s
}

// Curve returns the measures of a crawl after each page.
func (g *Environment) Curve(c *Crawl) *measure.Curve {
	pages := make([]measure.Page, len(c.Steps))
	for i, s := range c.Steps {
		pages[i] = measure.Page{Relevance: s.Raw, Target: s.Target, Ignored: !s.Counted}
	}
	return measure.NewCurve(pages, int(g.task.Budget), len(g.targets))
}

// Reaching returns the pages that a crawl delivered and the redirects in scope that lead to them, sorted, for Run.Within of
// another crawl.
func (g *Environment) Reaching(c *Crawl) []string {
	delivered := make(map[string]bool, len(c.Steps))
	for _, s := range c.Steps {
		delivered[s.URL] = true
	}
	var urls []string
	for _, u := range g.urls {
		if delivered[g.resolve(u)] {
			urls = append(urls, u)
		}
	}
	return urls
}
