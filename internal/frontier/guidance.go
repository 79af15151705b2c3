package frontier

import (
	"fmt"
	"slices"

	"forager/internal/frontier/state"
	"forager/internal/rank/guide"
	"forager/schemas"
)

// The guidance of the links of a page u (schemas.Guidance) comes with the verdict on u, and is stored
// with u's page while one of its links is not settled: a score and a state belong to a link by its index. It
// is that of the guides in force at the verdict. If the crawl's policies are changed to another guide, links found before have
// no guidance of it (policy.Policy: their last tier), until pages that are judged later link to the same URLs; of another version of the same
// guide the scores are used, not the states (docs/decisions/0107).

// Fit returns an error if a record's judgement refers to links that the record does not have, or has numbers that are
// out of range; Apply takes no such record.
func Fit(rec *schemas.LinkFound) error {
	if !state.AnchorsFit(rec) {
		return fmt.Errorf("the text of %d links is judged, the page has %d; or a number is above %d",
			len(rec.GetJudgement().GetAnchors()), len(rec.GetLinks()), schemas.AnchorSteps)
	}
	for i, g := range rec.GetJudgement().GetGuidance() {
		if err := guide.Check(g, len(rec.GetLinks())); err != nil {
			return fmt.Errorf("guide %s: %w", g.GetGuide(), err)
		}
		before := rec.GetJudgement().GetGuidance()[:i]
		if slices.ContainsFunc(before, func(b *schemas.Guidance) bool { return b.GetGuide() == g.GetGuide() }) {
			return fmt.Errorf("guide %s: it was asked twice", g.GetGuide())
		}
	}
	return nil
}

// guidanceOf returns the guidance of a record that is to be kept.
func guidanceOf(rec *schemas.LinkFound) (kept []*schemas.Guidance) {
	for _, g := range rec.GetJudgement().GetGuidance() {
		if len(g.GetScores()) > 0 || len(g.GetStates()) > 0 {
			kept = append(kept, &schemas.Guidance{Guide: g.GetGuide(), Scores: g.GetScores(), States: g.GetStates()})
		}
	}
	return kept
}

// guidanceFor returns the guidance of some of a page's links, by their indices.
func guidanceFor(all []*schemas.Guidance, links []uint32) []*schemas.Guidance {
	var some []*schemas.Guidance
	for _, g := range all {
		some = append(some, &schemas.Guidance{Guide: g.GetGuide(), Scores: pick(g.GetScores(), links), States: pick(g.GetStates(), links)})
	}
	return some
}

// pick returns the elements for some links of a list that has one for all links, one for each, or none.
func pick[T any](list []T, links []uint32) []T {
	if len(list) < 2 {
		return list
	}
	some := make([]T, len(links))
	for i, l := range links {
		some[i] = list[l]
	}
	return some
}
