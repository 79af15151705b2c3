package pagerules

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"forager/internal/page/text"
	"forager/internal/platform/modelfile"
	"forager/schemas"
)

const example = `# what is looked for
Other: url matches ` + "`/(login|cart)\\b`" + ` or not language has "en"
Science/Chemistry: title has "chemistry", 'chemical'   # in the title,
  or (text has "molecule"
# or in the text

      and text has "covalent bond", "ionic bond")
Science: text matches '\bquantum (mechanics|field)' and not url has "shop"
Arts/Visual Arts: description has "painting"
`

// page makes a page of a text, one leaf.
func pageOf(url, title, s string) *schemas.Page {
	p := &schemas.Page{Url: url, Title: title, Language: "en"}
	for _, word := range text.Tokens(nil, s) {
		i := slices.Index(p.Terms, word)
		if i < 0 {
			i = len(p.Terms)
			p.Terms = append(p.Terms, word)
		}
		p.Tokens = append(p.Tokens, uint32(i))
	}
	return p
}

func parse(t testing.TB, source string) *Rules {
	t.Helper()
	r, err := Parse("x.rules", source)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestJudge(t *testing.T) {
	r := parse(t, example)
	if diff := cmp.Diff([]string{"Arts/Visual Arts", "Other", "Science/Chemistry", "Science/Other"}, r.Classes()); diff != "" {
		t.Fatal(diff)
	}
	for _, c := range []struct {
		page *schemas.Page
		want string
		line int
	}{
		{pageOf("http://h/x", "Organic Chemistry, an introduction", ""), "Science/Chemistry", 3},
		{pageOf("http://h/x", "CHEMICAL bonds", "quantum mechanics"), "Science/Chemistry", 3},
		{pageOf("http://h/login", "Chemistry", ""), "Other", 2},
		{pageOf("http://h/logins", "Chemistry", ""), "Science/Chemistry", 3},
		{&schemas.Page{Url: "http://h/x", Title: "Chemistry", Language: "de"}, "Other", 2},
		{pageOf("http://h/x", "Biochemistry", ""), "Other", 0},
		{pageOf("http://h/x", "", "A molecule has an ionic, strong bond"), "Other", 0},
		{pageOf("http://h/x", "", "A molecule has an ionic (bond)"), "Science/Chemistry", 3},
		{pageOf("http://h/x", "", "An ionic bond"), "Other", 0},
		{pageOf("http://h/x", "", "Some Quantum field"), "Science/Other", 8},
		{pageOf("http://h/x", "", "some biquantum field"), "Other", 0},
		{pageOf("http://h/x-shop.html", "", "Some Quantum field"), "Other", 0},
		{pageOf("http://h/xshop.html", "", "Some Quantum field"), "Science/Other", 8},
		{&schemas.Page{Url: "http://h/x", Description: "Painting by numbers", Language: "en"}, "Arts/Visual Arts", 9},
		{&schemas.Page{Url: "http://h/x", Language: "en"}, "Other", 0},
	} {
		class, line, err := r.Judge(c.page)
		if err != nil || r.Classes()[class] != c.want || line != c.line {
			t.Errorf("%v: %s by line %d, %v; want %s by line %d", c.page, r.Classes()[class], line, err, c.want, c.line)
		}
	}
	if _, _, err := r.Judge(&schemas.Page{Url: "http://bad/", Terms: []string{"a"}, Tokens: []uint32{1}}); err == nil || !strings.Contains(err.Error(), "http://bad/") {
		t.Errorf("a page that contradicts itself: %v", err)
	}
}

// TestWordsAreThoseThatOccur: a term without a token is not on the page.
func TestWordsAreThoseThatOccur(t *testing.T) {
	r := parse(t, `A: text has "never"`)
	p := &schemas.Page{Terms: []string{"a", "never"}, Tokens: []uint32{0, 0}}
	if class, _, err := r.Judge(p); err != nil || r.Classes()[class] != "Other" {
		t.Errorf("class %s, %v", r.Classes()[class], err)
	}
}

func TestReadsURLs(t *testing.T) {
	for source, want := range map[string]bool{
		`A: title has "x" and text matches "y"`:    false,
		`A: title has "url"`:                       false,
		`A: title has "x" or not url has "shop"`:   true,
		"B: title has \"x\"\nA: url matches `/x/`": true,
	} {
		if got := parse(t, source).ReadsURLs(); got != want {
			t.Errorf("%s: %v", source, got)
		}
	}
}

func TestOnlyOtherIsNamed(t *testing.T) {
	r := parse(t, "Other: title has \"x\"\nA/Other: title has \"y\"")
	if diff := cmp.Diff([]string{"A", "Other"}, r.Classes()); diff != "" {
		t.Error(diff)
	}
}

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct {
		source   string
		expected []string
	}{
		{"", []string{"x.rules has no rule"}},
		{"# nothing\n\n", []string{"x.rules has no rule"}},
		{"\n  title has 'x'", []string{`x.rules:2: rule "title has 'x'": goes on with a rule, and there is none above`}},
		{"Science", []string{`x.rules:1: rule "Science": there is no ": "`}},
		{"A:", []string{`x.rules:1: rule "A": has no condition`}},
		{": title has 'x'", []string{`x.rules:1: rule "": topic "" is empty`}},
		{"A//B: title has 'x'", []string{`rule "A//B": topic "A//B"`}},
		{"A/Other/B: title has 'x'", []string{"nothing may lie below"}},
		{"A: title", []string{`the end of the rule behind title, where "has" or "matches" is wanted`}},
		{"A: titel has 'x'", []string{`"titel" where one of title, description, url, text, language, "not" or "("`}},
		{"A: 'title' has 'x'", []string{`"title" where one of`}},
		{"A: title contains 'x'", []string{`"contains" behind title, where "has" or "matches"`}},
		{"A: title has x", []string{`"x" where a string in quotes is wanted`}},
		{"A: title has 'x',", []string{"the end of the rule where a string"}},
		{"A: title has 'x' title has 'y'", []string{`"title" where "and", "or" or the end of the rule is wanted`}},
		{"A: title has 'x' and", []string{"the end of the rule where one of"}},
		{"A: (title has 'x'", []string{`the end of the rule where ")" is wanted`}},
		{"A: title has 'x')", []string{`")" where "and"`}},
		{"A: title has \"it's", []string{`a string begins with " and does not end in its line`}},
		{"A: title has '—'", []string{`there is no word in "—"`}},
		{"A: url has '/'", []string{`there is no word in "/"`}},
		{"A: text has 'x'\n  or title matches 'a(b'", []string{`x.rules:2: rule "A": regular expression`, "missing closing ): `a(b`"}},
		{"A: text has 'x'\nB: title matches '(?=x)'", []string{`x.rules:2: rule "B"`, "invalid or unsupported Perl syntax"}},
		{`A: title matches '(x)\1'`, []string{"invalid escape sequence"}},
		{"A: " + strings.Repeat("title matches '(x{10}){90}y?' or ", 200) + "url has 'x'", []string{"all expressions together are too large"}},
		{"A: " + strings.Repeat("(", 101) + "title has 'x'", []string{"nested deeper than 100"}},
		{"A: " + strings.Repeat("not ", 101) + "title has 'x'", []string{"nested deeper than 100"}},
		{"A: title has '\xff'", []string{"not text in UTF-8"}},
		{"A: x\nB: x\n" + strings.Repeat("C: x\n", 30), []string{`x.rules:1: rule "A"`, `x.rules:2: rule "B"`, `x.rules:20: rule "C"`, "and 12 more"}},
		{strings.Repeat("#", 1<<20+1), []string{"has 1048577 bytes"}},
	} {
		_, err := Parse("x.rules", c.source)
		if err == nil {
			t.Errorf("%.100q: taken", c.source)
			continue
		}
		for _, s := range c.expected {
			if !strings.Contains(err.Error(), s) {
				t.Errorf("%.100q: %v does not contain %q", c.source, err, s)
			}
		}
	}
}

func TestFileOfRules(t *testing.T) {
	r := parse(t, example)
	b := r.Marshal()
	again, err := Unmarshal(b)
	if err != nil || string(again.Marshal()) != string(b) || again.Source() != example || again.name != "x.rules" || again.Len() != 4 {
		t.Errorf("%v, %v", again, err)
	}
	if _, err := Unmarshal(b[:len(b)-1]); !errors.Is(err, modelfile.ErrDamaged) {
		t.Errorf("cut: %v", err)
	}
	if _, err := Unmarshal(modelfile.Seal(FileKind, 2, nil)); !errors.Is(err, modelfile.ErrNewer) {
		t.Errorf("newer: %v", err)
	}
	var e modelfile.Encoder
	e.String("y.rules")
	e.String("A: x")
	if _, err := Unmarshal(modelfile.Seal(FileKind, 1, e.Bytes())); err == nil || !strings.Contains(err.Error(), "y.rules:1") {
		t.Errorf("a rule that does not compile: %v", err)
	}
}

// node is a condition made by a test: its text, and an independent evaluation.
type node struct {
	text  string
	holds func(p *schemas.Page) bool
}

var vocabulary = []string{"a", "b", "ab", "ba", "c"}

func drawNode(t *rapid.T, depth int) node {
	kind := rapid.IntRange(0, 5).Draw(t, "kind")
	if depth == 0 {
		kind = rapid.IntRange(0, 2).Draw(t, "test")
	}
	words := rapid.SliceOfN(rapid.SampledFrom(vocabulary), 1, 3).Draw(t, "words")
	switch kind {
	case 0, 1: // has
		field := rapid.SampledFrom([]string{"title", "text", "url"}).Draw(t, "field")
		return node{fmt.Sprintf("%s has %q", field, strings.Join(words, " ")), func(p *schemas.Page) bool {
			have := tokensOf(p)
			switch field {
			case "title":
				have = strings.Fields(p.Title)
			case "url":
				have = strings.Split(strings.NewReplacer("http://", "", ".", "/").Replace(p.Url), "/")
			}
			for i := range have {
				if len(have[i:]) >= len(words) && slices.Equal(have[i:i+len(words)], words) {
					return true
				}
			}
			return false
		}}
	case 2: // matches
		x := strings.Join(words, ".") + rapid.SampledFrom([]string{"", "$", "+"}).Draw(t, "tail")
		return node{fmt.Sprintf("text matches '^%s', `%s$`", x, x), func(p *schemas.Page) bool {
			return regexp.MustCompile("^" + x + "|" + x + "$").MatchString(strings.Join(tokensOf(p), " "))
		}}
	case 3:
		n := drawNode(t, depth-1)
		return node{"not (" + n.text + ")", func(p *schemas.Page) bool { return !n.holds(p) }}
	}
	a, b := drawNode(t, depth-1), drawNode(t, depth-1)
	if kind == 4 {
		return node{"(" + a.text + "\n  and\t" + b.text + ")", func(p *schemas.Page) bool { return a.holds(p) && b.holds(p) }}
	}
	return node{"( " + a.text + " or " + b.text + " )", func(p *schemas.Page) bool { return a.holds(p) || b.holds(p) }}
}

func tokensOf(p *schemas.Page) (words []string) {
	for _, t := range p.Tokens {
		words = append(words, p.Terms[t])
	}
	return words
}

// TestConditionsAgainstNaive compares with conditions that were never text.
func TestConditionsAgainstNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first, second := drawNode(t, 3), drawNode(t, 2)
		r, err := Parse("x.rules", "B: "+first.text+"\nA: "+second.text)
		if err != nil {
			t.Fatal(err)
		}
		words := rapid.SliceOfN(rapid.SampledFrom(vocabulary), 0, 8)
		for range 5 {
			url := "http://" + strings.Join(append(words.Draw(t, "url"), "h"), "/")
			p := pageOf(url, strings.Join(words.Draw(t, "title"), " "), strings.Join(words.Draw(t, "text"), " "))
			want := "Other"
			if first.holds(p) {
				want = "B"
			} else if second.holds(p) {
				want = "A"
			}
			class, _, err := r.Judge(p)
			if err != nil || r.Classes()[class] != want {
				t.Fatalf("%s\n%v: %s, %v, want %s", r.Source(), p, r.Classes()[class], err, want)
			}
		}
	})
}

// TestPrecedence: and binds more than or, not more than either.
func TestPrecedence(t *testing.T) {
	r := parse(t, `A: text has "a" or text has "b" and not text has "c" and text has "d"`)
	for words, want := range map[string]string{"a": "A", "a c": "A", "b": "Other", "b d": "A", "b c d": "Other", "d": "Other"} {
		if class, _, err := r.Judge(pageOf("http://h/", "", words)); err != nil || r.Classes()[class] != want {
			t.Errorf("%q: %s, %v", words, r.Classes()[class], err)
		}
	}
}

func FuzzRules(f *testing.F) {
	f.Add(example, "http://h/login", "Chemistry", "a molecule with an ionic bond")
	f.Add("A: not not ((title matches `(?i)[^x]{0,3}`))\r\n\t or url has 'é', \"b\" # c", "http://é/b", "", "\xff x")
	f.Add("Other/: text has 'a b c'", "", "", "a b b c a b c")
	f.Fuzz(func(t *testing.T, source, url, title, body string) {
		r, err := Parse("f", source)
		if err != nil {
			return
		}
		again, err := Unmarshal(r.Marshal())
		if err != nil {
			t.Fatalf("the file of %q does not come back: %v", source, err)
		}
		p := pageOf(url, title, body)
		class, line, err := r.Judge(p)
		other, _, _ := again.Judge(p)
		if err != nil || class != other || line > 1+strings.Count(source, "\n") {
			t.Errorf("%q: class %d by line %d, %v; from its file %d", source, class, line, err, other)
		}
	})
}

// BenchmarkJudge judges pages of 2,000 words by 200 rules of ten words, five phrases and an expression each, all
// of them false, and prints how much slower that is than reading each byte of their text once.
func BenchmarkJudge(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	word := func() string { return fmt.Sprintf("w%x", r.IntN(60_000)) }
	var source strings.Builder
	for i := range 200 {
		fmt.Fprintf(&source, "T%d: url has 'never' and title has 'x'", i)
		for range 10 {
			fmt.Fprintf(&source, " or text has '%s' and title has 'never'", word())
		}
		for range 5 {
			fmt.Fprintf(&source, " or text has '%s %s'", word(), word())
		}
		if i%20 == 0 {
			fmt.Fprintf(&source, ` or text matches '\b%s of (the )?%s'`, word(), word())
		}
		source.WriteByte('\n')
	}
	rules := parse(b, source.String())
	var body strings.Builder
	for range 2000 {
		body.WriteString(word() + " ")
	}
	p, s := pageOf("http://h/", "a title", body.String()), body.String()
	b.SetBytes(int64(len(s)))
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := rules.Judge(p); err != nil {
			b.Fatal(err)
		}
	}
	judged := b.Elapsed()
	var sink byte
	begun := time.Now()
	for range b.N {
		for j := range len(s) {
			sink ^= s[j]
		}
	}
	b.ReportMetric(float64(judged)/float64(max(time.Since(begun), 1)), "×floor")
	if sink == 1 {
		b.Log("the floor was looked at")
	}
}
