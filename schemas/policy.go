package schemas

import "slices"

// Learns says whether one of the crawl's policies ranks by an apprentice.
func Learns(ctl *CrawlControl) bool {
	return slices.ContainsFunc(ctl.GetPolicies(), func(p *Policy) bool { return p.GetRanker() == Ranker_RANKER_APPRENTICE })
}
