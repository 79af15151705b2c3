package dom

import (
	"bytes"
	"io"
	"strings"

	"golang.org/x/net/html"

	"forager/schemas"
)

// flat reads a page from its tags and texts in sequence. Every text is a leaf of its own, and so are a link
// without text, an <area>, and a <script>, <style>, <template> or <svg> as a whole; comments are leaves in the
// mode that numbers them. A link ends at </a> or where the next begins.
func (r *reading) flat(body []byte) {
	z := flatTokenizer{Tokenizer: html.NewTokenizer(bytes.NewReader(body)), rest: body}
	linked := -1         // the open anchor
	within := ""         // name of the start tag right before
	skip, depth := "", 0 // svg or template that is skipped, and how many of them are open
	endAnchor := func() {
		if linked >= 0 {
			r.endElement(frame{first: r.anchors[linked].first, anchor: linked})
			linked = -1
		}
	}
	defer endAnchor()
	for !r.full {
		token := z.next()
		tag := flatTag{}
		switch token {
		case html.ErrorToken:
			return
		case html.StartTagToken, html.SelfClosingTagToken, html.EndTagToken:
			tag = z.tag(token)
		}
		if r.textBuilder != nil && tag.name != "" && isBlock(tag.name) {
			r.textBuilder.line = true
		}
		if skip != "" {
			switch {
			case tag.name != skip:
			case token == html.StartTagToken:
				depth++
			case token == html.EndTagToken:
				if depth--; depth == 0 {
					skip = ""
				}
			}
			continue
		}
		if within == "title" && token != html.TextToken {
			r.title("")
		}
		switch token {
		case html.TextToken:
			if within == "script" || within == "style" {
				break
			}
			s := string(z.Text())
			if r.text(s); within == "title" {
				r.title(s)
			}
		case html.CommentToken:
			if r.settings.Leaves == schemas.LeafMode_LEAF_MODE_PAPER {
				r.leaf()
			}
		case html.EndTagToken:
			if tag.name == "a" {
				endAnchor()
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			switch tag.name {
			case "a", "area":
				endAnchor()
				if r.anchor(tag) {
					linked = len(r.anchors) - 1
				}
				if tag.name == "area" {
					r.leaf()
					endAnchor()
				}
			case "script", "style":
				r.leaf()
			case "svg", "template":
				r.leaf()
				if token == html.StartTagToken {
					skip, depth = tag.name, 1
				}
			case "html":
				r.language(tag)
			case "meta":
				r.meta(tag)
			case "link":
				r.link(tag)
			case "base":
				r.baseElement(tag)
			}
		}
		within = tag.name
	}
}

// flatTokenizer is a tokenizer of linear time. The library's table of attribute names has the size of the largest
// tag so far, and is cleared at every tag; after a large one a new tokenizer is used.
type flatTokenizer struct {
	*html.Tokenizer
	rest []byte // after the current token
}

const largeTag = 1 << 10 // bytes

func (z *flatTokenizer) next() html.TokenType {
	token := z.Next()
	z.rest = z.rest[len(z.Raw()):]
	return token
}

// tag returns the current tag; to be called once for each.
func (z *flatTokenizer) tag(token html.TokenType) flatTag {
	size := len(z.Raw())
	name, more := z.TagName()
	t := flatTag{name: string(name)}
	for more {
		var key, value []byte
		key, value, more = z.TagAttr()
		t.attributes = append(t.attributes, html.Attribute{Key: string(key), Val: string(value)})
	}
	if size > largeTag {
		again := ""
		if token != html.EndTagToken {
			again = "<" + t.name + ">" // so that the new tokenizer expects raw text where it follows
		}
		z.Tokenizer = html.NewTokenizer(io.MultiReader(strings.NewReader(again), bytes.NewReader(z.rest)))
		if again != "" {
			z.Next()
		}
	}
	if t.name == "noscript" {
		z.NextIsNotRawText()
	}
	return t
}

// flatTag is a tag of the tokenizer.
type flatTag struct {
	name       string
	attributes []html.Attribute
}

func (t flatTag) attribute(name string) (string, bool) {
	for _, a := range t.attributes {
		if a.Key == name {
			return a.Val, true
		}
	}
	return "", false
}
