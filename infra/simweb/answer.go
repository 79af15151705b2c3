package simweb

import (
	"strconv"
	"strings"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
)

// answer is the response of the server for a URL, before hazards of its host.
type answer struct {
	status      int
	contentType string // "" = none
	location    string
	// body, followed by filler more bytes of HTML
	body   []byte
	filler int
	// cut: the connection ends after half of the body; hangUp: before anything was sent.
	cut, hangUp bool
}

const htmlType = "text/html; charset=utf-8"

// hugeBody is the length of a page that is too large, bytes.
const hugeBody = 5 << 20

// answer makes the response for a spot; buf is used for its body.
func (w *Web) answer(s *spot, buf []byte) answer {
	a := answer{status: 200, contentType: htmlType, body: buf[:0]}
	switch s.kind {
	case isPage:
		w.answerPage(&a, &s.page)
	case isAlias, isFar, isLoop, isNowhere:
		a.status, a.contentType = 301, "text/html"
		a.location = w.location(s)
	case isCalendar, isFilter, isPile:
		a.body = w.writeTrap(a.body, s)
	case isRobots, isMovedRobots:
		w.answerRobots(&a, s)
	default:
		a.status, a.contentType = 404, "text/plain; charset=utf-8"
		a.body = append(a.body, "There is no such page.\n"...)
	}
	return a
}

func (w *Web) answerRobots(a *answer, s *spot) {
	a.contentType = "text/plain"
	switch r := w.robotsOf(s.host); {
	case r == robotsNone:
		a.status = 404
	case r == robotsForbidden:
		a.status = 403
	case r == robotsMoved && s.kind == isRobots:
		a.status, a.location = 301, "/robots-moved.txt"
	default:
		a.body = append(a.body, robotsText(r)...)
	}
}

// location returns the target of a redirect, "" if it has none.
func (w *Web) location(s *spot) string {
	id := s.page.id
	switch s.kind {
	case isAlias, isFar:
		if s.hops == 1 {
			return w.url(id)
		}
		return string(w.appendAlias(nil, redirectWords[s.kind], s.hops-1, id))
	case isLoop:
		return string(w.appendAlias(nil, "loop", (s.hops+1)%circle, id))
	}
	switch w.hash(id, ofVariant) % 3 {
	case 0:
		return ""
	case 1:
		return string(w.appendAlias(nil, "void", 1, id)) // itself
	}
	return "mailto:nobody@localhost"
}

func (w *Web) answerPage(a *answer, p *page) {
	hazard := w.pageHazard(p.id)
	if hazard == HazardError {
		a.status, a.contentType = 500, "text/html"
		a.body = append(a.body, "<html><p>It broke."...)
		return
	}
	a.body = w.write(a.body, p)
	switch hazard {
	case HazardFile:
		f := w.file(p.id)
		a.contentType, a.body = f.contentType, append(append(a.body[:0], f.start...), a.body...)
	case HazardCharset:
		c := w.charset(p.id)
		a.contentType, a.body = c.contentType, c.encode(a.body)
	case HazardHuge:
		a.filler = hugeBody - len(a.body)
	case HazardCut:
		a.cut = true
		a.hangUp = w.hash(p.id, ofVariant)&1 == 1
	}
}

// file is content that is not a page, or that does not look like one.
type file struct {
	contentType, start string
	html               bool // a crawler should recognise it as a page
}

var files = []file{
	{"application/pdf", "%PDF-1.4\n", false},
	{"image/png", "\x89PNG\r\n\x1a\n", false},
	{"text/html", "%PDF-1.4\n", false}, // some servers use this type for everything
	{"application/json", `{"page": "`, false},
	{"text/css", "p {} /* ", false},
	{"text/plain; charset=utf-8", "Not marked up.\n\n", false},
	{"application/octet-stream", "PK\x03\x04", false},
	{"text/plain", "", true}, // HTML under the default type of a server
	{"", "", true},
}

func (w *Web) file(id uint64) *file { return &files[w.hash(id, ofVariant)%uint64(len(files))] }

// charset is the encoding of a page and its declarations.
type charset struct {
	contentType string
	// meta replaces the encoding in the page's own <meta>.
	meta     string
	encoding encoding.Encoding
	// read is the encoding that a browser uses for the page (WHATWG name).
	read string
}

// wide has a byte order mark.
var wide = unicode.UTF16(unicode.LittleEndian, unicode.UseBOM)

var charsets = []charset{
	{"text/html; charset=ISO-8859-1", "utf-8", charmap.Windows1252, "windows-1252"}, // the header takes precedence
	{"text/html", "windows-1252", charmap.Windows1252, "windows-1252"},
	{"text/html; charset=utf-8", "utf-8", charmap.Windows1252, "utf-8"}, // wrong: é is not valid UTF-8
	{"text/html; charset=x-none", "utf-8", unicode.UTF8, "utf-8"},
	{"text/html; charset=windows-1252", "windows-1252", wide, "utf-16le"}, // the mark takes precedence
	{"text/html;charset=\"UTF8\"", "x-none", unicode.UTF8, "utf-8"},
}

func (w *Web) charset(id uint64) *charset {
	return &charsets[w.hash(id, ofVariant)%uint64(len(charsets))]
}

// encode converts the page, which is ASCII, to its encoding, with some accents.
func (c *charset) encode(body []byte) []byte {
	head, rest, _ := strings.Cut(string(body), `<meta charset="utf-8">`)
	text, tag, before := []rune(head+`<meta charset="`+c.meta+`">`), false, '>'
	for _, r := range rest {
		switch {
		case r == '<' || r == '>':
			tag = r == '<'
		case r == 'e' && before == 'r' && !tag:
			r = 'é'
		}
		text, before = append(text, r), r
	}
	out, err := c.encoding.NewEncoder().Bytes([]byte(string(text)))
	if err != nil {
		panic(err) // every encoding has these characters
	}
	return out
}

// writeTrap writes one of the endless pages, which has no topic and links to more of them.
func (w *Web) writeTrap(b []byte, s *spot) []byte {
	seed := uint64(len(s.path))
	for _, c := range []byte(s.path) {
		seed = mix(seed ^ uint64(c))
	}
	p := w.page(s.host.lo)
	x := &writer{w: w, b: b, page: &p, s: stream{state: w.hash(seed, ofText)}, site: stream{state: w.hash(p.host.lo, ofNavigation)}}
	x.template = int(x.site.next() % 3)
	x.source = wordSource{language: w.language, topic: -1, aside: -1, rest: w.language.background}
	x.neighbour = x.source
	x.head()
	x.navigation()
	x.str("<ul>")
	for i, path := range trapLinks(s.kind, s.path) {
		x.str("<li>")
		x.words(2)
		x.str(" <a href=\"/" + path + "\">")
		x.words(1)
		x.str(" " + strconv.Itoa(i+1) + "</a></li>\n")
	}
	x.str("</ul>")
	x.foot()
	return x.b
}

// Page returns the HTML of the page at a URL of the web. For a redirect it returns the URL it leads to. ok is
// false for other URLs: 404s, errors, files.
func (w *Web) Page(url string) (html, redirect string, ok bool) {
	s, ok := w.locate(url)
	if !ok {
		return "", "", false
	}
	a := w.answer(&s, nil)
	switch {
	case a.location != "":
		return "", a.location, true
	case a.status != 200 || s.kind == isRobots || s.kind == isMovedRobots:
		return "", "", false
	}
	return string(a.body), "", true
}
