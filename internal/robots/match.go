package robots

import (
	"slices"
	"strings"
	"time"
)

// Allowed says whether the crawler with this product token may ask for a path with its query
// ("/a/b?c"; "" means "/"). RFC 9309 §2.2.2: the longest match decides, allow wins ties, and
// no match means yes.
func (f *File) Allowed(productToken, pathAndQuery string) bool {
	pathAndQuery, _, _ = strings.Cut(pathAndQuery, "#")
	if pathAndQuery == "" {
		pathAndQuery = "/"
	}
	if pathAndQuery == "/robots.txt" {
		return true
	}
	path := forms(pathAndQuery, "")
	length, allowed := 0, true
	f.each(productToken, func(g *group) {
		for i := range g.rules {
			r := &g.rules[i]
			if (r.length > length || r.length == length && r.allow && !allowed) && r.matches(path) {
				length, allowed = r.length, r.allow
			}
		}
	})
	return allowed
}

// CrawlDelay returns the pause between requests that the file asks this crawler for, at most
// 24 hours; ok says that it asks for one.
func (f *File) CrawlDelay(productToken string) (delay time.Duration, ok bool) {
	delay, ok = f.delays[f.agent(productToken)]
	return delay, ok
}

// each calls do for the groups that a crawler obeys.
func (f *File) each(productToken string, do func(*group)) {
	agent := f.agent(productToken)
	for i := range f.groups {
		if slices.Contains(f.groups[i].agents, agent) {
			do(&f.groups[i])
		}
	}
}

// agent returns the name of the groups that a crawler obeys: its own where the file has it, or
// else "*" (RFC 9309 §2.2.1).
func (f *File) agent(productToken string) string {
	name := strings.ToLower(productToken)
	for _, g := range f.groups {
		if name != "" && slices.Contains(g.agents, name) {
			return name
		}
	}
	return "*"
}

// rule is an allow or disallow line.
type rule struct {
	allow    bool
	anchored bool // ends in "$": the end of the path must match, too
	length   int  // octets of the pattern's normal form
	// Pieces between the asterisks, in both normal forms; the second is nil where the two
	// are the same.
	pieces [2][]string
}

func newRule(pattern string, allow bool) rule {
	r := rule{allow: allow}
	pattern, r.anchored = strings.CutSuffix(pattern, "$")
	f := forms(pattern, "*")
	r.length = len(f[0])
	if r.anchored {
		r.length++
	}
	r.pieces[0] = strings.Split(f[0], "*")
	if f[1] != f[0] {
		r.pieces[1] = strings.Split(f[1], "*")
	}
	return r
}

// matches compares like with like: the first form of pattern and path, then the second.
func (r *rule) matches(path [2]string) bool {
	if matchPieces(r.pieces[0], r.anchored, path[0]) {
		return true
	}
	if r.pieces[1] == nil && path[1] == path[0] {
		return false
	}
	second := r.pieces[1]
	if second == nil {
		second = r.pieces[0]
	}
	return matchPieces(second, r.anchored, path[1])
}

// matchPieces says whether s consists of the pieces with anything between them and, unless
// anchored, behind them. Taking each piece where it first occurs leaves most for the others.
func matchPieces(pieces []string, anchored bool, s string) bool {
	s, ok := strings.CutPrefix(s, pieces[0])
	if !ok {
		return false
	}
	if len(pieces) == 1 {
		return !anchored || s == ""
	}
	last := len(pieces) - 1
	for _, piece := range pieces[1:last] {
		at := strings.Index(s, piece)
		if at < 0 {
			return false
		}
		s = s[at+len(piece):]
	}
	if anchored {
		return strings.HasSuffix(s, pieces[last])
	}
	return strings.Contains(s, pieces[last])
}

// forms returns the two normal forms of a path or pattern (RFC 9309 §2.2.2). In both every octet
// but unreserved ones, slashes and those in keep is an escape with capitals; in the second
// slashes behind the first "?" are escaped, too. An escape is not the same as a slash in a
// path, but is in a query; so two strings are equal if they are in either form.
func forms(s, keep string) [2]string {
	var a, b strings.Builder
	a.Grow(len(s))
	query := -1 // begin of the query in the first form
	for i := 0; i < len(s); i++ {
		c, isEscape := s[i], false
		if c == '%' && i+2 < len(s) {
			if octet, ok := unescape(s[i+1], s[i+2]); ok {
				c, isEscape = octet, true
				i += 2
			}
		}
		switch {
		case isUnreserved(c), !isEscape && (c == '/' || strings.IndexByte(keep, c) >= 0):
			a.WriteByte(c)
		default:
			if c == '?' && !isEscape && query < 0 {
				query = a.Len()
			}
			a.WriteByte('%')
			a.WriteByte(hexDigits[c>>4])
			a.WriteByte(hexDigits[c&15])
		}
	}
	first := a.String()
	if query < 0 || strings.IndexByte(first[query:], '/') < 0 {
		return [2]string{first, first}
	}
	b.WriteString(first[:query])
	b.WriteString(strings.ReplaceAll(first[query:], "/", "%2F"))
	return [2]string{first, b.String()}
}

const hexDigits = "0123456789ABCDEF"

// unescape returns the octet of two hexadecimal digits.
func unescape(high, low byte) (octet byte, ok bool) {
	h, l := digit(high), digit(low)
	return byte(h<<4 | l), h >= 0 && l >= 0
}

func digit(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// isUnreserved: RFC 3986 §2.3.
func isUnreserved(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' ||
		c == '-' || c == '.' || c == '_' || c == '~'
}
