package dom

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"forager/internal/page/text"
	"forager/schemas"
)

func TestText(t *testing.T) {
	for _, c := range []struct{ html, want string }{
		{"", ""},
		{"<title>A  page</title><p>One <b>bold</b>\n word.<p>Two<br>three", "A page\nOne bold word.\nTwo\nthree"},
		{"<h1>Head</h1>behind<ul><li>a<li><a href=x>b</a> c</ul>", "Head\nbehind\na\nb c"},
		{"<p>x<script>var y</script><style>z</style><!-- no -->w", "x w"},
		{"<p>caf\xc3\xa9 \xe2\x82\xac", "café €"},
	} {
		if got := Text([]byte(c.html), "text/html; charset=utf-8"); got != c.want {
			t.Errorf("%q gives %q, want %q", c.html, got, c.want)
		}
	}
}

// tokensOf are the tokens of a page in order.
func tokensOf(p *schemas.Page) (all []string) {
	for _, i := range p.GetTokens() {
		all = append(all, p.GetTerms()[i])
	}
	return all
}

// The text of a page has the tokens that Parse finds, whichever way it was read.
func TestTextHasTheTokensOfThePage(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		body := []byte(markup().Draw(rt, "body"))
		p, err := Parse(body, "text/html", here, Settings{})
		if err != nil {
			rt.Fatal(err)
		}
		got := text.Tokens(nil, Text(body, "text/html"))
		if want := tokensOf(p); !p.GetCut() && !slices.Equal(got, want) {
			rt.Fatalf("%q: %q, Parse finds %q", body, got, want)
		}
	})
}

// treeText is Text by way of the tree, or of the tags of a page that has none.
func treeText(body []byte, contentType string) string {
	r, _ := decodeAndRead(body, contentType, Settings{}.withDefaults(), newProse)
	return r.prose.text.String()
}

// What is read without a tree is the text of the tree.
func TestQuickTextIsThatOfTheTree(t *testing.T) {
	same := func(t interface{ Fatalf(string, ...any) }, body []byte) (quick bool) {
		got, ok := quickText(body, false)
		if want := treeText(body, "text/html; charset=utf-8"); ok && !heavy(body) && got != want {
			t.Fatalf("%q: %q, the tree has %q", body, got, want)
		}
		return ok
	}
	for _, html := range []string{
		"", "word", "<title>A  page</title><p>One <b>bold</b>\n word.<p>Two<br>three", "<!doctype html><html lang=en><head><meta charset=utf-8><title>T &amp; t</title>" +
			"<style>p{}</style><script>if (a</b/) {}</script><noscript><style>x</style></noscript></head><body class=x>\n<h1>Head</h1>behind</body></html>\n<!-- end -->",
		"<ul><li>a<li><a href=x>b</a> c<ul><li>d</li></ul></ul>e", "<dl><dt>t<dd>d<dt>t2<dd><p>x</dl>y", "<p>a<hr>b<p>c</p></p>d",
		"<!doctype html><p>a<table><caption>c <b>d</b></caption><col><tr><td>1<td>2<tr><th>3</table>b", "<table><thead><tr><td><p>x<b>y</td></tr></thead><tbody><td><table><tr><td>i</table>z</table>",
		"<select><option>a<option>b<optgroup><option>c</select>d", "<form><input type=text>a<button>b</button><textarea>c</textarea></form>d", "1 < 2 <3 &lt;b> &nbsp;&#x41;",
		"<iframe><b>x</b></iframe>y<font size=1>a<span>b</font>c", "a<!-- c -->b<x-y>c</x-y>", "<head><head><body>a</x> b <body>c</td><p>d<!x>e", "<p>a<table><tr><td>b</table>c</p>d", "a</br>b",
	} {
		if !same(t, []byte(html)) {
			t.Errorf("%q is not read without a tree", html)
		}
	}
	for _, html := range []string{
		"<b>a<p>b</b>c", "<p><b>a<p>b", "a</x>b", "a</x></y>b", "a</x><p>b</x></b></div>c", "a<b>b<div>c</b>d", "<td>a<b>b<div>c</td></b>d</div>", "<table>a<tr><td>b</table>", "<b id=1><b><b><b><b><span></b>x</b>", "<h2><span><h1>x</h2>y", "<table><colgroup><col><tr><td>x</table>",
		"</body>a</html>b", "a</body>b", "<svg><p>x</svg>", "<title>a", "<script><!--<script></script>--></script>a", "<a>b<a>c", "<p><table><tr><td>x</table>y",
	} {
		same(t, []byte(html))
	}
	for i := range 20 {
		if !same(t, synthetic(uint64(i))) {
			t.Errorf("page %d is not read without a tree", i)
		}
	}
	rapid.Check(t, func(rt *rapid.T) { same(rt, []byte(nested().Draw(rt, "body"))) })
	rapid.Check(t, func(rt *rapid.T) { same(rt, []byte(markup().Draw(rt, "body"))) })
}

// nested draws pages of which most tags nest as they should.
func nested() *rapid.Generator[string] {
	names := strings.Fields("p p div div b i a span ul li ol dl dt dd table tr td th tbody thead caption h1 h2 form button select option pre font x section nobr noscript")
	single := strings.Split("word| two words |&nbsp;|\n|<br>|<hr>|<img src=x>|<input>|<!-- c -->|<script>a</script>|<style>b</style>|<textarea>c</textarea>|<title>t</title>|<meta name=x>|<col>|<link>|<|&amp;|</br>|</img>|</x>|</p>|</li>|</td>|</h1>|</b>|<body>|</body>|</html>|<!x>|<head>|<td>|<tr>", "|")
	return rapid.Custom(func(t *rapid.T) string {
		var b strings.Builder
		var open []string
		for range rapid.IntRange(0, 40).Draw(t, "tags") {
			switch kind := rapid.IntRange(0, 9).Draw(t, "kind"); {
			case kind < 4:
				open = append(open, rapid.SampledFrom(names).Draw(t, "name"))
				b.WriteString("<" + open[len(open)-1] + ">")
			case kind < 6 && len(open) > 0:
				skipped := rapid.SampledFrom([]int{1, 1, 1, 2, 3}).Draw(t, "skipped")
				open = open[:max(0, len(open)-skipped)+1]
				b.WriteString("</" + open[len(open)-1] + ">")
				open = open[:len(open)-1]
			default:
				b.WriteString(rapid.SampledFrom(single).Draw(t, "piece"))
			}
		}
		return b.String()
	})
}
