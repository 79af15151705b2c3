package dom

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"forager/internal/page/text"
	"forager/internal/web/weburl"
	"forager/schemas"
)

// markup draws pieces of HTML, good and bad, that bear on leaves and links.
func markup() *rapid.Generator[string] {
	pieces := strings.Split("word|Two words|&nbsp;| |\n|&amp;|<p>|</p>|<div>|</div>|<b>|</b>|<i x=1>|</i>|<font color=red>|</font>|"+
		"<a href=v>|<a href=/w?x>|<a href='v' rel=nofollow>|<a name=n>|</a>|<area href=q>|<table>|</table>|<tr>|<td>|</td>|<caption>|"+
		"<ul>|<li>|</ul>|<br>|<img src=x>|<hr>|<!-- c -->|<!x>|<script>|</script>|<style>|</style>|<template>|</template>|<svg>|</svg>|"+
		"<math>|</math>|<mi>|<desc>|<title>|</title>|<textarea>|</textarea>|<select>|<option>|</select>|<noscript>|</noscript>|"+
		"<frameset>|<frame>|<noframes>|</noframes>|<object>|</object>|<button>|</button>|<form>|</form>|<h1>|</h2>|<dl><dt>|<dd>|"+
		"<body bgcolor=x>|<html lang=en-US>|<head>|</head>|</body>|</html>|<base href=/b/>|<base href='http://[/'>|<meta name=robots content='none'>|"+
		"<meta charset=utf-8>|<link rel=canonical href=c>|<plaintext>|<xmp>|</xmp>|<![CDATA[|]]>|</x>|<x y>|<|>|\"|<a href=\"|\x00|\u00e9|世界|<nobr>|</nobr>", "|")
	return rapid.Map(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 60), func(p []string) string { return strings.Join(p, "") })
}

// check checks what is true of every page.
func check(t interface{ Fatalf(string, ...any) }, p *schemas.Page) {
	n := len(p.LeafLengths)
	sum := 0
	for _, l := range p.LeafLengths {
		sum += int(l)
	}
	if sum != len(p.Tokens) {
		t.Fatalf("leaves hold %d tokens of %d", sum, len(p.Tokens))
	}
	if want := (len(p.Tokens) + 3) / 4; len(p.Shapes) != want {
		t.Fatalf("%d bytes of shapes for %d tokens, want %d", len(p.Shapes), len(p.Tokens), want)
	}
	next := uint32(0)
	for i, token := range p.Tokens {
		if token > next {
			t.Fatalf("token %d is term %d before term %d was used", i, token, next)
		}
		if token == next {
			next++
		}
	}
	if int(next) != len(p.Terms) {
		t.Fatalf("%d terms of %d are used", next, len(p.Terms))
	}
	if sorted := slices.Compact(slices.Sorted(slices.Values(p.Terms))); len(sorted) != len(p.Terms) {
		t.Fatalf("terms repeat: %q", p.Terms)
	}
	seen := make(map[string]bool)
	for i, l := range p.Links {
		if l.FirstLeaf > l.LastLeaf || int(l.LastLeaf) >= n {
			t.Fatalf("link %d has leaves %d–%d of %d", i, l.FirstLeaf, l.LastLeaf, n)
		}
		if i > 0 && l.Position <= p.Links[i-1].Position {
			t.Fatalf("link %d has position %d behind %d", i, l.Position, p.Links[i-1].Position)
		}
		if u, err := weburl.Parse(l.Url); err != nil || u.String() != l.Url || seen[l.Url] {
			t.Fatalf("link %d to %q: %v, seen before: %v", i, l.Url, err, seen[l.Url])
		}
		seen[l.Url] = true
	}
	// Ranges are disjoint or nested; in document order a stack checks that.
	var open []*schemas.Link
	for i, l := range p.Links {
		for len(open) > 0 && open[len(open)-1].LastLeaf < l.FirstLeaf {
			open = open[:len(open)-1]
		}
		if len(open) > 0 && (open[len(open)-1].FirstLeaf > l.FirstLeaf || open[len(open)-1].LastLeaf < l.LastLeaf) {
			t.Fatalf("link %d, leaves %d–%d, overlaps one with %d–%d", i, l.FirstLeaf, l.LastLeaf, open[len(open)-1].FirstLeaf, open[len(open)-1].LastLeaf)
		}
		open = append(open, l)
	}
	if len(p.Title) > maxTitle || len(p.Description) > maxDescription {
		t.Fatalf("title of %d, description of %d bytes", len(p.Title), len(p.Description))
	}
	if n := proto.Size(p); n > 3500<<10 {
		t.Fatalf("record of %d bytes", n)
	}
}

// numbering is the definition of leaves and links, by recursion.
type numbering struct {
	paper  bool
	leaves []string
	links  []string // "href first-last"
}

func (d *numbering) walk(n *html.Node) {
	before := len(d.leaves)
	switch n.Type {
	case html.TextNode:
		if d.paper || strings.TrimSpace(n.Data) != "" {
			d.leaves = append(d.leaves, n.Data)
		}
		return
	case html.CommentNode:
		if d.paper {
			d.leaves = append(d.leaves, "")
		}
		return
	case html.DoctypeNode:
		return
	}
	if slices.Contains([]string{"script", "style", "svg"}, n.Data) || n.Data == "template" && n.Namespace == "" {
		d.leaves = append(d.leaves, "")
		return
	}
	link := -1
	for _, a := range n.Attr {
		if a.Key == "href" && a.Namespace == "" && n.Namespace == "" && (n.Data == "a" || n.Data == "area") {
			link = len(d.links)
			d.links = append(d.links, a.Val)
		}
	}
	for c := range n.ChildNodes() {
		d.walk(c)
	}
	if len(d.leaves) == before && n.Type == html.ElementNode {
		d.leaves = append(d.leaves, "")
	}
	if link >= 0 {
		d.links[link] += fmt.Sprintf(" %d-%d", before, len(d.leaves)-1)
	}
}

func TestNumberingFollowsItsDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		body := markup().Draw(t, "body")
		mode := rapid.SampledFrom([]schemas.LeafMode{schemas.LeafMode_LEAF_MODE_COMPACT, schemas.LeafMode_LEAF_MODE_PAPER}).Draw(t, "mode")
		doc, err := repair([]byte(body))
		if err != nil {
			t.Fatalf("%v", err)
		}
		d := numbering{paper: mode == schemas.LeafMode_LEAF_MODE_PAPER}
		d.walk(doc)
		r := read([]byte(body), newReading(Settings{Leaves: mode}.withDefaults(), len(body)))
		if r.page.TokenizerOnly {
			t.Fatalf("not read as a tree")
		}
		var links []string
		for _, a := range r.anchors {
			links = append(links, fmt.Sprintf("%s %d-%d", a.href, a.first, a.last))
		}
		if !slices.Equal(links, d.links) {
			t.Fatalf("links %q, want %q", links, d.links)
		}
		if len(r.page.LeafLengths) != len(d.leaves) {
			t.Fatalf("%d leaves, want %q", len(r.page.LeafLengths), d.leaves)
		}
		tokens := r.page.Tokens
		for i, n := range r.page.LeafLengths {
			var got []string
			for _, token := range tokens[:n] {
				got = append(got, r.page.Terms[token])
			}
			tokens = tokens[n:]
			if want := text.Tokens(nil, d.leaves[i]); !slices.Equal(got, want) {
				t.Fatalf("leaf %d holds %q, want %q", i, got, want)
			}
		}
	})
}

func TestPagesKeepTheirPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		body := []byte(markup().Draw(t, "body"))
		s := Settings{
			MaxLeaves: rapid.SampledFrom([]int{0, 0, 1, 5}).Draw(t, "leaves"),
			MaxTokens: rapid.SampledFrom([]int{0, 0, 1, 4}).Draw(t, "tokens"),
			MaxTerms:  rapid.SampledFrom([]int{0, 0, 1, 3}).Draw(t, "terms"),
			MaxLinks:  rapid.SampledFrom([]int{0, 0, 1, 2}).Draw(t, "links"),
		}
		compact, err := Parse(body, "", here, s)
		if err != nil {
			t.Fatalf("%v", err)
		}
		check(t, compact)
		bounded := s.withDefaults()
		if len(compact.LeafLengths) > bounded.MaxLeaves || len(compact.Tokens) > bounded.MaxTokens ||
			len(compact.Terms) > bounded.MaxTerms || len(compact.Links) > bounded.MaxLinks {
			t.Fatalf("bounds %+v were passed: %v", bounded, compact)
		}
		again, err := Parse(body, "", here, s)
		if err != nil || !proto.Equal(compact, again) {
			t.Fatalf("read again it is another page (%v)", err)
		}
		s.Leaves = schemas.LeafMode_LEAF_MODE_PAPER
		paper, err := Parse(body, "", here, s)
		if err != nil {
			t.Fatalf("%v", err)
		}
		check(t, paper)
		if s.MaxLeaves == 0 && (!slices.Equal(paper.Tokens, compact.Tokens) || len(paper.LeafLengths) < len(compact.LeafLengths)) {
			t.Fatalf("paper mode has %d leaves, tokens %v; compact mode %d, %v", len(paper.LeafLengths), paper.Tokens, len(compact.LeafLengths), compact.Tokens)
		}
		flat := newReading(s.withDefaults(), len(body))
		flat.flat(body)
		flat.finish(mustURL(here))
		check(t, flat.page)
	})
}

func mustURL(s string) weburl.URL {
	u, err := weburl.Parse(s)
	if err != nil {
		panic(err)
	}
	return u
}

// TestFlatEqualsTree uses pages without markup that the tree builder repairs or moves: the tokens, the links and
// the metadata are those of the tree.
func TestFlatEqualsTree(t *testing.T) {
	block := rapid.Custom(func(t *rapid.T) string {
		return rapid.SampledFrom([]string{
			"<p>one two <b>three</b> four</p>", "<div>A<a href=v>B</a>C</div>", "<a href=w><img src=x>text</a>",
			"<ul><li>x<li>y</ul>", "<table><tr><td>z</td></tr></table>", "<script>var a = '<p>'</script>", "<svg><text>no</text></svg>",
			"<template><p>no</template>", "<noscript>off <a href=n>on</a></noscript>", "<map><area href=q></map>", "<!-- c -->",
			"<a href=" + strings.Repeat("x", 2000) + " " + strings.Repeat("y=z ", 500) + ">large</a>",
			"<style " + strings.Repeat("y", 2000) + ">p {}</style>", "<textarea " + strings.Repeat("y", 2000) + "><b>raw</b></textarea>",
		}).Draw(t, "block")
	})
	rapid.Check(t, func(t *rapid.T) {
		body := "<!doctype html><html lang=de><head><title>A &amp; B</title><base href=/base/><link rel=canonical href=c>" +
			"<meta name=description content=' d  e '></head><body>" +
			strings.Join(rapid.SliceOfN(block, 0, 12).Draw(t, "blocks"), "") + "</body></html>"
		tree := newReading(Settings{}.withDefaults(), len(body))
		doc, err := repair([]byte(body))
		if err != nil {
			t.Fatalf("%v", err)
		}
		tree.tree(doc)
		flat := newReading(Settings{}.withDefaults(), len(body))
		flat.flat([]byte(body))
		for _, r := range []*reading{tree, flat} {
			r.finish(mustURL(here))
			for _, l := range r.page.Links {
				l.FirstLeaf, l.LastLeaf = 0, 0
			}
			r.page.LeafLengths = nil
		}
		if !proto.Equal(tree.page, flat.page) {
			t.Fatalf("tree %v\nflat %v", tree.page, flat.page)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"", "<a href=v>A</a>", "<table><a href=v><tr><td><a href=w>", "<svg><a href=v><p>", "<base href=x><a href>",
		"<meta charset=utf-16><a href=\xff>", "\xfe\xff\x00<\x00a", "<title>" + strings.Repeat("é", 600), strings.Repeat("<div>", 600) + "<a href=v>A",
		strings.Repeat("<body a1><body b2>", 40), strings.Repeat("<p><b><font x>", 100) + "A",
		"<math><annotation-xml encoding=text/html><a href=v></math>", "<template><td><a href=v></template><a href=v>",
	} {
		f.Add([]byte(s), "text/html; charset=windows-1252", int32(1))
	}
	f.Add([]byte("\x1b$B<a href=v>"), "text/html; charset=iso-2022-jp", int32(2))
	f.Fuzz(func(t *testing.T, body []byte, contentType string, mode int32) {
		mode = 1 + mode&1
		p, err := Parse(body, contentType, here, Settings{Leaves: schemas.LeafMode(mode)})
		if err != nil {
			t.Fatalf("%v", err)
		}
		check(t, p)
		enc := detect(body, contentType)
		decoded := enc.decode(body)
		if bytes.HasPrefix(decoded, byteOrderMark) && !bytes.HasPrefix(body, append(byteOrderMark, byteOrderMark...)) && enc.name == "utf-8" {
			t.Fatalf("the byte order mark stayed")
		}
		if p.Charset == "" || int(p.Size) > 3*len(body)+3 {
			t.Fatalf("charset %q, %d bytes decoded to %d", p.Charset, len(body), p.Size)
		}
	})
}
