package dom

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
)

// encodingOf is the character encoding of a page.
type encodingOf struct {
	enc encoding.Encoding
	// name as in the WHATWG encoding standard.
	name string
	// guessed: neither the bytes nor the header nor the first 1,024 bytes named it.
	guessed bool
}

var byteOrderMark = []byte("\uFEFF")

// detect finds the encoding of a body as browsers do: a byte order mark, else the charset of Content-Type, else
// the declaration in the first 1,024 bytes (prescan), else UTF-8 if it is valid and not plain ASCII, else
// windows-1252.
func detect(body []byte, contentType string) encodingOf {
	for _, mark := range []struct{ bytes, label string }{{"\xef\xbb\xbf", "utf-8"}, {"\xfe\xff", "utf-16be"}, {"\xff\xfe", "utf-16le"}} {
		if bytes.HasPrefix(body, []byte(mark.bytes)) {
			return encodingNamed(mark.label)
		}
	}
	if e := encodingNamed(charsetParameter(contentType)); e.enc != nil {
		return e
	}
	if enc, name := prescan(body); enc != nil {
		return encodingOf{enc: enc, name: name}
	}
	if !isASCII(body) && utf8.Valid(body) {
		return encodingOf{enc: encoding.Nop, name: "utf-8", guessed: true}
	}
	return encodingOf{enc: charmap.Windows1252, name: "windows-1252", guessed: true}
}

// encodingNamed returns the encoding of a label; enc is nil for an unknown one.
func encodingNamed(label string) encodingOf {
	enc, name := charset.Lookup(label)
	return encodingOf{enc: enc, name: name}
}

// charsetParameter finds charset in a Content-Type as servers send it, which is often invalid: without a type,
// with an extra semicolon, the value in half a pair of quotes.
func charsetParameter(contentType string) string {
	for part := range strings.SplitSeq(contentType, ";") {
		name, value, ok := strings.Cut(part, "=")
		if ok && strings.EqualFold(strings.TrimSpace(name), "charset") {
			return strings.Trim(value, " \t\r\n\"'")
		}
	}
	return ""
}

// corrected returns the encoding declared by a <meta> of a page whose encoding was guessed, if it gives another
// text.
func (e encodingOf) corrected(label string) (encodingOf, bool) {
	if !e.guessed || label == "" {
		return e, false
	}
	enc, name := declared(label)
	if enc == nil || name == e.name {
		return e, false
	}
	return encodingOf{enc: enc, name: name}, true
}

// decode returns the body as valid UTF-8, without a byte order mark. It returns body itself, or a part of it,
// where that is possible.
func (e encodingOf) decode(body []byte) []byte {
	switch e.name {
	case "utf-8":
		body = bytes.TrimPrefix(body, byteOrderMark)
		if utf8.Valid(body) {
			return body
		}
	case "utf-16le", "utf-16be", "iso-2022-jp", "replacement":
	default:
		if isASCII(body) {
			return body
		}
	}
	text, err := e.enc.NewDecoder().Bytes(body)
	if err != nil || !utf8.Valid(text) {
		text = bytes.ToValidUTF8(body, []byte("\uFFFD"))
	}
	return bytes.TrimPrefix(text, byteOrderMark)
}

func isASCII(b []byte) bool {
	for _, c := range b {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// PlainText decodes plain text as Parse decodes a page: by a byte order mark, contentType (the header as sent, or
// empty), or its bytes.
func PlainText(body []byte, contentType string) string {
	return string(detect(body, contentType).decode(body))
}
