package dom

// tag is an element that the screen distinguishes.
type tag uint8

const (
	tagOther tag = iota
	tagBlock
	tagRoot       // html, body
	tagCell       // td, th
	tagCaption    // puts a marker into the list of active formatting elements
	tagTemplate   // as well
	tagObject     // as well: object, applet, marquee
	tagAnnotation // annotation-xml
	tagVoid       // img, wbr
	tagBr
	// Inline elements that are no formatting elements.
	tagSpan
	tagSub
	tagSup
	tagVar
	tagKbd
	tagSamp
	tagAbbr
	tagAcronym
	tagCite
	tagQ
	tagDfn
	tagLabel
	tagMark
	tagIns
	tagDel
	// Formatting elements.
	tagA
	tagB
	tagBig
	tagCode
	tagEm
	tagFont
	tagI
	tagNobr
	tagS
	tagSmall
	tagStrike
	tagStrong
	tagTt
	tagU
	tags
)

func (t tag) isFormatting() bool { return t >= tagA }
func (t tag) isInline() bool     { return t >= tagVoid }

// isBlock reports whether a start tag opens no formatting elements again.
func (t tag) isBlock() bool { return t >= tagBlock && t <= tagTemplate }

// lookup reads the tag name at b[i:] as html.Tokenizer does, and returns its end and whether it contains no "<".
func lookup(b []byte, i int) (t tag, at int, clean bool) {
	const longest = len("annotation-xml")
	var buf [longest]byte
	n := 0
	clean = true
	for at = i; at < len(b); at++ {
		c := b[at]
		if c == '>' || c == '/' || isSpace(c) {
			break
		}
		clean = clean && c != '<'
		if n < longest {
			if c >= 'A' && c <= 'Z' {
				c += 'a' - 'A'
			}
			buf[n] = c
		}
		n++
	}
	if n > longest {
		return tagOther, at, clean
	}
	switch string(buf[:n]) {
	case "address", "article", "aside", "blockquote", "center", "details", "dialog", "dir", "div", "dl",
		"fieldset", "figcaption", "figure", "footer", "header", "hgroup", "main", "menu", "nav", "ol", "p",
		"search", "section", "summary", "ul", "h1", "h2", "h3", "h4", "h5", "h6", "pre", "listing", "form",
		"li", "dd", "dt", "hr", "table", "tbody", "thead", "tfoot", "tr", "colgroup", "col", "head", "title",
		"meta", "link", "base", "style", "script", "noframes":
		t = tagBlock
	case "html", "body":
		t = tagRoot
	case "td", "th":
		t = tagCell
	case "caption":
		t = tagCaption
	case "template":
		t = tagTemplate
	case "annotation-xml":
		t = tagAnnotation
	case "object", "applet", "marquee":
		t = tagObject
	case "img", "wbr":
		t = tagVoid
	case "br":
		t = tagBr
	case "span":
		t = tagSpan
	case "sub":
		t = tagSub
	case "sup":
		t = tagSup
	case "var":
		t = tagVar
	case "kbd":
		t = tagKbd
	case "samp":
		t = tagSamp
	case "abbr":
		t = tagAbbr
	case "acronym":
		t = tagAcronym
	case "cite":
		t = tagCite
	case "q":
		t = tagQ
	case "dfn":
		t = tagDfn
	case "label":
		t = tagLabel
	case "mark":
		t = tagMark
	case "ins":
		t = tagIns
	case "del":
		t = tagDel
	case "a":
		t = tagA
	case "b":
		t = tagB
	case "big":
		t = tagBig
	case "code":
		t = tagCode
	case "em":
		t = tagEm
	case "font":
		t = tagFont
	case "i":
		t = tagI
	case "nobr":
		t = tagNobr
	case "s":
		t = tagS
	case "small":
		t = tagSmall
	case "strike":
		t = tagStrike
	case "strong":
		t = tagStrong
	case "tt":
		t = tagTt
	case "u":
		t = tagU
	}
	return t, at, clean
}

// attributes reads the attributes of a start tag, from the end of its name on, exactly as html.Tokenizer does, and
// returns their number (those of the same name counted each), the position after the ">", and whether there is no
// "<" before it.
func attributes(b []byte, i int) (count, end int, clean bool) {
	clean = true
	for {
		for i < len(b) && isSpace(b[i]) {
			i++
		}
		if i >= len(b) {
			return count, len(b), clean
		}
		if b[i] == '>' {
			return count, i + 1, clean
		}
		// The name: an equals sign may begin it.
		begin := i
	name:
		for ; i < len(b); i++ {
			switch b[i] {
			case '=':
				if i > begin {
					break name
				}
			case ' ', '\n', '\r', '\t', '\f', '/', '>':
				break name
			case '<':
				clean = false
			}
		}
		if i > begin {
			count++
		}
		for i < len(b) && isSpace(b[i]) {
			i++
		}
		if i >= len(b) {
			return count, len(b), clean
		}
		if b[i] == '/' {
			i++
			continue
		}
		if b[i] != '=' {
			continue
		}
		for i++; i < len(b) && isSpace(b[i]); i++ {
		}
		if i >= len(b) {
			return count, len(b), clean
		}
		switch quote := b[i]; quote {
		case '>':
		case '"', '\'':
			for i++; i < len(b) && b[i] != quote; i++ {
				clean = clean && b[i] != '<'
			}
			i++
		default:
			for ; i < len(b) && b[i] != '>' && !isSpace(b[i]); i++ {
				clean = clean && b[i] != '<'
			}
		}
	}
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func isSpace(c byte) bool {
	return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f'
}
