package robots

import (
	"cmp"
	"strings"
	"time"
)

// Allowed reports whether the crawler with this product token may request a path with its query ("/a/b?c"; ""
// means "/"). RFC 9309 §2.2.2: the longest match decides, allow wins ties, and without a match the path is
// allowed.
func (f *File) Allowed(productToken, pathAndQuery string) bool {
	allowed, _ := f.allowed(productToken, pathAndQuery)
	return allowed
}

// matchBudget bounds the work of one call of Allowed on patterns with asterisks: bytes of patterns and paths compared.
// Patterns without asterisks need no bound: each costs no more than its own length. A file of a thousand patterns with
// asterisks stays within it for paths of 8,000 bytes.
const matchBudget = 8 << 20

// allowed also returns the work, bytes compared at most.
func (f *File) allowed(productToken, pathAndQuery string) (allowed bool, work int) {
	pathAndQuery, _, _ = strings.Cut(pathAndQuery, "#")
	if pathAndQuery == "" {
		pathAndQuery = "/"
	}
	if pathAndQuery == "/robots.txt" {
		return true, 0
	}
	path := forms(pathAndQuery, "")
	path[0] += "$"
	path[1] += "$"
	length, allowed, wild := 0, true, 0
	for _, group := range f.agents[f.agent(productToken)] {
		for i := range f.groups[group] {
			r := &f.groups[group][i]
			if r.length < length || r.length == length && (allowed || !r.allow) {
				continue
			}
			matches := r.begins(path)
			work += 2 * r.length
			if matches && r.wild {
				if cost := r.size() + len(path[0]) + len(path[1]); wild+cost <= matchBudget {
					wild += cost
					matches = r.matches(path)
				} else {
					matches = !r.allow
				}
			}
			if matches {
				length, allowed = r.length, r.allow
			}
		}
	}
	return allowed, work + wild
}

// CrawlDelay returns the pause between requests that the file specifies for this crawler, at most 24 hours; ok is
// false if there is none.
func (f *File) CrawlDelay(productToken string) (delay time.Duration, ok bool) {
	delay, ok = f.delays[f.agent(productToken)]
	return delay, ok
}

// agent returns the name of the groups that apply to a crawler: its own if the file has it, or else "*" (RFC 9309
// §2.2.1).
func (f *File) agent(productToken string) string {
	name := strings.ToLower(productToken)
	if _, ok := f.agents[name]; ok && name != "" {
		return name
	}
	return "*"
}

// rule is an allow or disallow line.
type rule struct {
	allow bool
	wild  bool // the pattern has asterisks
	// length of the pattern's first normal form, octets.
	length int
	// pattern in both normal forms; the second is "" if the two are the same. A "$" matches the end of every path:
	// in a normal form all others are escapes.
	pattern [2]string
}

func newRule(pattern string, allow bool) rule {
	pattern, anchored := strings.CutSuffix(pattern, "$")
	f := forms(pattern, "*")
	if anchored {
		f[0] += "$"
		f[1] += "$"
	}
	r := rule{allow: allow, wild: strings.Contains(pattern, "*"), length: len(f[0]), pattern: f}
	if f[1] == f[0] {
		r.pattern[1] = ""
	}
	return r
}

// size is the length of both forms, bytes.
func (r *rule) size() int { return len(r.pattern[0]) + len(r.pattern[1]) }

// begins reports whether a path begins with the part of the pattern before its first asterisk, which is necessary
// for a match.
func (r *rule) begins(path [2]string) bool {
	return r.either(path, func(pattern, path string) bool {
		first, _, _ := strings.Cut(pattern, "*")
		return strings.HasPrefix(path, first)
	})
}

// matches reports whether the pattern matches a path.
func (r *rule) matches(path [2]string) bool { return r.either(path, matchPattern) }

// either compares corresponding forms: the first form of pattern and path, then the second.
func (r *rule) either(path [2]string, match func(pattern, path string) bool) bool {
	if match(r.pattern[0], path[0]) {
		return true
	}
	if r.pattern[1] == "" && path[1] == path[0] {
		return false
	}
	return match(cmp.Or(r.pattern[1], r.pattern[0]), path[1])
}

// matchPattern reports whether s consists of the pieces between the asterisks with anything between and after
// them. Taking each piece where it first occurs leaves most for the others, and makes the time linear.
func matchPattern(pattern, s string) bool {
	piece, pattern, more := strings.Cut(pattern, "*")
	s, ok := strings.CutPrefix(s, piece)
	for ok && more {
		piece, pattern, more = strings.Cut(pattern, "*")
		_, s, ok = strings.Cut(s, piece)
	}
	return ok
}

// forms returns the two normal forms of a path or pattern (RFC 9309 §2.2.2). In both every octet except unreserved
// ones, slashes and those in keep is an escape with capitals; in the second slashes after the first "?" are
// escaped, too. An escaped slash differs from a slash in a path, but not in a query; so two strings are equal if
// they are equal in either form.
func forms(s, keep string) [2]string {
	var a, b strings.Builder
	a.Grow(len(s))
	query := -1 // beginning of the query in the first form
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

// isUnreserved reports whether c is unreserved (RFC 3986 §2.3).
func isUnreserved(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' ||
		c == '-' || c == '.' || c == '_' || c == '~'
}
