package view

import (
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"forager/internal/platform/analytics"
)

// TestPlainTextsHaveNoControlCharacters: whatever is shown is one line that reads as it is written.
func TestPlainTextsHaveNoControlCharacters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := rapid.OneOf(rapid.String(), rapid.StringOf(rapid.RuneFrom([]rune("a\x00\x1b\u202e\u2028\u200b\n\ufeff<")))).Draw(t, "text")
		if i := strings.IndexFunc(Plain(raw), func(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) }); i >= 0 {
			t.Fatalf("%q becomes %q", raw, Plain(raw))
		}
	})
	if got := Plain("über <b>\t漢字"); got != "über <b> 漢字" {
		t.Errorf("harmless text becomes %q", got)
	}
}

// TestLately compares with sums over single pages, where a state is known for each.
func TestLately(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		relevance := rapid.SliceOfN(rapid.Float64Range(0, 1), 1, 300).Draw(t, "relevance")
		n := rapid.Uint64Range(1, 350).Draw(t, "n")
		var all []analytics.CrawlPoint
		sum := 0.0
		for i, r := range relevance {
			sum += r
			all = append(all, analytics.CrawlPoint{Pages: uint64(i + 1), Relevance: sum})
		}
		last := relevance[max(0, len(relevance)-int(n)):]
		want := 0.0
		for _, r := range last {
			want += r / float64(len(last))
		}
		if got := Lately(all, len(all)-1, n); got-want > 1e-9 || want-got > 1e-9 {
			t.Fatalf("%v, want %v", got, want)
		}
	})
}
