package text

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/words"
	"pgregory.net/rapid"
)

// plain is the definition of a token, with the library over the whole text.
func plain(s string) []string {
	var tokens []string
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), narrowSpace, " ")
	for it := words.FromString(s); it.Next(); {
		token := strings.Map(unicode.ToLower, strings.TrimLeftFunc(it.Value(), func(r rune) bool { return !begins(r) }))
		for len(token) > MaxToken {
			_, w := utf8.DecodeLastRuneInString(token)
			token = token[:len(token)-w]
		}
		if strings.ContainsFunc(token, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
			tokens = append(tokens, token)
		}
	}
	return tokens
}

func TestTokens(t *testing.T) {
	for _, c := range []struct{ text, tokens string }{
		{"", ""},
		{" \t\r\n -- !? __ ", ""},
		{"Focused Crawling", "focused|crawling"},
		{"Can't stop; won't stop.", "can't|stop|won't|stop"},
		{"'quoted' O'Neil's", "quoted|o'neil's"},
		{"3.14 1,000,000 10:30 a:b 1;2 a,b", "3.14|1,000,000|10|30|a:b|1;2|a|b"},
		{"e.g. www.example.com v1.2b 1.x", "e.g|www.example.com|v1.2b|1|x"},
		{"snake_case _x_ x__1 foo-bar", "snake_case|_x_|x__1|foo|bar"},
		{"C++ C# .NET", "c|c|net"},
		{"CAFÉ naïve Ünï.Cödé", "café|naïve|ünï.cödé"},
		{"cafe\u0301 a.\u0301b -\u0301c", "cafe\u0301|a.\u0301b|c"},
		{"世界 и мир", "世|界|и|мир"},
		{"カタカナ ひら", "カタカナ|ひ|ら"},
		{"שלום צה\"ל", "שלום|צה\"ל"},
		{"\u0130 \u212A \u1E9E", "i|k|ß"},
		{"١٢٣ Ⅷ ½", "١٢٣"},
		{"👍🏽 🇫🇷 ok", "ok"},
		{"broken \xff\xfe byte\xe4 tail\xe4", "broken|byte|tail"},
		{"a\x00b", "a|b"},
		{"Ça\u202F! 10\u202F000", "ça|10|000"},
		{"y\x00\uFF9E \uFF9E\u00A0\uFF9E-\uFF9E", "y|\uFF9E|\uFF9E|\uFF9E|\uFF9E"},
		{strings.Repeat("x", 100), strings.Repeat("x", MaxToken)},
		{strings.Repeat("é", 100), strings.Repeat("é", MaxToken/2)},
		{"x" + strings.Repeat("é", 100), "x" + strings.Repeat("é", MaxToken/2-1)},
		{strings.Repeat("_", MaxToken) + "a", ""},
		{strings.Repeat("_", MaxToken-1) + "A", strings.Repeat("_", MaxToken-1) + "a"},
	} {
		if got := strings.Join(Tokens(nil, c.text), "|"); got != c.tokens {
			t.Errorf("%q gives %q, want %q", c.text, got, c.tokens)
		}
	}
}

func TestTokensAppends(t *testing.T) {
	if got := Tokens([]string{"a"}, "b"); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("got %q", got)
	}
}

// TestShortTexts compares with the library on every text of up to 5 characters of an alphabet with one character
// for every behaviour, at the end of a text and not: within ASCII, eight bytes are read together where there are
// as many.
func TestShortTexts(t *testing.T) {
	alphabet := []string{"a", "B", "1", "_", ":", ",", ".", "'", "\"", "-", " ", "\n", "é", "\u0301", "\u05D0", "\u30A2", "\u200D", "\uFF9E", "\u202F", "世", "ひ", "。", "ก", "\u0E31"}
	var walk func(prefix string, left int)
	walk = func(prefix string, left int) {
		want := plain(prefix)
		for _, text := range []string{prefix, prefix + "        "} {
			if got := Tokens(nil, text); !slices.Equal(got, want) {
				t.Fatalf("%q gives %q, the library %q", text, got, want)
			}
		}
		if left > 0 {
			for _, c := range alphabet {
				walk(prefix+c, left-1)
			}
		}
	}
	walk("", 4)
	for _, c := range []string{"a", "1", "_", ".", "\u05D0"} { // where context matters most
		for _, d := range []string{":", ",", ".", "'", "\""} {
			walk(c+d, 3)
		}
	}
}

// TestInWords tests every byte at every position among others.
func TestInWords(t *testing.T) {
	for _, neighbour := range []byte{0, ' ', 'A', 'z', '_', 0x7F, 0x80, 0xFF} {
		for b := range 256 {
			for at := range stride {
				text := bytes.Repeat([]byte{neighbour}, stride)
				text[at] = byte(b)
				low, in := inWords(eight(string(text)))
				for i, c := range text {
					want := class[c] >= underscore && class[c] != beyond
					if got := in>>(8*i)&0xFF == 0x80; got != want || !got && in>>(8*i)&0xFF != 0 {
						t.Fatalf("%q: byte %d is in a word: %v, want %v", text, i, got, want)
					}
					if got := byte(low >> (8 * i)); want && got != lower[c] {
						t.Fatalf("%q: byte %d in lower case is %q, want %q", text, i, got, lower[c])
					}
				}
			}
		}
	}
}

func TestRandomTexts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.OneOf(
			rapid.String(),
			rapid.StringMatching(`[ -~\n]{0,80}`),
			rapid.StringMatching(`[a-zA-Z0-9_.,:;' ]{0,80}`),
			rapid.StringMatching(`[\x{4DFE}-\x{4E02}\x{9FFE}-\x{A001}\x{3040}-\x{3042}\x{3095}-\x{309A}\x{3000}-\x{3002}\x{0301}\x{200D}\x{FE00}a1 世界]{0,40}`),
			rapid.StringMatching(`[\x{0E00}-\x{0E5F}\x{2FFE}-\x{3012}\x{3096}-\x{3100}\x{31F0}\x{FF65}-\x{FF9F}\x{0301}\x{200D}_a1 世]{0,60}`),
			rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
		)
		s := strings.Join(rapid.SliceOfN(part, 1, 4).Draw(t, "parts"), rapid.SampledFrom([]string{"", " ", "."}).Draw(t, "between"))
		check(t, s)
	})
}

func check(t interface{ Fatalf(string, ...any) }, s string) {
	got := Tokens(nil, s)
	if want := plain(s); !slices.Equal(got, want) {
		t.Fatalf("%q gives %q, the library %q", s, got, want)
	}
	for _, token := range got {
		if len(token) > MaxToken || !utf8.ValidString(token) || strings.ContainsFunc(token, unicode.IsSpace) {
			t.Fatalf("%q gives the token %q", s, token)
		}
	}
}

func FuzzTokens(f *testing.F) {
	for _, s := range []string{"", "Can't stop", "a.\u0301b", "3.14 1,000", "צה\"ל", "\xff\xe4", "🇫🇷🇫", strings.Repeat("_", 70) + "a"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) { check(t, s) })
}

// TestScannerAllocatesNothing: once its buffers are allocated.
func TestScannerAllocatesNothing(t *testing.T) {
	var z Scanner
	s := strings.Repeat("Focused crawling, naïve Bayes and 1,000 links. ", 20)
	count := func() {
		for z.Reset(s); z.Next(); {
		}
	}
	count()
	if n := testing.AllocsPerRun(10, count); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkTokens measures the tokens, compared with the library's bare segmentation; "of-library" is the time of
// tokens as a share of it.
func BenchmarkTokens(b *testing.B) {
	s := strings.Repeat("The quick brown fox can't jump 32.3 feet, right? See www.example.com (again). ", 100)
	b.SetBytes(int64(len(s)))
	b.ReportAllocs()
	var z Scanner
	var tokens, library time.Duration
	for b.Loop() {
		start := time.Now()
		for z.Reset(s); z.Next(); {
		}
		middle := time.Now()
		for it := words.FromString(s); it.Next(); {
		}
		tokens += middle.Sub(start)
		library += time.Since(middle)
	}
	b.ReportMetric(tokens.Seconds()/library.Seconds(), "of-library")
}
