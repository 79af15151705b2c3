package schemas

import (
	"math"
	"slices"
)

// Orders returns the crawl's policies and its shadows: all that compute scores.
func Orders(ctl *CrawlControl) []*Policy {
	return slices.Concat(ctl.GetPolicies(), ctl.GetRankerShadows())
}

// Learns reports whether one of the crawl's policies, or a shadow, ranks by an apprentice.
func Learns(ctl *CrawlControl) bool {
	return slices.ContainsFunc(Orders(ctl), func(p *Policy) bool { return p.GetRanker() == Ranker_RANKER_APPRENTICE })
}

// ReadsAnchors reports whether one of the crawl's policies, or a shadow, uses judgements of the words of
// links (Judgement.anchors).
func ReadsAnchors(ctl *CrawlControl) bool {
	return slices.ContainsFunc(Orders(ctl), func(p *Policy) bool {
		return p.GetRanker() == Ranker_RANKER_ANCHOR || p.GetRanker() == Ranker_RANKER_LINK_VALUE
	})
}

// ReadsTagPaths reports whether features of the crawl's links are derived from their positions on their pages
// (Link.tag_path).
func ReadsTagPaths(ctl *CrawlControl) bool {
	return slices.Contains(ctl.GetLearning().GetFeatures(), FeatureFamily_FEATURE_FAMILY_TAG_PATH)
}

// ReadsTrees reports whether features of the crawl's links are derived from the positions of leaves and links in the
// trees of their pages (Page.leaf_depths, Page.leaf_joins, Link.depth).
func ReadsTrees(ctl *CrawlControl) bool {
	features := ctl.GetLearning().GetFeatures()
	return slices.Contains(features, FeatureFamily_FEATURE_FAMILY_PATH_LENGTH) || slices.Contains(features, FeatureFamily_FEATURE_FAMILY_ANCESTOR)
}

// ReadsPosteriors reports whether features of the crawl's links are derived from the posteriors of all classes
// (Judgement.posteriors).
func ReadsPosteriors(ctl *CrawlControl) bool {
	return ctl.GetLearning().GetTopics() == TopicFeatures_TOPIC_FEATURES_ALL
}

// Raises reports whether one of the crawl's policies, or a shadow, raises the links of hubs, so that the
// crawl needs a distiller.
func Raises(ctl *CrawlControl) bool {
	return slices.ContainsFunc(Orders(ctl), func(p *Policy) bool { return p.GetRaise() })
}

// Guides returns the versions of the guides that the crawl's policies and shadows rank by, each
// once.
func Guides(ctl *CrawlControl) (versions []string) {
	for _, p := range Orders(ctl) {
		if p.GetRanker() == Ranker_RANKER_GUIDE && !slices.Contains(versions, p.GetGuide()) {
			versions = append(versions, p.GetGuide())
		}
	}
	return versions
}

// Renewed returns the policy whose guide is trained again on the pages of the crawl; nil if there is
// none.
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

// TargetFrom is the least R(u), raw, of a page that is a target of such a guide.
const TargetFrom = .5

// NoLeaf is Link.first_leaf and last_leaf of backlinks, which have no position on the page.
const NoLeaf = math.MaxUint32

// AnchorSteps is the value of R = 1 in Judgement.anchors.
const AnchorSteps = 65_535

// MostLogOdds bounds Judgement.log_odds and topic_log_odds.
const MostLogOdds = 1e6

// LogOddsOf returns the log odds of R(u), of all classes and of the topics among them, and for a record of an earlier
// version those of raw R, in [-745, 745].
func LogOddsOf(j *Judgement) (all, topics float64) {
	if all, topics = j.GetLogOdds(), j.GetTopicLogOdds(); j != nil && j.LogOdds != nil && j.TopicLogOdds != nil && math.Abs(all) <= MostLogOdds && math.Abs(topics) <= MostLogOdds {
		return all, topics
	}
	const most = 745 // -log of the least float64
	all = min(max(math.Log(j.GetRaw())-math.Log1p(-j.GetRaw()), -most), most)
	return all, all
}
