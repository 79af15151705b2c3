package experiment

import (
	"slices"

	"forager/internal/lab/measure"
	"forager/internal/web/weburl"
)

// Course is a crawl along its budget: for tables of curves, and for comparing the pages that two crawls fetched.
type Course struct {
	// After 0, 1, … 100 % of the budget (rounded down to pages): targets found; loss rate, [0,1], 0 while no page counts;
	// requests made; bytes of the pages' bodies. After an early end the targets found stay the same, and the loss
	// continues, as in package measure.
	Found    []int     `json:"found,omitempty"`
	LossRate []float64 `json:"loss_rate,omitempty"`
	Requests []uint64  `json:"requests,omitempty"`
	Bytes    []uint64  `json:"bytes,omitempty"`
	// Pages delivered, in order, as indices into the sorted URLs in scope (Ground.URLs).
	Pages []uint32 `json:"pages,omitempty"`
}

// coursePoints is the number of points of a course after the first.
const coursePoints = 100

// course computes that of a crawl.
func (g *Ground) course(c *Crawl) Course {
	curve := g.Curve(c)
	var course Course
	for k := range coursePoints + 1 {
		n := curve.Budget() * k / coursePoints
		course.Found = append(course.Found, curve.Found(n))
		course.LossRate = append(course.LossRate, curve.LossRate(n))
		var requests, bytes uint64
		if have := min(n, len(c.Steps)); have > 0 {
			requests, bytes = c.Steps[have-1].Requests, c.Steps[have-1].Bytes
		}
		course.Requests, course.Bytes = append(course.Requests, requests), append(course.Bytes, bytes)
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

// bytesOf returns the size of a crawl's pages.
func bytesOf(c *Crawl) uint64 {
	if len(c.Steps) == 0 {
		return 0
	}
	return c.Steps[len(c.Steps)-1].Bytes
}

// Curve returns the measures of a crawl after each page.
func (g *Ground) Curve(c *Crawl) *measure.Curve {
	pages := make([]measure.Page, len(c.Steps))
	for i, s := range c.Steps {
		pages[i] = measure.Page{Relevance: s.Raw, Target: s.Target, Ignored: !s.Counted}
	}
	return measure.NewCurve(pages, int(g.task.Budget), len(g.targets))
}

// Reaching returns the pages that a crawl delivered and the redirects in scope that lead to them, sorted, for Run.Within of
// another crawl.
func (g *Ground) Reaching(c *Crawl) []string {
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
