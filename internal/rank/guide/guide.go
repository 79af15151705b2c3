package guide

import (
	"context"
	"fmt"
	"math"

	"forager/schemas"
)

// View is the input of a guide: a page that was fetched and judged, and the path to it.
type View struct {
	Page *schemas.Page
	// Judgement of the page by the crawl's critic, without guidance.
	Judgement *schemas.Judgement
	// State that the guide gave to the link by which the page was fetched; nil for seeds, and if it gave none. It comes
	// from a topic, so the guide must check it.
	State []byte
}

// Guide scores the links of a page. It is safe for concurrent use. Its result is a function of the view alone, unless it
// calls a service.
type Guide interface {
	// Guide returns scores and states as schemas.Guidance has them, its guide not set. A page without links needs none. The
	// error is that of a page or a service, not of the guide's file.
	Guide(ctx context.Context, v *View) (*schemas.Guidance, error)
	// ReadsURLs reports whether scores may depend on URLs: such a guide is refused where the labels of pages follow from
	// their URLs.
	ReadsURLs() bool
}

// maxState bounds the state of one guide on a path, bytes.
const maxState = 256

// Check returns an error if the guidance is invalid for a page with so many links.
func Check(g *schemas.Guidance, links int) error {
	if n := len(g.GetScores()); n > 1 && n != links {
		return fmt.Errorf("%d scores for %d links", n, links)
	}
	if n := len(g.GetStates()); n > 1 && n != links {
		return fmt.Errorf("%d states for %d links", n, links)
	}
	for i, s := range g.GetScores() {
		if math.IsNaN(s) || math.IsInf(s, 0) {
			return fmt.Errorf("the score of link %d is %v", i, s)
		}
	}
	for i, b := range g.GetStates() {
		if len(b) > maxState {
			return fmt.Errorf("the state of link %d has %d bytes, at most %d are kept", i, len(b), maxState)
		}
	}
	return nil
}

// Score returns that of a link; ok is false if the guide gave none.
func Score(g *schemas.Guidance, link int) (score float64, ok bool) { return at(g.GetScores(), link) }

// State returns that of a link; nil if the guide gave none.
func State(g *schemas.Guidance, link int) []byte {
	b, _ := at(g.GetStates(), link)
	return b
}

// at returns the element of a link in a list that has one for all links, one for each, or none.
func at[T any](list []T, link int) (element T, ok bool) {
	if len(list) == 1 {
		link = 0
	}
	if link < len(list) {
		element, ok = list[link], true
	}
	return element, ok
}
