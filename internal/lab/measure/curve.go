package measure

// Page is one page delivered.
type Page struct {
	// Relevance is R(v), in [0,1].
	Relevance float64
	// Target: the page has the label looked for.
	Target bool
	// Ignored pages cost budget but are neither targets nor part of harvest and loss (the
	// critic was trained on them).
	Ignored bool
}

// Curve is the measures of a crawl after each page. The zero value is a crawl without pages.
type Curve struct {
	budget, pages, targets int
	// after has the sums over the first n pages of the budget, from 0 on.
	after []sums
}

// sums of pages: how many count, how many are targets, their R.
type sums struct {
	counted, found int
	relevance      float64
}

// NewCurve measures the pages of a crawl in the order of their delivery. Budget is the number of pages that the
// crawl was allowed, at least 1; pages beyond it are ignored. Targets is the number of targets that exist, except
// ignored pages. Pages of the budget that the crawl did not deliver count and have R = 0.
func NewCurve(pages []Page, budget, targets int) *Curve {
	c := &Curve{budget: budget, pages: min(len(pages), budget), targets: targets, after: make([]sums, budget+1)}
	for n := range budget {
		var p Page
		if n < len(pages) {
			p = pages[n]
		}
		s := c.after[n]
		if !p.Ignored {
			s.counted++
			s.relevance += p.Relevance
			if p.Target {
				s.found++
			}
		}
		c.after[n+1] = s
	}
	return c
}

// Budget returns the number of pages that the crawl was allowed.
func (c *Curve) Budget() int { return c.budget }

// Pages returns the number of pages delivered within the budget.
func (c *Curve) Pages() int { return c.pages }

// at returns the sums over the first n pages of the budget, 0 ≤ n.
func (c *Curve) at(n int) sums {
	if c.budget == 0 {
		return sums{}
	}
	return c.after[min(n, c.budget)]
}

// Counted returns the number of the first n pages that count.
func (c *Curve) Counted(n int) int { return c.at(n).counted }

// Rate returns the harvest rate by the critic after n pages, (1/n) Σ R(v_i), in [0,1]; 0 where
// no page counts.
func (c *Curve) Rate(n int) float64 { return ratio(c.at(n).relevance, c.at(n).counted) }

// LabelRate returns the harvest rate by label after n pages: the share of targets, in [0,1].
func (c *Curve) LabelRate(n int) float64 { return ratio(float64(c.at(n).found), c.at(n).counted) }

// Loss returns the loss after n pages, Σ (1 − R(v_i)), in pages (2002 §3.5: the number of pages
// fetched that had to be thrown away).
func (c *Curve) Loss(n int) float64 { return float64(c.at(n).counted) - c.at(n).relevance }

// LossRate returns Loss(n)/n over the pages that count, in [0,1].
func (c *Curve) LossRate(n int) float64 { return ratio(c.Loss(n), c.at(n).counted) }

// Found returns the number of targets among the first n pages.
func (c *Curve) Found(n int) int { return c.at(n).found }

// Recall returns the share of all targets found within n pages, in [0,1]; 0 if there are none.
func (c *Curve) Recall(n int) float64 { return ratio(float64(c.Found(n)), c.targets) }

// AUC returns the mean of Recall(n) over n = 1 … budget, in [0,1).
func (c *Curve) AUC() float64 {
	sum := 0
	for n := 1; n <= c.budget; n++ {
		sum += c.Found(n)
	}
	return ratio(ratio(float64(sum), c.targets), c.budget)
}

// NormalisedAUC returns nAUC = (auc − random)/(oracle − random): 0 for a random crawl (the mean of many), 1 for
// the oracle; more is possible, as that oracle is greedy. ok is false where the two are equal.
func NormalisedAUC(auc, random, oracle float64) (n float64, ok bool) {
	if oracle == random {
		return 0, false
	}
	return (auc - random) / (oracle - random), true
}

func ratio(x float64, n int) float64 {
	if n == 0 {
		return 0
	}
	return x / float64(n)
}
