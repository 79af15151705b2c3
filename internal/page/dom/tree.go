package dom

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"forager/schemas"
)

// frame is an element that is being walked.
type frame struct {
	first  uint32 // leaves before it
	anchor int    // index of its anchor, or -1
	block  bool   // it begins and ends a line; set only where the text is needed
}

// tree walks a repaired tree, without recursion: misnested formatting elements can nest deeper than the number of
// open elements that html.Parse allows.
func (r *reading) tree(doc *html.Node) {
	var stack []frame
	n := doc.FirstChild
	for n != nil && !r.full {
		r.depth = len(stack) + 1
		switch n.Type {
		case html.TextNode:
			r.text(n.Data)
		case html.CommentNode:
			if r.settings.Leaves == schemas.LeafMode_LEAF_MODE_PAPER {
				r.leaf()
			}
		case html.ElementNode:
			f := frame{first: r.leaves(), anchor: -1}
			if !r.element(n, &f) {
				r.leaf()
				break
			}
			if r.textBuilder != nil && isBlock(n.Data) {
				f.block, r.textBuilder.line = true, true
			}
			if n.FirstChild != nil {
				stack = append(stack, f)
				n = n.FirstChild
				continue
			}
			r.endElement(f)
		}
		for n.NextSibling == nil {
			if len(stack) == 0 {
				return
			}
			r.depth = len(stack)
			r.endElement(stack[len(stack)-1])
			stack = stack[:len(stack)-1]
			n = n.Parent
		}
		r.join = min(r.join, len(stack))
		n = n.NextSibling
	}
	for i := len(stack) - 1; i >= 0; i-- { // elements left open when a bound was reached
		r.endElement(stack[i])
	}
}

// element handles the start of an element; false if it is one leaf whatever it contains.
func (r *reading) element(n *html.Node, f *frame) (enter bool) {
	if n.Namespace != "" {
		return n.DataAtom != atom.Svg && n.Data != "svg" && n.DataAtom != atom.Script && n.DataAtom != atom.Style
	}
	e := (*node)(n)
	switch n.DataAtom {
	case atom.Script, atom.Style, atom.Template:
		return false
	case atom.A, atom.Area:
		if r.anchor(e) {
			f.anchor = len(r.anchors) - 1
			if r.settings.TagPaths {
				r.anchors[f.anchor].path = tagPath(n)
			}
			if r.settings.Tree {
				r.anchors[f.anchor].depth = uint32(capped(r.depth))
			}
		}
	case atom.Html:
		r.language(e)
	case atom.Title:
		r.title(childText(n))
	case atom.Meta:
		r.meta(e)
	case atom.Link:
		r.link(e)
	case atom.Base:
		r.baseElement(e)
	}
	return true
}

// endElement handles the end of an element.
func (r *reading) endElement(f frame) {
	if r.leaves() == f.first && !r.full {
		r.leaf()
	}
	if f.block {
		r.textBuilder.line = true
	}
	if f.anchor < 0 {
		return
	}
	if r.leaves() == f.first {
		// The bound was reached before its first leaf. Anchors within it have been removed.
		r.anchors = r.anchors[:f.anchor]
		return
	}
	r.anchors[f.anchor].last = r.leaves() - 1
}

// childText returns the text of the text nodes directly below n.
func childText(n *html.Node) string {
	c := n.FirstChild
	if c != nil && c.NextSibling == nil && c.Type == html.TextNode {
		return c.Data
	}
	var b strings.Builder
	for ; c != nil; c = c.NextSibling {
		if c.Type == html.TextNode {
			b.WriteString(c.Data)
		}
	}
	return b.String()
}

// node is an element of a tree.
type node html.Node

func (n *node) attribute(name string) (string, bool) {
	for i := range n.Attr {
		if n.Attr[i].Key == name && n.Attr[i].Namespace == "" {
			return n.Attr[i].Val, true
		}
	}
	return "", false
}
