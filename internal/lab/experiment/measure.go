package experiment

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

// Measure computes the measures of a crawl of the ground.
func (g *Ground) Measure(c *Crawl) Measures {
	curve := g.Curve(c)
	budget := curve.Budget()
	m := Measures{
		Pages: len(c.Steps), Requests: c.Requests, EndReason: c.EndReason,
		Loss:   [2]float64{curve.Loss(budget / 4), curve.Loss(budget)},
		Recall: curve.Recall(budget), AUC: curve.AUC(), RequestAUC: g.requestAUC(c), TargetHosts: targetHosts(c), Bytes: bytesOf(c),
	}
	for i, n := range []int{budget / 4, budget / 2, budget} {
		m.HarvestLabel[i], m.HarvestCritic[i] = curve.LabelRate(n), curve.Rate(n)
	}
	return m
}

// requestAUC returns the mean share of the targets found after 1, 2, … budget requests.
func (g *Ground) requestAUC(c *Crawl) float64 {
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
