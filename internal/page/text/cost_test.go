package text_test

import (
	"testing"

	"forager/internal/page/dom"
	"forager/internal/page/text"
	"forager/internal/testkit/growth"
	"forager/schemas"
)

// TestHostileTextIsLinear: words of texts in which a search for the end of a word, a normal form or a stem could
// take long.
func TestHostileTextIsLinear(t *testing.T) {
	var cases []growth.Case
	for name, unit := range map[string]string{
		"letters": "a", "capitals": "A", "digits": "1", "marks": "\u0301", "letters with marks": "a\u0301\u0323", "hyphens": "a-",
		"apostrophes": "a'", "dots": "a.", "underscores": "_", "Hangul": "\u1100", "Han": "世", "Thai": "ก", "Arabic": "\u0640",
		"ligatures": "\uFDFA", "joiners": "a\u200D", "right to left": "\u202E", "emoji": "👩\u200D", "words": "running ", "endings": "ingsed",
		"not UTF-8": "\xff", "NUL": "\x00", "words of languages": "дом été 世界 ",
	} {
		cases = append(cases, growth.Case{Name: name, Make: growth.Repeat("", unit, "")})
	}
	growth.Linear(t, 1<<20, 200, func(b []byte) {
		s := string(b)
		var scanner text.Scanner
		for scanner.Reset(s); scanner.Next(); {
			scanner.Token()
		}
		_, err := dom.Parse(b, "text/html; charset=utf-8", "http://a.test/", dom.Settings{Leaves: schemas.LeafMode_LEAF_MODE_COMPACT})
		if err != nil {
			t.Fatal(err)
		}
	}, cases)
}
