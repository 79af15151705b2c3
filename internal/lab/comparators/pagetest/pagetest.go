package pagetest

import (
	"pgregory.net/rapid"

	"forager/schemas"
)

// Page draws a page of some leaves with words of terms, and at least so many links, of which some end, or begin,
// after the last leaf.
func Page(t *rapid.T, links int, terms ...string) *schemas.Page {
	p := &schemas.Page{Url: "http://h.test/", Title: rapid.SampledFrom([]string{"", "cat", "the cow"}).Draw(t, "title"), Terms: terms}
	for range rapid.IntRange(0, 6).Draw(t, "leaves") {
		n := rapid.IntRange(0, 3).Draw(t, "tokens")
		for range n {
			p.Tokens = append(p.Tokens, rapid.Uint32Range(0, uint32(len(terms)-1)).Draw(t, "token"))
		}
		p.LeafLengths = append(p.LeafLengths, uint32(n))
	}
	for range rapid.IntRange(links, 4).Draw(t, "links") {
		first := rapid.Uint32Range(0, 7).Draw(t, "first")
		p.Links = append(p.Links, &schemas.Link{Url: "http://h.test/x", FirstLeaf: first, LastLeaf: first + rapid.Uint32Range(0, 3).Draw(t, "more")})
	}
	return p
}
