package linktext

import (
	"maps"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"forager/internal/page/dom"
	"forager/internal/page/text"
	"forager/schemas"
)

func parse(t testing.TB, body string) *schemas.Page {
	t.Helper()
	p, err := dom.Parse([]byte(body), "text/html; charset=utf-8", "http://h.test/", dom.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// words of a text with their counts.
func words(s string) map[string]uint32 {
	counts := make(map[string]uint32)
	for w := range strings.FieldsSeq(s) {
		counts[w]++
	}
	return counts
}

// TestPartsOfAPage is Fig. 3 of 2002 with a title.
func TestPartsOfAPage(t *testing.T) {
	p := parse(t, `<title>T U T</title><ul><li><tt>A</tt></li><li>B</li><li><a href=v>C<font>D</font></a>E<em>F</em></li><li>G <a href=w><img src=i></a></li></ul>`)
	page, err := Open(p, text.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	v, w := p.Links[0], p.Links[1]
	for name, c := range map[string]struct {
		read func(counts map[string]uint32)
		want string
	}{
		"page":           {page.Page, "t u t a b c d e f g"},
		"title":          {page.Title, "t u t"},
		"anchor":         {func(c map[string]uint32) { page.Anchor(v, c) }, "c d"},
		"image":          {func(c map[string]uint32) { page.Anchor(w, c) }, ""},
		"nothing around": {func(c map[string]uint32) { page.Around(v, 0, c) }, ""},
		"one around":     {func(c map[string]uint32) { page.Around(v, 1, c) }, "b e"},
		"two around":     {func(c map[string]uint32) { page.Around(v, 2, c) }, "a b e f"},
		"much around":    {func(c map[string]uint32) { page.Around(w, 99, c) }, "t u t a b c d e f g"},
		"no such leaves": {func(c map[string]uint32) { page.Anchor(&schemas.Link{FirstLeaf: 99, LastLeaf: 100}, c) }, ""},
	} {
		got := make(map[string]uint32)
		if c.read(got); !maps.Equal(got, words(c.want)) {
			t.Errorf("%s: %v, want %q", name, got, c.want)
		}
	}
}

// TestLanguageOfTheWhole: an anchor of one word has the stems and stop words of its page.
func TestLanguageOfTheWhole(t *testing.T) {
	p := parse(t, "<p>The dogs were running with the others and it was not the first of their houses, which they had.<a href=v>the dogs running</a>")
	page, err := Open(p, text.Settings{StopWords: true, Stem: true})
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]uint32)
	if page.Anchor(p.Links[0], got); !maps.Equal(got, words("dog run")) {
		t.Errorf("%v", got)
	}
}

// TestEveryTokenOnce: anchor and all around it are the page, wherever the link is.
func TestEveryTokenOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := &schemas.Page{Terms: []string{"a", "b", "世", "界", "c"}, Language: "en"}
		for range rapid.IntRange(0, 8).Draw(t, "leaves") {
			n := rapid.IntRange(0, 4).Draw(t, "tokens")
			for range n {
				p.Tokens = append(p.Tokens, rapid.Uint32Range(0, 4).Draw(t, "token"))
			}
			p.LeafLengths = append(p.LeafLengths, uint32(n))
		}
		l := &schemas.Link{FirstLeaf: rapid.Uint32Range(0, 9).Draw(t, "first")}
		l.LastLeaf = l.FirstLeaf + rapid.Uint32Range(0, 9).Draw(t, "more")
		page, err := Open(p, text.Settings{})
		if err != nil {
			t.Fatal(err)
		}
		whole, parts := make(map[string]uint32), make(map[string]uint32)
		page.Page(whole)
		page.Anchor(l, parts)
		page.Around(l, 100, parts)
		if !maps.Equal(whole, parts) {
			t.Errorf("%v, in parts %v", whole, parts)
		}
	})
}

func TestOpenRefuses(t *testing.T) {
	for name, p := range map[string]*schemas.Page{
		"a token of no term":    {Terms: []string{"a"}, Tokens: []uint32{1}, LeafLengths: []uint32{1}},
		"a leaf with no tokens": {Terms: []string{"a"}, Tokens: []uint32{0}, LeafLengths: []uint32{1, 1}},
	} {
		if _, err := Open(p, text.Settings{}); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}
