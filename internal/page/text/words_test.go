package text

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// wordsOf returns the words of a text, sorted, with repetitions.
func wordsOf(t interface{ Fatalf(string, ...any) }, settings, s, hint string) []string {
	w := reader(t, settings)
	w.Text(s, hint)
	return all(w)
}

func reader(t interface{ Fatalf(string, ...any) }, settings string) *Words {
	parsed, err := ParseSettings(settings)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return NewWords(parsed)
}

func all(w *Words) []string {
	var found []string
	for w.Next() {
		for range w.Count() {
			found = append(found, string(w.Word()))
		}
	}
	slices.Sort(found)
	return found
}

// surface cuts a text as a parsed page is cut.
func surface(s string, leaves int) *Surface {
	p := new(Surface)
	index := make(map[string]uint32)
	var z Scanner
	for len(s) > 0 {
		n := max(1, len(s)/leaves)
		for z.Reset(s[:n]); z.Next(); {
			i, ok := index[string(z.Token())]
			if !ok {
				i = uint32(len(p.Terms))
				index[string(z.Token())] = i
				p.Terms = append(p.Terms, string(z.Token()))
			}
			p.Shapes = AppendShape(p.Shapes, len(p.Tokens), z.Shape())
			p.Tokens = append(p.Tokens, i)
		}
		s = s[n:]
	}
	return p
}

func TestWords(t *testing.T) {
	const german = "Die Häuser der Stadt sind nicht so alt wie die Häuser auf dem Land. "
	for _, c := range []struct{ settings, text, words string }{
		{"", "The Cat, the cat: 1984", "1984 cat cat the the"},
		{"case=kept", "The cat, the CAT, NASA's eBay É É́a x XX", "^the ^^xx ^é ^é́a ^^cat ^^nasa's cat the x ~ebay"},
		{"numbers=shaped", "1984 3.14 1,000,000 v1.2 ١٢٣ a1 1a 1984th", "0,000,000 0.00 000 0000 1984th 1a a1 v1.2"},
		{"numbers=dropped", "1984 3.14 1,000,000 v1.2 ١٢٣ a1", "a1 v1.2"},
		{"", "世界地图 and 图", "and 世 界 地 图 图"},
		{"bigrams", "世界地图 and 图, 世, 界", "and 世 世界 地图 界 界地 图"},
		{"bigrams", "世a界 食べる。カタカナを", "a べる を カタカナ 世 界 食べ"},
		{"bigrams", "한국어 말 월", "국어 말 월 한국"},
		{"bigrams", "ก็ ดี", "ก็ ดี"},
		{"stop", "the house and the garden are not in this city because it is far", "city far garden house"},
		{"stop", german, "alt häuser häuser land stadt"},
		{"stem", german, "alt auf dem der die die haus haus land nicht sind so stadt wie"},
		{"stop language=en", german, "alt auf dem der die die häuser häuser land nicht sind stadt wie"},
		{"stop stem language=en", "relevance and relevant crawlers don’t crawl", "crawl crawler relev relev"},
		{"stop language=fr", "l'eau qu'il aujourd'hui", "aujourd'hui eau"},
		{"stop language=fr", "L’eau", "eau"},
	} {
		want := strings.Fields(c.words)
		slices.Sort(want)
		if got := wordsOf(t, c.settings, c.text, ""); !slices.Equal(got, want) {
			t.Errorf("%s: %q gives %q, want %q", c.settings, c.text, got, want)
		}
	}
}

// TestSurfaceHasTheWordsOfItsText: training reads texts, scoring reads pages.
func TestSurfaceHasTheWordsOfItsText(t *testing.T) {
	every := rapid.SampledFrom([]string{"The", "the", "NASA", "house", "die", "der", "Häuser", "l'eau", "1984", "3.14", "世", "界", "地", "ひ", "ら", "カタ", "한국어", "말", "ก็", "\u0301", "’", "'"})
	between := rapid.SampledFrom([]string{"", "", " ", ". ", "-"})
	used := NewWords(Settings{Stem: true, Language: "en"})
	rapid.Check(t, func(t *rapid.T) {
		var s strings.Builder
		for range rapid.IntRange(0, 30).Draw(t, "length") {
			s.WriteString(every.Draw(t, "word") + between.Draw(t, "between"))
		}
		settings := Settings{
			Bigrams: rapid.Bool().Draw(t, "bigrams"), StopWords: rapid.Bool().Draw(t, "stop"), Stem: rapid.Bool().Draw(t, "stem"),
			Language: rapid.SampledFrom([]string{"", "de", "fr"}).Draw(t, "language"),
			Numbers:  Numbers(rapid.IntRange(0, 2).Draw(t, "numbers")), Case: Case(rapid.IntRange(0, 1).Draw(t, "case")),
		}
		hint := rapid.SampledFrom([]string{"", "de", "en-GB", "xx"}).Draw(t, "hint")
		w := NewWords(settings)
		w.Text(s.String(), hint)
		want := all(w)
		p := surface(s.String(), 1)
		p.Language = hint
		used.Set(settings)
		for _, w := range []*Words{w, w, used} { // a reader is used again
			if err := w.Surface(p); err != nil {
				t.Fatal(err)
			}
			if got := all(w); !slices.Equal(got, want) {
				t.Fatalf("%v: the page %q gives %q, its text %q", settings, s.String(), got, want)
			}
		}
	})
}

func TestSurfaceContradictsItself(t *testing.T) {
	err := NewWords(Settings{}).Surface(&Surface{Terms: []string{"a"}, Tokens: []uint32{0, 1}})
	if err == nil || !strings.Contains(err.Error(), "term 1") {
		t.Error(err)
	}
}

func TestShapes(t *testing.T) {
	var shapes []byte
	want := []Shape{Mixed, Lower, Capitals, Capital, Capital, Lower, Mixed}
	for i, s := range want {
		shapes = AppendShape(shapes, i, s)
	}
	for i := range 12 {
		if got := ShapeAt(shapes, i); i < len(want) && got != want[i] || i >= len(want) && got != Lower {
			t.Errorf("token %d has shape %d", i, got)
		}
	}
}

func TestSettings(t *testing.T) {
	for _, s := range []string{"", "bigrams stop stem language=de numbers=shaped case=kept", "numbers=dropped", "stem"} {
		parsed, err := ParseSettings(s)
		if err != nil {
			t.Fatal(err)
		}
		if want := strings.TrimSpace(scheme + " " + s); parsed.String() != want {
			t.Errorf("%q became %q", want, parsed)
		}
		again, err := ParseSettings(parsed.String())
		if err != nil || again != parsed {
			t.Errorf("%q came back as %q, %v", parsed, again, err)
		}
	}
	for s, want := range map[string]string{
		"uax29/2 stop": "uax29/2", "stopwords": "stop, stem", "language=xx": "de", "numbers=": "kept, shaped", "case=lower": "folded", "stop=1": "no setting",
	} {
		if _, err := ParseSettings(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", s, err)
		}
	}
}

// detect returns the language of a text by its first tokens: the code of one of Languages, or empty if it is none
// of these or the evidence is too weak. The hint is the declared language of the text (<html lang>), a language
// tag; empty = none.
func detect(s, hint string) string {
	var e evidence
	e.reset()
	var z Scanner
	for z.Reset(s); z.Next() && e.add(z.Token()); {
	}
	if i := e.language(hint); i >= 0 {
		return e.codes[i]
	}
	return ""
}

func TestDetect(t *testing.T) {
	const (
		en = "The quick brown fox jumps over the lazy dog, and it is not the only one that does so."
		de = "Der schnelle braune Fuchs springt über den faulen Hund, und er ist nicht der einzige."
	)
	for _, c := range []struct{ text, hint, want string }{
		{"", "", ""},
		{"", "de-AT", "de"},
		{"", "nb-NO", "no"},
		{"zzz yyy xxx", "", ""},
		{"zzz yyy xxx", "EN", "en"},
		{en, "", "en"},
		{de, "", "de"},
		{de, "en", "de"}, // a template's mistake
		{en, "sk", ""},   // a language without a list: its words stay as they are
		{"Detta är inte den enda hunden som är här och det är inte heller den sista", "", "sv"},
		{"Ето защо това не е единственото куче, което е тук", "", "bg"},
		{"Вот почему это не единственная собака, которая была здесь", "", "ru"},
		{"这不是唯一的狗", "", ""},
	} {
		if got := detect(c.text, c.hint); got != c.want {
			t.Errorf("%q (declared as %q) is %q, want %q", c.text, c.hint, got, c.want)
		}
	}
}

// TestStopLists: a stop word that is not one token would never match.
func TestStopLists(t *testing.T) {
	if n := len(Languages()); n != 29 {
		t.Errorf("%d languages", n)
	}
	for word := range known().stop {
		if got := Tokens(nil, word); !slices.Equal(got, []string{word}) {
			t.Errorf("stop word %q has the tokens %q", word, got)
		}
	}
	for code := range maps.Keys(stemmers) {
		if !slices.Contains(Languages(), code) {
			t.Errorf("the stemmer of %q is never used: it has no stop list, by which it would be detected", code)
		}
	}
	for code := range letters {
		if !slices.Contains(Languages(), code) {
			t.Errorf("the letters of %q are never used", code)
		}
	}
}

func TestWordsAllocateNothing(t *testing.T) {
	s := strings.Repeat("The relevance of 1984 crawlers and the 世界地图 of the naïve house. ", 20)
	for _, settings := range []string{"", "bigrams", "bigrams stop stem numbers=shaped"} {
		w := reader(t, settings)
		p := surface(s, 1)
		for name, begin := range map[string]func(){
			"text":    func() { w.Text(s, "") },
			"surface": func() { _ = w.Surface(p) },
		} {
			read := func() {
				for begin(); w.Next(); {
				}
			}
			read()
			if n := testing.AllocsPerRun(10, read); n > 1 {
				t.Errorf("%s, %s: %v allocations", settings, name, n)
			}
		}
	}
}

func FuzzWords(f *testing.F) {
	f.Add("The 世界地图 1984 l’eau 한국어", "bigrams stop stem numbers=shaped case=kept")
	f.Fuzz(func(t *testing.T, s, settings string) {
		parsed, err := ParseSettings(settings)
		if err != nil {
			return
		}
		w := NewWords(parsed)
		w.Text(s, "")
		want := all(w)
		if err := w.Surface(surface(s, 1)); err != nil {
			t.Fatal(err)
		}
		if got := all(w); !slices.Equal(got, want) {
			t.Fatalf("%v: the page %q gives %q, its text %q", parsed, s, got, want)
		}
		for _, word := range want {
			if word == "" {
				t.Fatalf("%v: %q gives an empty word", parsed, s)
			}
		}
	})
}

// TestWritten writes the tokens of a text by their shapes, and cuts them once more: the same tokens of the same
// shapes, except those of mixed case, whose case is lost.
func TestWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cut := func(s string) (tokens []string, shapes []Shape) {
			var z Scanner
			for z.Reset(s); z.Next(); {
				tokens, shapes = append(tokens, string(z.Token())), append(shapes, z.Shape())
			}
			return tokens, shapes
		}
		tokens, shapes := cut(rapid.StringMatching(`[a-cA-C0-2éÉ'世界ひก ]{0,40}`).Draw(t, "text"))
		var again strings.Builder
		for i, token := range tokens {
			word, joined := Written(token, shapes[i])
			if !joined {
				again.WriteByte(' ')
			}
			again.WriteString(word)
			if shapes[i] == Mixed {
				shapes[i] = Lower
			}
		}
		gotTokens, gotShapes := cut(again.String())
		if !slices.Equal(tokens, gotTokens) || !slices.Equal(shapes, gotShapes) {
			t.Fatalf("%q: %q %v, at first %q %v", again.String(), gotTokens, gotShapes, tokens, shapes)
		}
	})
}
