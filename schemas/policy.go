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

// Raises says whether one of the crawl's policies raises what hubs link to: whether there is anything to
// distil.
func Raises(ctl *CrawlControl) bool {
	return slices.ContainsFunc(ctl.GetPolicies(), func(p *Policy) bool { return p.GetRaise() })
}

// Guides are the versions of the guides that the crawl's policies rank by, each once.
func Guides(ctl *CrawlControl) (versions []string) {
	for _, p := range ctl.GetPolicies() {
		if p.GetRanker() == Ranker_RANKER_GUIDE && !slices.Contains(versions, p.GetGuide()) {
			versions = append(versions, p.GetGuide())
		}
	}
	return versions
}

// AnchorSteps is R = 1 in Judgement.anchors.
const AnchorSteps = 65_535
