package schemas

import "slices"

// Learns says whether one of the crawl's policies ranks by an apprentice.
func Learns(ctl *CrawlControl) bool {
	return slices.ContainsFunc(ctl.GetPolicies(), func(p *Policy) bool { return p.GetRanker() == Ranker_RANKER_APPRENTICE })
}

// ReadsAnchors says whether one of the crawl's policies asks what the text of links is about.
func ReadsAnchors(ctl *CrawlControl) bool {
	return slices.ContainsFunc(ctl.GetPolicies(), func(p *Policy) bool { return p.GetRanker() == Ranker_RANKER_ANCHOR })
}

// AnchorSteps is R = 1 in Judgement.anchors.
const AnchorSteps = 65_535
