package guidetest

import (
	"bytes"
	"math"
	"testing"

	"pgregory.net/rapid"

	"forager/internal/rank/guide"
	"forager/schemas"
)

// Same fails t where two guides say different things of a page's links: scores may differ by 1e-12, states by nothing.
func Same(t testing.TB, got, want guide.Guide, v *guide.View) {
	t.Helper()
	a, err := got.Guide(t.Context(), v)
	if err != nil {
		t.Fatal(err)
	}
	b, err := want.Guide(t.Context(), v)
	if err != nil {
		t.Fatal(err)
	}
	for i := range v.Page.GetLinks() {
		is, has := guide.Score(a, i)
		should, wanted := guide.Score(b, i)
		if has != wanted || !(math.Abs(is-should) < 1e-12) || !bytes.Equal(guide.State(a, i), guide.State(b, i)) {
			t.Errorf("link %d scores %v with the state %x, want %v with %x", i, is, guide.State(a, i), should, guide.State(b, i))
		}
	}
}

// Page draws a page of some leaves with words of terms, and at least so many links, of which some end, or begin,
// behind the last leaf.
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
