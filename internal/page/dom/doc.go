// Package dom parses an HTML page: its words in the order of the leaves of the repaired tree, its links with
// the leaves below them, and its metadata. Parse returns a schemas.Page, Text the words as plain text.
//
// # Leaves (2002 §2.2.1, Fig. 3)
//
// The body is decoded, and repaired to an HTML5 tree by golang.org/x/net/html, scripting off (the content of
// <noscript> is markup, as no script runs here). Leaves are numbered from 0, left to right, over the whole
// tree:
//
//   - A text node is a leaf, and so is an element with no leaf below it: <img>, <br>, an empty <td>, a <head>
//     with nothing in it.
//   - <script>, <style>, <template> and <svg> are one leaf without tokens, whatever they contain.
//   - Comments and text that is white space only (Unicode's White_Space, so &nbsp; too) are leaves under
//     LEAF_MODE_PAPER; under LEAF_MODE_COMPACT they are ignored: a <td> that contains nothing else is empty,
//     and itself the leaf.
//   - The doctype is not a leaf.
//
// The leaves of an <a href> or <area href> are those below it, or itself where there are none; they are at
// offset 0, a leaf μ left of the first at μ − first, right of the last at μ − last. Leaf ranges of two links
// are disjoint or one contains the other.
//
// # Links
//
// href of <a> and <area> that resolves to http or https against the first <base href> of the page, or else its
// URL; one Link for each distinct canonical target, the first in document order. A page's links to itself are
// among them. Links within <template> and <svg> are not.
//
// # Fingerprint
//
// Charikar's simhash: each distinct term has the 64-bit xxHash of its bytes and the weight 1 + ⌊log₂ n⌋ (at
// most 7) for n occurrences; bit i of the fingerprint is set where the terms whose hash has bit i weigh more
// than half of all. A page without terms has 0.
//
// # Limits
//
// Settings bound leaves, tokens, terms and links, and two constants the bytes of terms and links, so that a
// Page marshals to less than 3.5 MiB. When leaves, tokens or terms reach their bound the rest of the page is
// not read; links beyond theirs are dropped. Page.cut reports both.
//
// Time and memory are linear in the length of the body: a screen (screen.go) finds the pages for which
// html.Parse could take more. These, and pages nested deeper than the 512 elements that html.Parse accepts, are
// read from the tokenizer (flat.go) and have Page.tokenizer_only.
//
// # Encodings
//
// The encoding is that of a byte order mark, of Content-Type, or of a declaration in the page, in this order;
// declarations after the first 1,024 bytes count too, as in the tree construction of HTML. Without one, a page
// that is valid UTF-8 with characters beyond ASCII is UTF-8; any other is windows-1252.
//
// # Text
//
// Text returns the words of a page for people and for critics that are trained on them.
//
// Where html.Parse departs from the HTML standard, and why the screen reads bytes, is docs/decisions/0321.
package dom
