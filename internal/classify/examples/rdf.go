package examples

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

// Bounds of the scanner's memory, bytes.
const (
	rdfWindow = 64 << 10
	// maxTag is the maximum length of a tag; maxField that of the text of an element, of which the rest is
	// skipped.
	maxTag   = 16 << 10
	maxField = 64 << 10
)

// rdfKind is the kind of an rdfToken.
type rdfKind int

const (
	rdfText rdfKind = iota
	rdfOpen
	rdfClose
)

// rdfToken is a piece of a dump. Its bytes are valid until the next call of next.
type rdfToken struct {
	kind rdfKind
	// name of a tag without digits at its end: "ExternalPage", "link" for link1.
	name string
	// value is the text as written, or the tag's first attribute.
	value []byte
	// empty reports that the tag closes its element.
	empty bool
	// broken reports that the tag does not end.
	broken bool
	at     int64
}

// rdfNames are the elements of a dump. Any other text after "<" is text.
var rdfNames = func() map[string]string {
	names := make(map[string]string)
	for _, n := range []string{
		"RDF", "Topic", "Alias", "ExternalPage", "d:Title", "d:Description", "topic", "catid", "link", "rss", "atom",
		"pdf", "narrow", "symbolic", "related", "altlang", "letterbar", "editor", "newsgroup", "lastUpdate", "Target", "priority",
		"mediadate", "ages", "type", "d:charset", "dispname",
	} {
		names[n] = n
	}
	return names
}()

// rdfScanner cuts a dump into tags and the text between them. It accepts any bytes.
type rdfScanner struct {
	r      io.Reader
	buf    []byte
	begin  int   // of the rest of buf
	end    int   // of what was read
	offset int64 // of buf[0]
	err    error // of r, once it has ended
}

func newRDFScanner(r io.Reader) *rdfScanner {
	return &rdfScanner{r: r, buf: make([]byte, rdfWindow)}
}

// at returns the offset of the rest.
func (s *rdfScanner) at() int64 { return s.offset + int64(s.begin) }

// need tries to have n bytes in buf.
func (s *rdfScanner) need(n int) {
	for idle := 0; s.end-s.begin < n && s.err == nil; {
		if s.begin > 0 && s.begin+n > len(s.buf) {
			copy(s.buf, s.buf[s.begin:s.end])
			s.offset += int64(s.begin)
			s.end -= s.begin
			s.begin = 0
		}
		var read int
		read, s.err = s.r.Read(s.buf[s.end:])
		s.end += read
		if idle++; read > 0 {
			idle = 0
		} else if idle == 100 && s.err == nil {
			s.err = io.ErrNoProgress
		}
	}
}

// next returns the next token; io.EOF at the end, or the reader's error.
func (s *rdfScanner) next() (t rdfToken, err error) {
	for {
		s.need(maxTag + 1)
		rest := s.buf[s.begin:s.end]
		if len(rest) == 0 {
			return t, s.err
		}
		t.at = s.at()
		if rest[0] != '<' {
			n := bytes.IndexByte(rest, '<')
			if n < 0 {
				n = len(rest)
			}
			s.begin += n
			t.kind, t.value = rdfText, rest[:n]
			return t, nil
		}
		if name, closes := rdfName(rest); name != "" {
			return s.tag(rest, name, closes), nil
		}
		if n := rdfAside(rest); n > 0 {
			s.begin += n
			continue
		}
		s.begin++
		t.kind, t.value = rdfText, rest[:1]
		return t, nil
	}
}

// each calls f for every token until ctx ends. name is the dump's, for the reader's error.
func (s *rdfScanner) each(ctx context.Context, name string, f func(t rdfToken) error) error {
	for n := 0; ; n++ {
		if n%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		t, err := s.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", Place{Source: name, Unit: "byte", At: s.at()}, err)
		}
		if err := f(t); err != nil {
			return err
		}
	}
}

// rdfName returns the name of the tag at the beginning of b, empty if there is none.
func rdfName(b []byte) (name string, closes bool) {
	i := 1
	if i < len(b) && b[i] == '/' {
		closes = true
		i++
	}
	begin := i
	for i < len(b) && i-begin < 16 && (b[i]|0x20 >= 'a' && b[i]|0x20 <= 'z' || b[i] == ':') {
		i++
	}
	name = rdfNames[string(b[begin:i])]
	for i < len(b) && b[i] >= '0' && b[i] <= '9' {
		i++
	}
	if i < len(b) && b[i] != '>' && b[i] != '/' && b[i] > ' ' {
		return "", false
	}
	return name, closes
}

// rdfAside returns the length of a comment, an instruction or a declaration at the beginning of b; 0 if there is
// none. One without an end is as long as its first line.
func rdfAside(b []byte) int {
	end := ">"
	switch {
	case bytes.HasPrefix(b, []byte("<!--")):
		end = "-->"
	case bytes.HasPrefix(b, []byte("<![CDATA[")):
		return len("<![CDATA[")
	case bytes.HasPrefix(b, []byte("<?")):
		end = "?>"
	case !bytes.HasPrefix(b, []byte("<!")):
		return 0
	}
	b = b[:min(len(b), maxTag)]
	if i := bytes.Index(b, []byte(end)); i >= 0 {
		return i + len(end)
	}
	if i := bytes.IndexByte(b, '\n'); i >= 0 {
		return i + 1
	}
	return len(b)
}

// tag returns the tag at the beginning of rest. A value in quotes may contain anything, also ">" and "<": it ends
// where the quote is followed by the end of the tag or, if there is none, at the end of the line or at the next
// tag.
func (s *rdfScanner) tag(rest []byte, name string, closes bool) rdfToken {
	t := rdfToken{kind: rdfOpen, name: name, at: s.at()}
	if closes {
		t.kind = rdfClose
	}
	rest = rest[:min(len(rest), maxTag)]
	i := bytes.IndexAny(rest, ">\n\"'")
	if i >= 0 && (rest[i] == '"' || rest[i] == '\'') && name != "RDF" {
		quote := rest[i]
		begin := i + 1
		for i = begin; i < len(rest); i++ {
			switch {
			case rest[i] == quote:
				n, empty := rdfTagEnd(rest[i+1:])
				if n == 0 {
					continue
				}
				t.value, t.empty = rest[begin:i], empty
				s.begin += i + 1 + n
				return t
			case rest[i] == '\n':
			case rest[i] == '<':
				if other, _ := rdfName(rest[i:]); other == "" {
					continue
				}
			default:
				continue
			}
			break
		}
		t.value, t.broken = bytes.TrimRight(rest[begin:i], " \t\r/>"), true
		s.begin += i
		return t
	}
	if name == "RDF" {
		i = bytes.IndexByte(rest, '>')
	}
	if i < 0 || rest[i] != '>' {
		if i < 0 {
			i = len(rest)
		}
		t.broken = true
		s.begin += i
		return t
	}
	t.empty = rest[i-1] == '/'
	s.begin += i + 1
	return t
}

// rdfTagEnd returns the length of the end of a tag at the beginning of b, 0 if there is none.
func rdfTagEnd(b []byte) (n int, empty bool) {
	for n < len(b) && (b[n] == ' ' || b[n] == '\t') {
		n++
	}
	if n < len(b) && b[n] == '/' {
		empty = true
		n++
	}
	if n < len(b) && b[n] == '>' {
		return n + 1, empty
	}
	return 0, false
}

// rdfFaults are the kinds of damage that were repaired in a text.
type rdfFaults struct{ encoding, controls, entities bool }

// rdfString returns the text of a piece of a dump: bytes that are not UTF-8 are read as windows-1252 (in which
// they were once entered), control characters are white space, and entities are those of HTML, as XML has five
// only. A bare "&" is itself.
func rdfString(b []byte) (s string, f rdfFaults) {
	plain := true
	for _, c := range b {
		if c < ' ' || c == '&' || c >= 0x7f {
			plain = false
			break
		}
	}
	if plain {
		return string(b), f
	}
	out := make([]byte, 0, len(b)+16)
	for i := 0; i < len(b); {
		switch c := b[i]; {
		case c == '&':
			r, n := rdfEntity(b[i:])
			f.entities = f.entities || n == 1
			out = append(out, r...)
			i += n
		case c < utf8.RuneSelf:
			if c == '\t' || c == '\n' || c == '\r' {
				c = ' '
			} else if c < ' ' || c == 0x7f {
				f.controls = true
				c = ' '
			}
			out = append(out, c)
			i++
		default:
			r, n := utf8.DecodeRune(b[i:])
			switch {
			case r == utf8.RuneError && n == 1:
				f.encoding = true
				r = charmap.Windows1252.DecodeByte(c)
			case r >= 0x80 && r < 0xa0:
				f.controls = true
				r = ' '
			}
			out = utf8.AppendRune(out, r)
			i += n
		}
	}
	return string(out), f
}

// rdfEntity returns the value of the entity at the beginning of b and its length; "&" and 1 if there is none.
func rdfEntity(b []byte) (string, int) {
	end := bytes.IndexByte(b[:min(len(b), 34)], ';')
	if end < 0 {
		return "&", 1
	}
	name := string(b[:end+1])
	s := html.UnescapeString(name)
	if s == name || strings.HasSuffix(s, ";") && s != ";" {
		return "&", 1
	}
	if r, _ := utf8.DecodeRuneInString(s); r < ' ' || r >= 0x7f && r < 0xa0 || r == utf8.RuneError {
		s = " "
	}
	return s, end + 1
}

// errBrokenOff is the error of a dump without an end.
var errBrokenOff = errors.New("it breaks off: there is no </RDF> at its end")
