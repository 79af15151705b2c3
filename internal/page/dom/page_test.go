package dom

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"forager/internal/page/text"
	"forager/schemas"
)

func TestPageMetadata(t *testing.T) {
	for _, c := range []struct {
		name, body string
		want       *schemas.Page
	}{
		{"title", "<title> A &amp;\n B </title><title>C</title>", &schemas.Page{Title: "A & B"}},
		{"title of a drawing", "<svg><title>A</title></svg><title>B</title>", &schemas.Page{Title: "B"}},
		{"empty title first", "<title></title><title>B</title>", &schemas.Page{}},
		{"description", "<meta name=Description content='  A\n B '><meta name=description content=C>", &schemas.Page{Description: "A B"}},
		{"description, empty first", "<meta name=description content=' '><meta name=description content=C>", &schemas.Page{Description: "C"}},
		{"language", "<html lang=en-GB>", &schemas.Page{Language: "en"}},
		{"language, other forms", "<html lang=' DE_at '>", &schemas.Page{Language: "de"}},
		{"language on a later tag", "<p>A<html lang=fr>", &schemas.Page{Language: "fr"}},
		{"language of a pragma", "<meta http-equiv=Content-Language content=' de-CH'>", &schemas.Page{Language: "de"}},
		{"language of <html> before that of a pragma", "<html lang=fr><meta http-equiv=content-language content=de>", &schemas.Page{Language: "fr"}},
		{"languages of a pragma", "<meta http-equiv=content-language content='de, en'>", &schemas.Page{}},
		{"language that is none", "<html lang='x-klingon'>", &schemas.Page{}},
		{"canonical", "<link rel='x CANONICAL' href=' /c?x#y '><link rel=canonical href=/d>", &schemas.Page{Canonical: "http://example.com/c?x"}},
		{"canonical from base", "<base href=http://other.example/><link rel=canonical href=c>", &schemas.Page{Canonical: "http://other.example/c"}},
		{"canonical that is none", "<link rel=canonical href=mailto:a@b>", &schemas.Page{}},
		{"robots", "<meta name=ROBOTS content='NoIndex, NoFollow'>", &schemas.Page{Noindex: true, Nofollow: true}},
		{"robots, in parts", "<meta name=robots content=noindex><meta name=robots content='max-snippet:5 nofollow'>", &schemas.Page{Noindex: true, Nofollow: true}},
		{"robots none", "<meta name=robots content=none>", &schemas.Page{Noindex: true, Nofollow: true}},
		{"robots all", "<meta name=robots content='index,follow'><meta name=googlebot content=none>", &schemas.Page{}},
		{"in a template", "<template><title>A</title><meta name=robots content=none><base href=/x/></template>", &schemas.Page{}},
	} {
		for _, deep := range []bool{false, true} {
			if deep && (c.name == "title of a drawing" || c.name == "language on a later tag") {
				continue // the tokenizer alone cannot know
			}
			body := c.body
			if deep {
				body += strings.Repeat("<div>", 600)
			}
			p := mustParse(t, body, Settings{})
			got := &schemas.Page{
				Title: p.Title, Description: p.Description, Language: p.Language, Canonical: p.Canonical,
				Noindex: p.Noindex, Nofollow: p.Nofollow,
			}
			if diff := cmp.Diff(c.want, got, protocmp.Transform()); diff != "" {
				t.Errorf("%s, deep %v (-want +got):\n%s", c.name, deep, diff)
			}
			if p.TokenizerOnly != deep || p.Url != here || p.Size != uint64(len(body)) {
				t.Errorf("%s: tokenizer only %v, URL %s, size %d", c.name, p.TokenizerOnly, p.Url, p.Size)
			}
		}
	}
}

func TestLinksThatAreNotToBeFollowed(t *testing.T) {
	p := mustParse(t, "<a href=1>A</a><a href=2 rel='x NoFollow'>A</a><a href=3 rel=ugc>A</a><a href=4 rel='sponsored,x'>A</a>"+
		"<area href=5 rel=sponsored><a href=mailto:x>A</a><a href=2>A</a><a href=7 rel=noopener>A</a>", Settings{})
	var got []string
	for _, l := range p.Links {
		got = append(got, fmt.Sprint(strings.TrimPrefix(l.Url, "http://example.com/dir/"), " ", l.Position, " ", l.Nofollow))
	}
	want := []string{"1 0 false", "2 1 true", "3 2 true", "4 3 false", "5 4 true", "7 6 false"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTextsAreCut(t *testing.T) {
	p := mustParse(t, "<title>"+strings.Repeat("ab é ", 1000)+"</title><meta name=description content='"+strings.Repeat("é", 5000)+"'>", Settings{})
	if n := len(p.Title); n < maxTitle-3 || n > maxTitle || strings.HasSuffix(p.Title, " ") {
		t.Errorf("title of %d bytes ends in %q", n, p.Title[n-3:])
	}
	if p.Description != strings.Repeat("é", maxDescription/2) {
		t.Errorf("description of %d bytes", len(p.Description))
	}
}

func TestCharsets(t *testing.T) {
	latin, utf := "caf\xe9", "café"
	for _, c := range []struct{ name, contentType, body, charset, word string }{
		{"header", "text/html; charset=ISO-8859-2", "\xb1", "iso-8859-2", "ą"},
		{"header in disorder", "text/html;; Charset = \"utf-8' ; x", utf, "utf-8", "café"},
		{"header without type", "charset=koi8-r", "\xcd", "koi8-r", "м"},
		{"header wins over meta", "text/html; charset=utf-8", "<meta charset=koi8-r>" + utf, "utf-8", "café"},
		{"mark wins over header", "text/html; charset=koi8-r", "\xef\xbb\xbf" + utf, "utf-8", "café"},
		{"latin 1 is windows-1252", "text/html; charset=latin1", "\x8c", "windows-1252", "œ"},
		{"unknown in header", "text/html; charset=klingon", "<meta charset=koi8-r>\xcd", "koi8-r", "м"},
		{"meta", "text/html", "<meta http-equiv=content-type content='text/html; charset=shift_jis'>\x83\x41", "shift_jis", "ア"},
		{"meta with UTF-16", "", "<meta charset=utf-16>" + utf, "utf-8", "café"},
		{"UTF-16 with mark", "", "\xff\xfea\x00\xe9\x00", "utf-16le", "aé"},
		{"UTF-16 in header", "text/html; charset=utf-16be", "\x00a\x00\xe9", "utf-16be", "aé"},
		{"shifting", "text/html; charset=iso-2022-jp", "\x1b$B%\"\x1b(B", "iso-2022-jp", "ア"},
		{"nothing, latin", "text/html", latin, "windows-1252", "café"},
		{"nothing, ASCII", "text/html", "cafe", "windows-1252", "cafe"},
		{"nothing, UTF-8", "text/html", utf, "utf-8", "café"},
		{"nothing, UTF-8 late", "text/html", strings.Repeat(" ", 2000) + utf, "utf-8", "café"},
		{"nothing, broken UTF-8", "text/html", utf + " \xff", "windows-1252", "cafã"},
		{"late meta", "text/html", strings.Repeat(" ", 2000) + "<meta charset=koi8-r>\xcd", "koi8-r", "м"},
		{"late meta against header", "text/html; charset=windows-1251", strings.Repeat(" ", 2000) + "<meta charset=koi8-r>\xcd", "windows-1251", "н"},
		{"late meta of nonsense", "text/html", strings.Repeat(" ", 2000) + "<meta charset=klingon>" + latin, "windows-1252", "café"},
		{"broken UTF-8", "text/html; charset=utf-8", "a\xffb", "utf-8", "a"},
		{"replacement", "text/html; charset=iso-2022-kr", "abc", "replacement", ""},
	} {
		p, err := Parse([]byte(c.body), c.contentType, here, Settings{})
		if err != nil {
			t.Fatal(err)
		}
		word := ""
		if len(p.Terms) > 0 {
			word = p.Terms[0]
		}
		if p.Charset != c.charset || word != c.word {
			t.Errorf("%s: %s, %q; want %s, %q", c.name, p.Charset, word, c.charset, c.word)
		}
	}
}

func TestBounds(t *testing.T) {
	body := "<a href=1>A B</a> C <p>D <a href=2>A</a><a href=3>E<b>F</b></a><a href=1>G</a>"
	for _, c := range []struct {
		settings Settings
		leaves   string
		links    int
	}{
		{Settings{}, "|a b|c|d|a|e|f|g", 3},
		{Settings{MaxLeaves: 8}, "|a b|c|d|a|e|f|g", 3},
		{Settings{MaxLeaves: 6}, "|a b|c|d|a|e", 3},
		{Settings{MaxLeaves: 5}, "|a b|c|d|a", 2},
		{Settings{MaxLeaves: 1}, "", 0},
		{Settings{MaxTokens: 4}, "|a b|c|d|", 2},
		{Settings{MaxTerms: 2}, "|a b|", 1},
		{Settings{MaxLinks: 2}, "|a b|c|d|a|e|f|g", 2},
		{Settings{MaxLinks: 3}, "|a b|c|d|a|e|f|g", 3},
	} {
		p := mustParse(t, body, c.settings)
		check(t, p)
		got, links := leaves(p)
		if got != c.leaves || len(links) != c.links {
			t.Errorf("%+v: %q and links %v, want %q and %d", c.settings, got, links, c.leaves, c.links)
		}
		if whole := c.leaves == "|a b|c|d|a|e|f|g" && c.links == 3; p.Cut == whole {
			t.Errorf("%+v: cut is %v", c.settings, p.Cut)
		}
	}
}

// TestRecordStaysSmall reads pages that reach every bound, with settings above the bounds.
func TestRecordStaysSmall(t *testing.T) {
	var words, links, cells strings.Builder
	for i := range 200_000 {
		fmt.Fprintf(&words, "%058d ", i)
		fmt.Fprintf(&cells, "<td>%d w%d x</td>", i%17_000, i%40_000)
	}
	for i := range 5_000 {
		fmt.Fprintf(&links, "<a href=/%d%s>A</a>", i, strings.Repeat("x", 4000))
	}
	greedy := Settings{MaxLeaves: 1 << 30, MaxTokens: 1 << 30, MaxTerms: 1 << 30, MaxLinks: 1 << 30}
	for name, body := range map[string]string{
		"words":      words.String(),
		"links":      links.String(),
		"cells":      cells.String(),
		"everything": links.String() + "<table>" + cells.String() + "</table>" + words.String(),
		"tags":       strings.Repeat("x<br>", 500_000),
		"text":       strings.Repeat("a b c ", 500_000),
	} {
		p := mustParse(t, body, greedy)
		check(t, p)
		if !p.Cut {
			t.Errorf("%s: %d leaves, %d tokens, %d terms, %d links, not cut", name, len(p.LeafLengths), len(p.Tokens), len(p.Terms), len(p.Links))
		}
		if size := proto.Size(p); size > 3500<<10 {
			t.Errorf("%s: %d bytes", name, size)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct {
		url  string
		mode schemas.LeafMode
		want string
	}{
		{"", 0, "page"},
		{"ftp://example.com/", 0, "ftp://example.com/"},
		{"/relative", 0, "/relative"},
		{here, 7, "leaf mode 7"},
	} {
		if _, err := Parse(nil, "", c.url, Settings{Leaves: c.mode}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q, mode %d: %v", c.url, c.mode, err)
		}
	}
}

// TestFlatReading tests the result for a page nested too deep.
func TestFlatReading(t *testing.T) {
	deep := strings.Repeat("<div>", 600)
	for _, c := range []struct {
		body, leaves string
		links        []string
	}{
		{"A<a href=v>B<b>C</b></a>D", "a|b|c|d", []string{"/dir/v 1-2"}},
		{"A<a href=v></a> <a href=w>B<a href=x>C", "a||b|c", []string{"/dir/v 1-1", "/dir/w 2-2", "/dir/x 3-3"}},
		{"<a href=v>A<area href=w>B</a>", "a||b", []string{"/dir/v 0-0", "/dir/w 1-1"}},
		{"<script>a</script><style>b</style><svg><svg>c</svg>d</svg><template>e</template>A<svg/>B", "||||a||b", nil},
		{"<title>A</title><textarea><b></textarea><noscript><i>C</i></noscript>", "a|b|c", nil},
	} {
		p := mustParse(t, deep+c.body, Settings{})
		check(t, p)
		got, links := leaves(p)
		if !p.TokenizerOnly || got != c.leaves {
			t.Errorf("%s: %q, want %q", c.body, got, c.leaves)
		}
		if diff := cmp.Diff(c.links, links); diff != "" {
			t.Errorf("%s: %s", c.body, diff)
		}
	}
	if got, _ := leaves(mustParse(t, deep+"A<!-- c --> <b> </b>", Settings{Leaves: schemas.LeafMode_LEAF_MODE_PAPER})); got != "a|||" {
		t.Errorf("paper mode: %q", got)
	}
}

// TestFingerprint: pages that differ in a word differ in few bits, others in about half of 64.
func TestFingerprint(t *testing.T) {
	page := func(words ...string) uint64 {
		return mustParse(t, "<p>"+strings.Join(words, " "), Settings{}).Fingerprint
	}
	var a, b []string
	for i := range 300 {
		a = append(a, fmt.Sprint("a", i*i))
		b = append(b, fmt.Sprint("b", i*i))
	}
	changed := append([]string{"other"}, a[1:]...)
	if n := bits.OnesCount64(page(a...) ^ page(changed...)); n > 6 {
		t.Errorf("one word of 300 changes %d bits", n)
	}
	if n := bits.OnesCount64(page(a...) ^ page(b...)); n < 16 || n > 48 {
		t.Errorf("other words change %d bits", n)
	}
	if page() != 0 || page("one") == 0 {
		t.Errorf("no words: %x, one: %x", page(), page("one"))
	}
	if page("a", "b", "b") != page("b", "a", "b") {
		t.Error("order matters")
	}
	// By the definition in the package comment, in words.
	terms, counts := []string{"x", "y", "z", "w"}, []uint32{1, 2, 5, 1 << 30}
	weights := []int{1, 2, 3, 7}
	want := uint64(0)
	for bit := range 64 {
		sum, total := 0, 0
		for i, term := range terms {
			total += weights[i]
			if fingerprint([]string{term}, []uint32{1})>>bit&1 == 1 {
				sum += weights[i]
			}
		}
		if 2*sum > total {
			want |= 1 << bit
		}
	}
	if got := fingerprint(terms, counts); got != want {
		t.Errorf("fingerprint %x, want %x", got, want)
	}
}

func TestShapesOfTokens(t *testing.T) {
	p, err := Parse([]byte("<p>A NASA eBay page <b>世</b>界地 世"), "text/html; charset=utf-8", "http://h/", Settings{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i, term := range p.Tokens {
		got = append(got, fmt.Sprintf("%s %d", p.Terms[term], text.ShapeAt(p.Shapes, i)))
	}
	want := []string{"a 1", "nasa 2", "ebay 3", "page 0", "世 0", "界 0", "地 1", "世 0"} // a leaf begins a run
	if !slices.Equal(got, want) {
		t.Errorf("shapes %q, want %q", got, want)
	}
}
