package dom

import "strings"

// Text returns the words of an HTML page for people: those of its leaves, in order, as the page
// writes them, white space collapsed, a line a block. Words of different leaves stay apart. It
// reads what Parse reads, up to the same bounds, so that the tokens of both are the same.
func Text(body []byte, contentType string) string {
	enc := detect(body, contentType)
	if text := enc.decode(body); !heavy(text) {
		if s, ok := quickText(text, enc.guessed); ok {
			return s
		}
	}
	r, _ := decodeAndRead(body, contentType, Settings{}.withDefaults(), newProse)
	return r.prose.text.String()
}

// newProse is newReading with the text of the page.
func newProse(s Settings, size int) *reading {
	r := newReading(s, size)
	r.prose = new(prose)
	return r
}

// prose is the text of a page as it grows.
type prose struct {
	text strings.Builder
	line bool // the next leaf begins a line
}

// add adds the text of a leaf.
func (p *prose) add(s string) {
	for word := range strings.FieldsSeq(s) {
		if p.text.Len() > 0 {
			if p.line {
				p.text.WriteByte('\n')
			} else {
				p.text.WriteByte(' ')
			}
		}
		p.line = false
		p.text.WriteString(word)
	}
}

// isBlock says whether an element stands on lines of its own.
func isBlock(name string) bool {
	t, _, _ := lookup([]byte(name), 0)
	return !t.isInline() || t == tagBr
}
