package view

import (
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"forager/internal/platform/analytics"
	"forager/internal/rank/apprentice"
	"forager/schemas"
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

// TestTurns: what an operator changed is named; the first record, and one that only the system changed, are no turns.
func TestTurns(t *testing.T) {
	before := &schemas.CrawlControl{Crawl: "c", Revision: 1, State: schemas.CrawlState_CRAWL_STATE_RUNNING, Focus: []string{"A"}, Window: 7}
	for _, c := range []struct {
		want   string
		change func(*schemas.CrawlControl)
	}{
		{"", func(c *schemas.CrawlControl) { c.Restored = &schemas.Restored{Revision: 2} }},
		{"paused", func(c *schemas.CrawlControl) { c.State = schemas.CrawlState_CRAWL_STATE_PAUSED }},
		{"focus: A → A, B\\u202E", func(c *schemas.CrawlControl) { c.Focus = []string{"A", "B\u202e"} }},
		{"window: 7 → 9; model: c/1", func(c *schemas.CrawlControl) { c.Window, c.Learning = 9, &schemas.Learning{Pinned: "c/1"} }},
	} {
		after := proto.CloneOf(before)
		c.change(after)
		if got := turnOf(before, after); got != c.want {
			t.Errorf("turn %q, want %q", got, c.want)
		}
	}
	if got := turnOf(nil, before); got != "" {
		t.Errorf("the first record is the turn %q", got)
	}
	if got := short(strings.Repeat("ü", 400)); len(got) > mostTurnText+len("…") || !utf8.ValidString(got) {
		t.Errorf("%d bytes: %q", len(got), got)
	}
}

// TestFeatures: terms without an offset are at the end of the table and no lines.
func TestFeatures(t *testing.T) {
	f := new(Features)
	f.add([]apprentice.Tally{{Term: "x", Offset: 1, Weight: 3}, {Term: "p", Offset: schemas.NoOffset, Weight: 2}, {Term: "x", Offset: -2, Weight: -1}, {Term: "y", Offset: 1, Weight: .5}})
	if len(f.Terms) != 2 || f.Terms[0].Name != "x" || !slices.Equal(f.Terms[0].X, []float64{-2, 1}) || !slices.Equal(f.Terms[0].Y, []float64{-1, 3}) {
		t.Errorf("lines %+v", f.Terms)
	}
	if len(f.ByOffset) != 3 || f.ByOffset[0].Offset != "-2" || f.ByOffset[2].Offset != "page" || len(f.ByOffset[1].Strongest) != 2 || f.ByOffset[1].Strongest[0].Term != "x" {
		t.Errorf("by offset %+v", f.ByOffset)
	}
}
