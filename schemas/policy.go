package schemas

import (
	"math"
	"slices"
)

// Orders are the crawl's policies and its shadows: all that ask for scores.
func Orders(ctl *CrawlControl) []*Policy {
	return slices.Concat(ctl.GetPolicies(), ctl.GetRankerShadows())
}

// Learns says whether one of the crawl's policies, or a shadow, ranks by an apprentice.
func Learns(ctl *CrawlControl) bool {
	return slices.ContainsFunc(Orders(ctl), func(p *Policy) bool { return p.GetRanker() == Ranker_RANKER_APPRENTICE })
}

// ReadsAnchors says whether one of the crawl's policies, or a shadow, asks what the text of links is about.
func ReadsAnchors(ctl *CrawlControl) bool {
	return slices.ContainsFunc(Orders(ctl), func(p *Policy) bool { return p.GetRanker() == Ranker_RANKER_ANCHOR })
}

// ReadsWords says whether one of the crawl's policies, or a shadow, reads the words of whole pages (Judgement.words).
func ReadsWords(ctl *CrawlControl) bool {
	return slices.ContainsFunc(Orders(ctl), func(p *Policy) bool { return p.GetRanker() == Ranker_RANKER_INTEREST })
}

// ReadsTagPaths says whether one of the crawl's policies, or a shadow, reads where on their pages links stand (Link.tag_path):
// by its ranker, or as features of links, which are recorded whatever ranks the crawl.
func ReadsTagPaths(ctl *CrawlControl) bool {
	if slices.Contains(ctl.GetLearning().GetFeatures(), FeatureFamily_FEATURE_FAMILY_TAG_PATH) {
		return true
	}
	return slices.ContainsFunc(Orders(ctl), func(p *Policy) bool { return p.GetRanker() == Ranker_RANKER_TAG_BANDIT })
}

// ReadsTrees says whether features of the crawl's links are made of where leaves and links stand in the trees of their pages
// (Page.leaf_depths, Page.leaf_joins, Link.depth).
func ReadsTrees(ctl *CrawlControl) bool {
	features := ctl.GetLearning().GetFeatures()
	return slices.Contains(features, FeatureFamily_FEATURE_FAMILY_PATH_LENGTH) || slices.Contains(features, FeatureFamily_FEATURE_FAMILY_ANCESTOR)
}

// ReadsPosteriors says whether features of the crawl's links are made of the posteriors of all classes (Judgement.posteriors).
func ReadsPosteriors(ctl *CrawlControl) bool {
	return ctl.GetLearning().GetTopics() == TopicFeatures_TOPIC_FEATURES_ALL
}

// Raises says whether one of the crawl's policies, or a shadow, raises what hubs link to: whether there is
// anything to distil.
func Raises(ctl *CrawlControl) bool {
	return slices.ContainsFunc(Orders(ctl), func(p *Policy) bool { return p.GetRaise() })
}

// Guides are the versions of the guides that the crawl's policies and shadows rank by, each once.
func Guides(ctl *CrawlControl) (versions []string) {
	for _, p := range Orders(ctl) {
		if p.GetRanker() == Ranker_RANKER_GUIDE && !slices.Contains(versions, p.GetGuide()) {
			versions = append(versions, p.GetGuide())
		}
	}
	return versions
}

// Renewed is the policy whose guide is made anew of what the crawl fetches; nil where there is none.
func Renewed(ctl *CrawlControl) *Policy {
	if ctl.GetRenewal() == nil {
		return nil
	}
	for _, p := range ctl.GetPolicies() {
		if p.GetName() == ctl.GetRenewal().GetThen().GetName() {
			return p
		}
	}
	return nil
}

// TargetFrom is R(u), raw, from which a page is a target of such a guide.
const TargetFrom = .5

// RenewalDue says whether a new guide is due behind so many pages delivered, targets of them, if there are targets
// that the last one did not know.
func RenewalDue(ctl *CrawlControl, pages, targets uint64) bool {
	policy, r := Renewed(ctl), ctl.GetRenewal()
	if policy == nil || ctl.GetBudget().GetPages() > 0 && pages >= ctl.GetBudget().GetPages() {
		return false
	}
	if policy.GetRanker() != Ranker_RANKER_GUIDE && r.GetPages() == 0 {
		return r.GetBootstrap() > 0 && targets >= r.GetBootstrap()
	}
	return r.GetEvery() > 0 && pages-pages%r.GetEvery() > r.GetPages()
}

// NoLeaf is Link.first_leaf and last_leaf of backlinks; no page has so many leaves.
const NoLeaf = math.MaxUint32

// AnchorSteps is R = 1 in Judgement.anchors.
const AnchorSteps = 65_535
