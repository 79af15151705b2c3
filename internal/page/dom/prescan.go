package dom

import (
	"bytes"
	"strings"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
)

// prescanned is the number of bytes of a page that are searched for a declaration of its encoding.
const prescanned = 1024

// prescan is the HTML standard's "prescan a byte stream to determine its encoding": it ignores scripts, styles and
// titles, so a <meta> in one of them counts. If no <meta> names an encoding, an XML declaration does. name is ""
// if there is none.
func prescan(b []byte) (enc encoding.Encoding, name string) {
	b = b[:min(len(b), prescanned)]
	switch {
	case bytes.HasPrefix(b, []byte("<\x00?\x00x\x00")):
		return charset.Lookup("utf-16le")
	case bytes.HasPrefix(b, []byte("\x00<\x00?\x00x")):
		return charset.Lookup("utf-16be")
	}
	for s := (scan{b: b}); s.at < len(b); {
		if enc, name := s.next(); enc != nil {
			return enc, name
		}
	}
	return declared(xmlEncoding(b))
}

// declared returns the encoding of a label in a page. A page that can be read so far is not in UTF-16.
func declared(label string) (encoding.Encoding, string) {
	enc, name := charset.Lookup(label)
	switch {
	case strings.HasPrefix(name, "utf-16"):
		return charset.Lookup("utf-8")
	case name == "x-user-defined":
		return charset.Lookup("windows-1252")
	}
	return enc, name
}

// scan is a position in the bytes of a page.
type scan struct {
	b  []byte
	at int
}

// next goes past the next piece of markup, or one byte on. It returns the encoding that a <meta> names.
func (s *scan) next() (encoding.Encoding, string) {
	rest := s.b[s.at:]
	switch {
	case rest[0] != '<':
		if i := bytes.IndexByte(rest, '<'); i > 0 {
			s.at += i
		} else {
			s.at = len(s.b)
		}
	case bytes.HasPrefix(rest, []byte("<!--")):
		s.at += 2 // the hyphens that begin a comment may end it
		s.skipBehind("-->")
	case len(rest) > 5 && strings.EqualFold(string(rest[:5]), "<meta") && (isSpace(rest[5]) || rest[5] == '/'):
		s.at += 6
		return s.meta()
	case len(rest) > 1 && isLetter(rest[1]), len(rest) > 2 && rest[1] == '/' && isLetter(rest[2]):
		for s.at < len(s.b) && !isSpace(s.b[s.at]) && s.b[s.at] != '>' {
			s.at++
		}
		for name, _ := s.attribute(); name != ""; name, _ = s.attribute() {
		}
		s.at++
	case len(rest) > 1 && (rest[1] == '!' || rest[1] == '/' || rest[1] == '?'):
		s.skipBehind(">")
	default:
		s.at++
	}
	return nil, ""
}

func (s *scan) skipBehind(end string) {
	if i := bytes.Index(s.b[s.at:], []byte(end)); i >= 0 {
		s.at += i + len(end)
	} else {
		s.at = len(s.b)
	}
}

// meta reads the attributes of a <meta>.
func (s *scan) meta() (encoding.Encoding, string) {
	seen := map[string]bool{}
	pragma, needsPragma, label := false, false, ""
	for {
		name, value := s.attribute()
		if name == "" {
			break
		}
		if seen[name] {
			continue
		}
		seen[name] = true
		switch name {
		case "http-equiv":
			pragma = value == "content-type"
		case "content":
			if found := metaCharset(value); found != "" && label == "" {
				label, needsPragma = found, true
			}
		case "charset":
			label, needsPragma = value, false
		}
	}
	if s.at >= len(s.b) || needsPragma && !pragma {
		return nil, "" // the tag does not end, or names no encoding
	}
	return declared(label)
}

// attribute reads the next attribute of a tag, in lower case; name is "" at the end of the tag or of the bytes.
func (s *scan) attribute() (name, value string) {
	s.skip(func(c byte) bool { return isSpace(c) || c == '/' })
	begin := s.at
	s.skip(func(c byte) bool {
		return (c != '=' || s.at == begin) && !isSpace(c) && c != '/' && c != '>'
	})
	name = strings.ToLower(string(s.b[begin:s.at]))
	s.skip(isSpace)
	if name == "" || s.at >= len(s.b) || s.b[s.at] != '=' {
		return name, ""
	}
	s.at++
	s.skip(isSpace)
	if s.at >= len(s.b) {
		return name, ""
	}
	quote := s.b[s.at]
	if begin = s.at; quote == '"' || quote == '\'' {
		s.at++
		begin++
		s.skipBehind(string(quote))
		return name, strings.ToLower(string(s.b[min(begin, len(s.b)):max(begin, s.at-1)]))
	}
	s.skip(func(c byte) bool { return !isSpace(c) && c != '>' })
	return name, strings.ToLower(string(s.b[begin:s.at]))
}

func (s *scan) skip(while func(c byte) bool) {
	for s.at < len(s.b) && while(s.b[s.at]) {
		s.at++
	}
}

// metaCharset is the HTML standard's "algorithm for extracting a character encoding from a meta element": what follows
// "charset=" in the content of a <meta http-equiv=content-type>; "" where a quote is not closed.
func metaCharset(content string) string {
	const white = "\t\n\f\r "
	for {
		i := strings.Index(strings.ToLower(content), "charset")
		if i < 0 {
			return ""
		}
		content = strings.TrimLeft(content[i+len("charset"):], white)
		value, ok := strings.CutPrefix(content, "=")
		if !ok {
			continue
		}
		value = strings.TrimLeft(value, white)
		if value != "" && (value[0] == '"' || value[0] == '\'') {
			if end := strings.IndexByte(value[1:], value[0]); end >= 0 {
				return value[1 : 1+end]
			}
			return ""
		}
		if end := strings.IndexAny(value, white+";"); end >= 0 {
			return value[:end]
		}
		return value
	}
}

// xmlEncoding returns the encoding that an XML declaration at the beginning of a page names, or "".
func xmlEncoding(b []byte) string {
	if !bytes.HasPrefix(b, []byte("<?xml")) {
		return ""
	}
	text, _, ended := strings.Cut(string(b), ">")
	_, text, ok := strings.Cut(text, "encoding")
	text = strings.TrimLeft(text, asciiControls)
	text, isValue := strings.CutPrefix(text, "=")
	if text = strings.TrimLeft(text, asciiControls); !ended || !ok || !isValue || text == "" || text[0] != '"' && text[0] != '\'' {
		return ""
	}
	label, _, closed := strings.Cut(text[1:], text[:1])
	if !closed || strings.ContainsAny(label, asciiControls) {
		return ""
	}
	return label
}

// asciiControls are the octets up to the space.
const asciiControls = "\x00\x01\x02\x03\x04\x05\x06\x07\x08\t\n\v\f\r\x0e\x0f\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f "
