package harvest

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// Placed is a page that a crawl fetched, with the order of its link under the policy that chose it and under a
// shadow policy.
type Placed struct {
	// Policy is the name of the policy that chose it.
	Policy string
	// Used is its place under that policy, Shadow under the shadow.
	Used, Shadow Order
	// Relevance is R of the page.
	Relevance float64
}

// Order is a place in a frontier: tier ↑, then score ↓. Out is after all others: a gate excluded every link.
type Order struct {
	Out   bool
	Tier  uint32
	Score float64
}

// ShadowComparison compares two orders of the same pages.
type ShadowComparison struct {
	// Pages compared, and the share of them that the shadow's gate would have excluded.
	Pages int     `json:"pages"`
	Out   float64 `json:"left_out"`
	// Harvest of all pages, and of the quarters that the shadow and the followed policies place highest.
	Harvest       float64 `json:"harvest"`
	HarvestShadow float64 `json:"harvest_top_shadow"`
	HarvestUsed   float64 `json:"harvest_top_used"`
	// Shared is the share of the shadow's quarter that is also in the other.
	Shared float64 `json:"top_shared"`
	// AUCShadow and AUCUsed are the shares of the Pairs of a page with R ≥ cut and one below in which the former
	// is placed higher, a tie counting half; 0 where there is no pair.
	AUCShadow float64 `json:"auc_shadow"`
	AUCUsed   float64 `json:"auc_used"`
	Pairs     int     `json:"pairs"`
	// Correlation is Spearman's correlation of the two orders, in [−1,1], over the Ranked pages, which are not all tied.
	Correlation float64 `json:"rank_correlation"`
	Ranked      int     `json:"ranked"`
}

// Sizes of the blocks in which orders are compared: consecutive pages chosen by one policy. A shorter rest of at
// least blockLeast pages is a block, too.
const (
	blockPages = 100
	blockLeast = 20
)

// Comparer compares the order of pages under a shadow with that under the policies that chose them. Scores of different policies, and
// of one policy over a long time, are not comparable, so pages are compared with those that the same policy chose at about the same
// time: a hundred in a row. It holds at most that many pages of each policy.
type Comparer struct {
	cut float64
	// begun are the pages of a policy that make no block yet, names the policies in the order in which they came.
	begun map[string][]Placed
	names []string
	sums  ShadowComparison
}

// NewComparer returns a comparer for which pages with a relevance of cut or more are high.
func NewComparer(cut float64) *Comparer { return &Comparer{cut: cut, begun: make(map[string][]Placed)} }

// Add adds a page. Pages come in the order in which they were chosen.
func (c *Comparer) Add(p Placed) {
	block, known := c.begun[p.Policy]
	if !known {
		c.names = append(c.names, p.Policy)
	}
	if block = append(block, p); len(block) == blockPages {
		c.sums.add(block, c.cut)
		block = block[:0]
	}
	c.begun[p.Policy] = block
}

// Result returns the comparison of the pages so far.
func (c *Comparer) Result() ShadowComparison {
	all := c.sums
	for _, name := range c.names {
		if block := c.begun[name]; len(block) >= blockLeast {
			all.add(block, c.cut)
		}
	}
	for _, sum := range []*float64{&all.Out, &all.Harvest, &all.HarvestShadow, &all.HarvestUsed, &all.Shared} {
		*sum /= float64(max(1, all.Pages))
	}
	all.AUCShadow /= float64(max(1, all.Pairs))
	all.AUCUsed /= float64(max(1, all.Pairs))
	all.Correlation /= float64(max(1, all.Ranked))
	return all
}

// add adds a block; shares are sums, weighted by pages or pairs, until the end.
func (c *ShadowComparison) add(block []Placed, cut float64) {
	n := float64(len(block))
	used, shadow := ranks(block, func(p *Placed) *Order { return &p.Used }), ranks(block, func(p *Placed) *Order { return &p.Shadow })
	topUsed, topShadow := top(used), top(shadow)
	relevance := make([]float64, len(block))
	for i, p := range block {
		relevance[i] = p.Relevance
		if p.Shadow.Out {
			c.Out++
		}
	}
	var shared float64
	for i := range block {
		shared += topUsed[i] * topShadow[i]
	}
	c.Pages += len(block)
	c.Harvest += n * stat.Mean(relevance, nil)
	c.HarvestShadow += n * stat.Mean(relevance, topShadow)
	c.HarvestUsed += n * stat.Mean(relevance, topUsed)
	c.Shared += n * shared / math.Floor(n/4)
	c.pairs(relevance, used, shadow, cut)
	if r := stat.Correlation(used, shadow, nil); !math.IsNaN(r) {
		c.Correlation += n * r
		c.Ranked += len(block)
	}
}

// pairs counts pairs of a high page and another.
func (c *ShadowComparison) pairs(relevance, used, shadow []float64, cut float64) {
	higher := func(ranks []float64, a, b int) float64 {
		switch cmp.Compare(ranks[a], ranks[b]) {
		case -1:
			return 1
		case 0:
			return .5
		}
		return 0
	}
	for a := range relevance {
		for b := range relevance {
			if relevance[a] >= cut && relevance[b] < cut {
				c.Pairs++
				c.AUCUsed += higher(used, a, b)
				c.AUCShadow += higher(shadow, a, b)
			}
		}
	}
}

// ranks returns the ranks of a block's pages, 1 the best; tied pages share the mean of theirs.
func ranks(block []Placed, of func(*Placed) *Order) []float64 {
	compare := func(i, j int) int {
		a, b := of(&block[i]), of(&block[j])
		switch {
		case a.Out || b.Out:
			return cmp.Compare(boolean(a.Out), boolean(b.Out))
		case a.Tier != b.Tier:
			return cmp.Compare(a.Tier, b.Tier)
		}
		return cmp.Compare(b.Score, a.Score)
	}
	order := make([]int, len(block))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, compare)
	out := make([]float64, len(block))
	for from := 0; from < len(order); {
		to := from + 1
		for to < len(order) && compare(order[from], order[to]) == 0 {
			to++
		}
		for _, i := range order[from:to] {
			out[i] = float64(from+1+to) / 2
		}
		from = to
	}
	return out
}

func boolean(b bool) int {
	if b {
		return 1
	}
	return 0
}

// top returns the probability of each page to be in the best quarter, with ties broken at random.
func top(ranks []float64) []float64 {
	k := float64(len(ranks) / 4)
	agreeing := make(map[float64]float64)
	for _, r := range ranks {
		agreeing[r]++
	}
	out := make([]float64, len(ranks))
	for i, r := range ranks {
		first := r - (agreeing[r]-1)/2 // the best rank of the tied pages
		out[i] = min(1, max(0, (k-first+1)/agreeing[r]))
	}
	return out
}
