package weburl

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Classes of bytes for the fast path.
const (
	unreserved = 1 << iota // RFC 3986 §2.3
	inHost                 // what a canonical host consists of, dots included
	inPath                 // is itself in a path, slash included; not "%"
	inQuery                // is itself in a query; not "%"
	inScheme               // may be in a scheme after its first letter
)

var classOf = func() (t [256]uint8) {
	set := func(chars string, class uint8) {
		for i := range len(chars) {
			t[chars[i]] |= class
		}
	}
	const lower, upper, digits = "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789"
	set(lower+upper+digits+"-._~", unreserved|inPath|inQuery)
	set(lower+digits+"-_.", inHost)
	set("/!$&'()*+,;=:@[]", inPath)
	set("/?!$&()*+,;=:@[]{}|^`\\", inQuery)
	set(lower+upper+digits+"+-.", inScheme)
	return t
}()

// plain resolves a reference made of characters that need no change, by slicing strings. It returns ok, or an
// error for what slow would refuse, or neither: then slow must be used.
func (b *Base) plain(ref string) (u URL, ok bool, err error) {
	ref, _, _ = strings.Cut(ref, "#")
	scheme, rest, isAbsolute := cutScheme(ref)
	switch {
	case isAbsolute && scheme != "http" && scheme != "https":
		if strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https") {
			return URL{}, false, nil
		}
		return URL{}, false, fmt.Errorf("URL %.200q: %w", ref, errScheme)
	case isAbsolute:
		return authority(scheme, rest)
	case b.u.IsZero():
		return URL{}, false, nil
	case ref == "":
		return b.u, true, nil
	case strings.HasPrefix(ref, "//"):
		return authority(b.u.Scheme(), ref)
	}
	path, query, isPlain := cutPlain(ref)
	if !isPlain {
		return URL{}, false, nil
	}
	switch {
	case path == "":
		path = b.u.Path()
		return join(b.u.s[:b.u.pathAt+len(path)], b.u.hostAt, b.u.pathAt, "", query)
	case path[0] == '/' && !hasDots(path):
		return join(b.u.s[:b.u.pathAt], b.u.hostAt, b.u.pathAt, path, query)
	case path[0] == '/':
		return join(b.u.s[:b.u.pathAt], b.u.hostAt, b.u.pathAt, removeDots(path), query)
	case !hasDots(path) && path[0] != '.':
		return join(b.u.s[:b.dir], b.u.hostAt, b.u.pathAt, path, query)
	default:
		path = removeDots(b.u.s[b.u.pathAt:b.dir] + path)
		return join(b.u.s[:b.u.pathAt], b.u.hostAt, b.u.pathAt, path, query)
	}
}

// cutScheme cuts a reference at the colon after its scheme; ok is false if it has none.
func cutScheme(ref string) (scheme, rest string, ok bool) {
	if ref == "" || ref[0]|0x20 < 'a' || ref[0]|0x20 > 'z' {
		return "", ref, false
	}
	for i := range len(ref) {
		if ref[i] == ':' {
			return ref[:i], ref[i+1:], true
		}
		if classOf[ref[i]]&inScheme == 0 {
			break
		}
	}
	return "", ref, false
}

// authority returns the URL of a scheme and what follows its colon, if that is plain.
func authority(scheme, rest string) (u URL, ok bool, err error) {
	if !strings.HasPrefix(rest, "//") {
		return URL{}, false, nil
	}
	rest = rest[len("//"):]
	host, rest := cutAt(rest, strings.IndexAny(rest, "/?"))
	host, port := cutAt(host, strings.IndexByte(host, ':'))
	if !isPlainPort(port, scheme) {
		return URL{}, false, nil
	}
	host, isPlain := plainHost(host)
	if !isPlain {
		return URL{}, false, nil
	}
	path, query, isPlain := cutPlain(rest)
	if !isPlain {
		return URL{}, false, nil
	}
	if path == "" {
		path = "/"
	} else if hasDots(path) {
		path = removeDots(path)
	}
	hostAt := len(scheme) + len("://")
	begin := scheme + "://" + host + port
	return join(begin, hostAt, len(begin), path, query)
}

func cutAt(s string, i int) (before, from string) {
	if i < 0 {
		return s, ""
	}
	return s[:i], s[i:]
}

// plainHost returns a host in lower case; ok reports that it needs no other change: it is no address, has no
// punycode (which could be wrong) and no empty label.
func plainHost(host string) (lower string, ok bool) {
	for i := range len(host) {
		if host[i] >= utf8.RuneSelf {
			return "", false
		}
	}
	host = strings.ToLower(host)
	if checkName(host) != nil || strings.Contains(host, "xn--") {
		return "", false
	}
	last := host[strings.LastIndexByte(host, '.')+1]
	return host, last < '0' || last > '9'
}

// isPlainPort reports whether ":port", or nothing, stays as it is.
func isPlainPort(port, scheme string) bool {
	switch {
	case port == "":
		return true
	case len(port) < 2 || len(port) > 5 || port[1] == '0': // 5 digits could be too much
		return false
	case scheme == "http" && port == ":80", scheme == "https" && port == ":443":
		return false
	}
	return strings.Trim(port[1:], "0123456789") == ""
}

// cutPlain cuts path from query; ok reports that no character needs a change.
func cutPlain(ref string) (path, query string, ok bool) {
	class := uint8(inPath)
	path = ref
	for i := 0; i < len(ref); i++ {
		switch c := ref[i]; {
		case classOf[c]&class != 0:
		case c == '?': // a second one is inQuery
			path, query = ref[:i], ref[i+1:]
			class = inQuery
		case c == '%' && i+2 < len(ref) && isNormalEscape(ref[i+1], ref[i+2]):
			i += 2
		default:
			return "", "", false
		}
	}
	return path, query, true
}

// isNormalEscape reports whether "%" with these two digits is an escape in its normal form.
func isNormalEscape(a, b byte) bool {
	const lowerCase = 0x20
	if !isHex(a) || !isHex(b) || a >= 'A' && a&lowerCase != 0 || b >= 'A' && b&lowerCase != 0 {
		return false
	}
	return classOf[unhex(a)<<4|unhex(b)]&unreserved == 0
}

// hasDots reports whether a path may have a dot segment after a slash.
func hasDots(path string) bool { return strings.Contains(path, "/.") }

// removeDots resolves the dot segments of a path that begins with "/".
func removeDots(path string) string {
	out := make([]byte, 0, len(path))
	for rest, more := path[1:], true; more; {
		var segment string
		segment, rest, more = strings.Cut(rest, "/")
		switch segment {
		case "..":
			for i := len(out) - 1; i >= 0; i-- {
				if out[i] == '/' {
					out = out[:i]
					break
				}
			}
			fallthrough
		case ".":
			if !more {
				out = append(out, '/')
			}
		default:
			out = append(out, '/')
			out = append(out, segment...)
		}
	}
	return string(out)
}

// join appends a path and a query to the beginning of a URL.
func join(begin string, hostAt, pathAt int, path, query string) (URL, bool, error) {
	if query != "" {
		query = "?" + query
	}
	u, err := limited(URL{begin + path + query, hostAt, pathAt})
	if err != nil {
		return URL{}, false, fmt.Errorf("URL %.200q…: %w", begin+path, err)
	}
	return u, true, nil
}
