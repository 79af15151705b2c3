package dom

import "strings"

// Text returns the words of an HTML page for people: those of its leaves, in order, as written, white space
// collapsed, a line for each block. Words of different leaves are separated. It has the same bounds as Parse, so
// that the tokens of both are the same.
func Text(body []byte, contentType string) string {
	r, _ := decodeAndRead(body, contentType, Settings{}.withDefaults(), func(s Settings, size int) *reading {
		r := newReading(s, size)
		r.textBuilder = new(textBuilder)
		return r
	})
	return r.textBuilder.text.String()
}

// textBuilder is the text of a page under construction.
type textBuilder struct {
	text strings.Builder
	line bool // the next leaf begins a line
}

// add adds the text of a leaf.
func (p *textBuilder) add(s string) {
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

// isBlock reports whether an element begins and ends a line.
func isBlock(name string) bool {
	t, _, _ := lookup([]byte(name), 0)
	return !t.isInline() || t == tagBr
}
