package dom

import (
	"bytes"
	"io"
	"strings"
)

// withDoctype returns a reader of a page whose doctype is rewritten so that html.Parse handles it as the HTML
// standard does. html.Parse takes a doctype in capitals ("HTML"), and one with a public identifier alone, as
// quirks mode, in which a <table> does not end a <p>.
func withDoctype(text []byte) io.Reader {
	begin, end, ok := findDoctype(text)
	if !ok {
		return bytes.NewReader(text)
	}
	return io.MultiReader(bytes.NewReader(text[:begin]), strings.NewReader(plainDoctype(text[begin:end])), bytes.NewReader(text[end:]))
}

const doctype = "<!doctype"

// findDoctype finds a doctype preceded only by white space and comments; one without an end is none.
func findDoctype(text []byte) (begin, end int, ok bool) {
	i := 0
	for {
		for i < len(text) && isSpace(text[i]) {
			i++
		}
		if !bytes.HasPrefix(text[i:], []byte("<!--")) {
			break
		}
		j := bytes.Index(text[i+len("<!--"):], []byte("-->"))
		if j < 0 {
			return 0, 0, false
		}
		i += len("<!--") + j + len("-->")
	}
	if len(text)-i < len(doctype) || !strings.EqualFold(string(text[i:i+len(doctype)]), doctype) {
		return 0, 0, false
	}
	j := bytes.IndexByte(text[i:], '>')
	return i, i + j + 1, j >= 0
}

// Doctypes of pages in each mode.
const (
	standardDoctype = "<!doctype html>"
	quirksDoctype   = "<!doctype quirks>"
)

// plainDoctype returns a doctype for which html.Parse chooses the mode of the HTML standard. What the standard
// calls force-quirks becomes a doctype of another name.
func plainDoctype(written []byte) string {
	s := strings.TrimLeft(string(written[len(doctype):len(written)-1]), spaces)
	name := s
	if i := strings.IndexAny(s, spaces); i >= 0 {
		name = s[:i]
	}
	s = strings.TrimLeft(s[len(name):], spaces)
	if !strings.EqualFold(name, "html") {
		return quirksDoctype
	}
	if s == "" {
		return standardDoctype
	}
	if len(s) < len("public") {
		return quirksDoctype
	}
	keyword, s := strings.ToLower(s[:len("public")]), s[len("public"):]
	var public, system string
	var ok bool
	switch keyword {
	case "public":
		if public, s, ok = quoted(s); !ok {
			return quirksDoctype
		}
		if strings.TrimLeft(s, spaces) == "" {
			low := strings.ToLower(public[1:])
			if strings.HasPrefix(low, "-//w3c//dtd html 4.01 frameset//") || strings.HasPrefix(low, "-//w3c//dtd html 4.01 transitional//") {
				return quirksDoctype
			}
			return "<!doctype html public " + public + " \"\">"
		}
		if system, _, ok = quoted(s); !ok {
			return quirksDoctype
		}
		return "<!doctype html public " + public + " " + system + ">"
	case "system":
		if system, _, ok = quoted(s); !ok {
			return quirksDoctype
		}
		return "<!doctype html system " + system + ">"
	}
	return quirksDoctype
}

const spaces = " \t\r\n\f"

// quoted cuts a string in quotes off the beginning of s, with its quotes.
func quoted(s string) (with, rest string, ok bool) {
	s = strings.TrimLeft(s, spaces)
	if s == "" || s[0] != '"' && s[0] != '\'' {
		return "", "", false
	}
	end := strings.IndexByte(s[1:], s[0])
	if end < 0 {
		return "", "", false
	}
	return s[:end+2], s[end+2:], true
}
