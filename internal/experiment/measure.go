package experiment

// Measures are what one crawl is worth, by human labels and by the critic.
type Measures struct {
	// Pages delivered, requests charged, and why the crawl ended.
	Pages     int    `json:"pages"`
	Requests  uint64 `json:"requests"`
	EndReason string `json:"end_reason"`
	// HarvestLabel is the share of targets among the counted pages of the first 25, 50 and 100 %
	// of the budget; an early end is filled with pages that are no targets.
	HarvestLabel [3]float64 `json:"harvest_label"`
	// HarvestCritic is the mean of R over the same pages, filled with zeros.
	HarvestCritic [3]float64 `json:"harvest_critic"`
	// Loss is Σ(1 − R) over the counted pages of the first 25 and 100 % of the budget, pages.
	Loss [2]float64 `json:"loss"`
	// Recall is the share of the task's targets that was found, AUC its mean over the budget.
	Recall float64 `json:"recall"`
	AUC    float64 `json:"auc"`
}

// Measure judges a crawl of the task.
func (g *Ground) Measure(c *Crawl) Measures {
	m := Measures{Pages: len(c.Steps), Requests: c.Requests, EndReason: c.EndReason}
	budget := int(g.task.Budget)
	marks := [3]int{budget / 4, budget / 2, budget}
	var counted, found, area int
	var relevance, loss float64
	for n := 1; n <= budget; n++ {
		if n <= len(c.Steps) {
			s := c.Steps[n-1]
			if s.Counted {
				counted++
				relevance += s.Raw
				loss += 1 - s.Raw
				if s.Target {
					found++
				}
			}
		} else {
			counted++
			loss++
		}
		area += found
		for i, at := range marks {
			if n == at && counted > 0 {
				m.HarvestLabel[i] = float64(found) / float64(counted)
				m.HarvestCritic[i] = relevance / float64(counted)
			}
		}
		if n == marks[0] {
			m.Loss[0] = loss
		}
	}
	m.Loss[1] = loss
	if t := len(g.targets); t > 0 {
		m.Recall = float64(found) / float64(t)
		m.AUC = float64(area) / float64(t) / float64(budget)
	}
	return m
}
