package critic

import (
	"github.com/cespare/xxhash/v2"
	"testing"

	"google.golang.org/protobuf/proto"

	"forager/internal/page/dom"
	"forager/internal/page/text"
)

// TestPagesAreCutAsTheExamplesWere: for all settings, a model that was written to a file judges a page like its
// text, and contains the words that the settings made of it.
func TestPagesAreCutAsTheExamplesWere(t *testing.T) {
	const prose = "The crawlers visit 1984 pages of NASA, and 世界地图 is not one of the pages that it crawls."
	for settings, want := range map[string]struct {
		known uint64
		word  string
	}{
		"":                       {21, "crawlers"},
		"bigrams":                {20, "界地"},
		"bigrams stop":           {11, "nasa"},
		"stem language=en":       {21, "crawler"},
		"numbers=dropped":        {20, "地"},
		"numbers=shaped":         {21, "0000"},
		"case=kept bigrams stop": {11, "^^nasa"},
	} {
		parsed, err := text.ParseSettings(settings)
		if err != nil {
			t.Fatal(err)
		}
		e := NewExamples(parsed)
		for url, topic := range map[string]string{"http://h/1": "A", "http://h/2": "B"} {
			if err := e.AddText(url, []string{topic}, prose); err != nil {
				t.Fatal(err)
			}
		}
		m, _, err := Train(t.Context(), e, Settings{Exact: true})
		if err != nil {
			t.Fatal(err)
		}
		if m, err = Unmarshal(m.Marshal()); err != nil {
			t.Fatal(err)
		}
		if m.Cut() != parsed {
			t.Errorf("%q came back as %q", parsed, m.Cut())
		}
		if m.words.lookup(xxhash.Sum64String(want.word)) == 0 {
			t.Errorf("%q: %q is not among the words %q", settings, want.word, m.words.text)
		}
		p, err := dom.Parse([]byte("<html lang=en><p>"+prose), "text/html; charset=utf-8", "http://h/3", dom.Settings{})
		if err != nil {
			t.Fatal(err)
		}
		ofPage, err := m.Judge(p, []string{"A"})
		if err != nil {
			t.Fatal(err)
		}
		ofText, err := m.JudgeText(prose, []string{"A"})
		if err != nil {
			t.Fatal(err)
		}
		if !proto.Equal(ofPage, ofText) || ofPage.KnownTokens != want.known {
			t.Errorf("%q: the page is judged %v, its text %v; %d known words are wanted", settings, ofPage, ofText, want.known)
		}
	}
}
