package text_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"forager/internal/page/text"
	"forager/schemas"
)

// TestTokensOfLeaves compares the tokens of a range of leaves, and the text cut from them, with a walk over all leaves.
func TestTokensOfLeaves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := &schemas.Page{Language: "fr", Terms: []string{"a", "bb", "ccc"}}
		first, last := rapid.IntRange(-2, 6).Draw(t, "first"), rapid.IntRange(-2, 6).Draw(t, "last")
		var words []string
		var shapes []text.Shape
		for leaf := range rapid.IntRange(0, 5).Draw(t, "leaves") {
			n := rapid.IntRange(0, 3).Draw(t, "length")
			p.LeafLengths = append(p.LeafLengths, uint32(n))
			for range n {
				term, shape := rapid.Uint32Range(0, 2).Draw(t, "term"), text.Shape(rapid.IntRange(0, 3).Draw(t, "shape"))
				p.Shapes = text.AppendShape(p.Shapes, len(p.Tokens), shape)
				p.Tokens = append(p.Tokens, term)
				if first <= leaf && leaf <= last {
					words, shapes = append(words, p.Terms[term]), append(shapes, shape)
				}
			}
		}
		leaves, err := text.LeavesOf(p)
		if err != nil {
			t.Fatal(err)
		}
		var part text.Surface
		from, to := leaves.Tokens(first, last)
		part.Cut(text.SurfaceOf(p), from, to)
		if !slices.Equal(part.Terms, words) || part.Language != "fr" {
			t.Fatalf("leaves %d to %d of %v: %q, want %q", first, last, p, part.Terms, words)
		}
		for i, want := range shapes {
			if got := text.ShapeAt(part.Shapes, i); got != want || part.Terms[part.Tokens[i]] != words[i] {
				t.Fatalf("token %d has shape %d and term %d, want shape %d", i, got, part.Tokens[i], want)
			}
		}
		p.LeafLengths = append(p.LeafLengths, 1)
		if _, err := text.LeavesOf(p); err == nil {
			t.Fatal("leaves with more tokens than the page: no error")
		}
	})
}
