package guide

import (
	"context"
	"fmt"
	"math"

	"forager/schemas"
)

// View is what a guide sees: a page that was fetched and judged, and how it was come to.
type View struct {
	Page *schemas.Page
	// Judgement of the page by the crawl's critic, its guidance not yet filled in.
	Judgement *schemas.Judgement
	// State that the guide gave to the link by which the page was fetched; nil for seeds, and where it
	// gave none. It may come from anybody who writes to the topics: it is checked.
	State []byte
}

// Guide scores the links of a page. It is safe for concurrent use, and what it says is a function
// of the view alone, unless it asks a service.
type Guide interface {
	// Guide returns scores and states as schemas.Guidance has them, its guide not set. A page
	// without links needs none. An error is one of the page or of a service, not of the guide's file.
	Guide(ctx context.Context, v *View) (*schemas.Guidance, error)
	// ReadsURLs says that scores may depend on URLs: such a guide is refused where the labels of
	// pages follow from their URLs.
	ReadsURLs() bool
}

// maxState bounds what a path remembers of one guide, bytes.
const maxState = 256

// Check says what is wrong with the guidance for a page of so many links.
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

// Score is that of a link; ok is false where the guide gave none.
func Score(g *schemas.Guidance, link int) (score float64, ok bool) { return at(g.GetScores(), link) }

// State is that of a link; nil where the guide gave none.
func State(g *schemas.Guidance, link int) []byte {
	b, _ := at(g.GetStates(), link)
	return b
}

// at is the element of a link in a list that has one for all, one each, or none.
func at[T any](list []T, link int) (element T, ok bool) {
	if len(list) == 1 {
		link = 0
	}
	if link < len(list) {
		element, ok = list[link], true
	}
	return element, ok
}
