package dom

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"forager/schemas"
)

const here = "http://example.com/dir/page.html"

func mustParse(t *testing.T, body string, s Settings) *schemas.Page {
	t.Helper()
	p, err := Parse([]byte(body), "text/html; charset=utf-8", here, s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// leaves writes the leaves of a page as "token token|…", and its links as "url first-last".
func leaves(p *schemas.Page) (leaves string, links []string) {
	var all []string
	at := 0
	for _, n := range p.LeafLengths {
		var tokens []string
		for _, t := range p.Tokens[at : at+int(n)] {
			tokens = append(tokens, p.Terms[t])
		}
		at += int(n)
		all = append(all, strings.Join(tokens, " "))
	}
	for _, l := range p.Links {
		links = append(links, fmt.Sprintf("%s %d-%d", strings.TrimPrefix(l.Url, "http://example.com"), l.FirstLeaf, l.LastLeaf))
	}
	return strings.Join(all, "|"), links
}

// TestFigure3 is the example of 2002 §2.2.1: the source, and the offset of every leaf.
func TestFigure3(t *testing.T) {
	const source = `<ul><li><tt>A</tt></li><li>B</li><li><a href=v>C<font>D</font></a>E<em>F</em></li><li>G</li></ul>`
	for _, mode := range []schemas.LeafMode{schemas.LeafMode_LEAF_MODE_COMPACT, schemas.LeafMode_LEAF_MODE_PAPER} {
		p := mustParse(t, source, Settings{Leaves: mode})
		if len(p.Links) != 1 {
			t.Fatalf("%s: %d links", mode, len(p.Links))
		}
		var offsets []string
		tokens := p.Tokens
		for leaf, n := range p.LeafLengths {
			d := 0
			if l := p.Links[0]; leaf < int(l.FirstLeaf) {
				d = leaf - int(l.FirstLeaf)
			} else if leaf > int(l.LastLeaf) {
				d = leaf - int(l.LastLeaf)
			}
			for range n {
				offsets = append(offsets, fmt.Sprintf("%s@%d", p.Terms[tokens[0]], d))
				tokens = tokens[1:]
			}
		}
		want := "a@-2 b@-1 c@0 d@0 e@1 f@2 g@3"
		if got := strings.Join(offsets, " "); got != want {
			t.Errorf("%s: %s, want %s", mode, got, want)
		}
		// The repaired tree begins with <head>, which is empty and so a leaf.
		if got := len(p.LeafLengths); got != 8 {
			t.Errorf("%s: %d leaves, want 8", mode, got)
		}
	}
}

func TestLeaves(t *testing.T) {
	for _, c := range []struct{ name, body, compact, paper string }{
		{"nothing", "", "|", "|"},
		{"text", "Hello World", "|hello world", "|hello world"},
		{"white space", "<p> A </p>\n<p>B</p>\n", "|a|b", "|a||b|"},
		{"non-breaking space", "<td>x</td><p>&nbsp;<b>B</b>\u2003</p>", "|x|b", "|x||b|"},
		{"comments", "<p><!-- c -->A<!-- d --></p>", "|a", "||a|"},
		{"only comments within", "<p><!-- c --> <!-- d --></p>A", "||a", "||||a"},
		{"void elements", "A<br>B<img src=x><hr>", "|a||b||", "|a||b||"},
		{"empty elements", "<table><tr><td></td><td>A</td></tr></table><p></p>", "||a|", "||a|"},
		{"script and style", "<script>var a</script><style>p{}</style>A", "||a", "||a"},
		{"template", "<body><template><p>A</p><a href=x>B</a></template>C", "||c", "||c"},
		{"svg", "<p><svg><g><text>A</text></g><a href=x>B</a></svg>C", "||c", "||c"},
		{"svg that a paragraph breaks", "<svg><g>A<p>B", "||b", "||b"},
		{"math", "<math><mi>x</mi><mo>=</mo></math>", "|x|", "|x|"},
		{"noscript", "<noscript><p>A <a href=x>B</a></noscript>C", "|a|b|c", "|a|b|c"},
		{"title", "<title>A B</title><p>C", "a b|c", "a b|c"},
		{"textarea and raw text", "<textarea>A</textarea><xmp><b>C</b></xmp>", "|a|b c b", "|a|b c b"},
		{"doctype", "<!doctype html><p>A", "|a", "|a"},
		{"text is joined", "A<!>B</x>C", "|a|bc", "|a||bc"},
		{"frames", "<frameset><frame src=a><frame src=b></frameset>", "||", "||"},
		{"foster parents", "<table>A<tr><td>B</table>", "|a|b", "|a|b"},
		{"adoption", "<b>A<p>B</b>C", "|a|b|c", "|a|b|c"},
		{"nul", "A\x00B", "|ab", "|ab"},
		{"unclosed everything", "<div><p><b><i><a href=x><table><tr><td>A", "|a", "|a"},
	} {
		if got, _ := leaves(mustParse(t, c.body, Settings{})); got != c.compact {
			t.Errorf("%s: %q in compact mode, want %q", c.name, got, c.compact)
		}
		if got, _ := leaves(mustParse(t, c.body, Settings{Leaves: schemas.LeafMode_LEAF_MODE_PAPER})); got != c.paper {
			t.Errorf("%s: %q in paper mode, want %q", c.name, got, c.paper)
		}
	}
}

func TestLinks(t *testing.T) {
	for _, c := range []struct {
		name, body string
		want       []string
	}{
		{"plain", "A<a href=v>B</a>C", []string{"/dir/v 2-2"}},
		{"several leaves", "<a href=/v>A<b>B</b><br></a>", []string{"/v 1-3"}},
		{"no leaf", "A<a href=v></a>B", []string{"/dir/v 2-2"}},
		{"no leaf but white space", "A<a href=v> <!-- c --></a>B", []string{"/dir/v 2-2"}},
		{"image", "<a href=v><img src=x></a>", []string{"/dir/v 1-1"}},
		{"area", "<map><area href=v><area><area href=w></map>", []string{"/dir/v 1-1", "/dir/w 3-3"}},
		{"anchor without href", "<a name=x>A</a><a>B</a>", nil},
		{"not http", "<a href=mailto:a@b>A</a><a href=javascript:x()>B</a><a href=ftp://x/>C</a><a href='data:,x'>D</a>", nil},
		{"no url", "<a href=http://[>A</a><a href='http://a b/'>B</a>", nil},
		{"itself", "<a href='#top'>A</a><a href=''>B</a><a href=page.html>C</a>", []string{"/dir/page.html 1-1"}},
		{"first wins", "<a href=v>A</a><a href=w>B</a><a href='v#x'>C</a>", []string{"/dir/v 1-1", "/dir/w 2-2"}},
		{"spaces and entities", "<a href=' v?a=1&amp;b=2 '>A</a>", []string{"/dir/v?a=1&b=2 1-1"}},
		{"base behind", "<a href=v>A</a><base href=/other/><base href=/third/>", []string{"/other/v 1-1"}},
		{"base without href first", "<base target=_top><base href=/other/><a href=v>A</a>", []string{"/other/v 2-2"}},
		{"base that is none", "<base href=javascript:x><a href=v>A</a>", []string{"/dir/v 1-1"}},
		{"nested through a table", "<a href=v>A<table><tr><td><a href=w>B</a></td></tr></table>C</a>", []string{"/dir/v 1-3", "/dir/w 2-2"}},
		{"unclosed", "<a href=v>A<a href=w>B", []string{"/dir/v 1-1", "/dir/w 2-2"}},
		{"in head of a frameset page", "<frameset><noframes><a href=v>A</a></noframes></frameset>", nil},
		{"xlink", "<svg><a xlink:href=v>A</a></svg>", nil},
		{"math", "<math href=v><mi href=w>A</mi></math>", nil},
	} {
		_, got := leaves(mustParse(t, c.body, Settings{}))
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}
