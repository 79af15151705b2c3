package weburl

import (
	"strings"
	"unicode/utf8"

	whatwg "github.com/nlnwa/whatwg-url/url"
)

// paths escapes "^" in paths, as the standard has done since 2024 and whatwg-url 0.6.2 does not.
var paths = whatwg.WithPathPercentEncodeSet(whatwg.PathPercentEncodeSet.Set('^'))

var browserParser = whatwg.NewParser(paths, whatwg.WithPreParseHostFunc(func(u *whatwg.Url, host string) string {
	if u.IsSpecialScheme() {
		return lowerSharpS(host)
	}
	return host
}))

// lowerSharpS replaces a capital "ẞ", bare or escaped, by the small one: so UTS #46 maps it since version 15.1,
// while the tables of x/net/idna are those of 15.0, in which it is "ss", another host.
func lowerSharpS(host string) string {
	const capital, escaped, small = "\u1E9E", "%E1%BA%9E", "\u00DF"
	var b strings.Builder
	rest := strings.ReplaceAll(host, capital, small)
	for i := strings.IndexByte(rest, '%'); i >= 0; i = strings.IndexByte(rest, '%') {
		b.WriteString(rest[:i])
		if rest = rest[i:]; len(rest) >= len(escaped) && strings.EqualFold(rest[:len(escaped)], escaped) {
			b.WriteString(small)
			rest = rest[len(escaped):]
		} else {
			b.WriteByte('%')
			rest = rest[1:]
		}
	}
	return b.String() + rest
}

// browse parses a reference by the WHATWG URL standard; base may be nil.
func browse(base *whatwg.Url, ref string) (*whatwg.Url, error) {
	ref = escapeInvalid(ref)
	u, err := browserParser.BasicParser(ref, base, nil, whatwg.NoState)
	if err != nil && containsFold(ref, "xn--") {
		return browseASCIIHost(base, ref, err)
	}
	return u, err
}

// browseASCIIHost corrects the parser's refusal of hosts with a label like "xn--pokxncvks" that does not decode: a
// host written in ASCII only is its own lower case (domain to ASCII, step 2, in the standard since 2025). The
// parser gets a substitute host.
func browseASCIIHost(base *whatwg.Url, ref string, refused error) (*whatwg.Url, error) {
	var host string
	p := whatwg.NewParser(paths,
		whatwg.WithPreParseHostFunc(func(u *whatwg.Url, h string) string {
			if u.IsSpecialScheme() && isASCIIDomain(h) {
				host = strings.ToLower(h)
				return "stand-in.invalid"
			}
			return h
		}),
		whatwg.WithPostParseHostFunc(func(_ *whatwg.Url, h string) string {
			if host != "" {
				return host
			}
			return h
		}))
	u, err := p.BasicParser(ref, base, nil, whatwg.NoState)
	if err != nil {
		return nil, refused
	}
	return u, nil
}

// isASCIIDomain reports whether a host is a domain in ASCII, not an address, without escapes and without
// characters that a domain must not have.
func isASCIIDomain(host string) bool {
	for i := range len(host) {
		if c := host[i]; c >= utf8.RuneSelf || whatwg.ForbiddenDomainCodePoint.Test(uint(c)) {
			return false
		}
	}
	host = strings.TrimSuffix(host, ".")
	last := host[strings.LastIndexByte(host, '.')+1:]
	return last != "" && !looksNumeric(last)
}

// looksNumeric reports whether a label is a number to the IPv4 parser: decimal, or hexadecimal after "0x".
func looksNumeric(label string) bool {
	if len(label) >= 2 && label[0] == '0' && label[1]|0x20 == 'x' {
		return strings.Trim(label[2:], "0123456789abcdefABCDEF") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}

// escapeInvalid writes the bytes of s that are not UTF-8 as escapes. The parser would replace them by U+FFFD, and
// the page could never be requested.
func escapeInvalid(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && n == 1 {
			b.WriteByte('%')
			b.WriteByte(hexDigits[s[0]>>4])
			b.WriteByte(hexDigits[s[0]&15])
		} else {
			b.WriteString(s[:n])
		}
		s = s[n:]
	}
	return b.String()
}

// hasLongCredentials reports whether user name and password of a reference may be longer than the parser should
// read.
func hasLongCredentials(ref string) bool {
	if !strings.Contains(ref, "@") {
		return false
	}
	ref = strings.Map(func(r rune) rune {
		if r == '\t' || r == '\n' || r == '\r' {
			return -1
		}
		return r
	}, ref)
	ref = strings.TrimLeftFunc(ref, func(r rune) bool { return r <= ' ' })
	_, rest, isAbsolute := cutScheme(ref)
	authority := strings.TrimLeft(rest, "/\\")
	if !isAbsolute && len(rest)-len(authority) < len("//") {
		return false
	}
	authority, _ = cutAt(authority, strings.IndexAny(authority, "/\\?#"))
	return strings.LastIndexByte(authority, '@') > maxCredentials
}

// containsFold reports whether s contains part, which is lower case, in any case of letters.
func containsFold(s, part string) bool {
	for i := 0; i+len(part) <= len(s); i++ {
		if strings.EqualFold(s[i:i+len(part)], part) {
			return true
		}
	}
	return false
}
