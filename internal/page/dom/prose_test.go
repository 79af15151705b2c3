package dom

import (
	"slices"
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
