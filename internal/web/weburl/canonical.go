package weburl

import (
	"errors"
	"fmt"
	"strings"

	whatwg "github.com/nlnwa/whatwg-url/url"
)

const hexDigits = "0123456789ABCDEF"

var (
	errScheme   = errors.New("the scheme is not http or https")
	errHost     = errors.New("there is no host")
	errLong     = fmt.Errorf("longer than %d bytes", MaxLength)
	errSegments = fmt.Errorf("more than %d slashes", maxSegments)
)

// canonical returns the canonical URL of a parsed one.
func canonical(u *whatwg.Url) (URL, error) {
	scheme := u.Scheme()
	if scheme != "http" && scheme != "https" {
		return URL{}, errScheme
	}
	host := u.Hostname()
	if !strings.HasPrefix(host, "[") { // IsIPv6 is false where the host comes from the base
		host = strings.TrimSuffix(host, ".")
		if err := checkName(host); err != nil {
			return URL{}, err
		}
	}
	path, query := u.Pathname(), u.Query()
	s := make([]byte, 0, len(scheme)+len("://:65535?")+len(host)+len(path)+len(query)+16)
	s = append(s, scheme...)
	s = append(s, "://"...)
	hostAt := len(s)
	s = append(s, host...)
	if port := u.Port(); port != "" {
		s = append(s, ':')
		s = append(s, port...)
	}
	pathAt := len(s)
	s = appendNormal(s, path, true)
	if query != "" {
		s = append(s, '?')
		s = appendNormal(s, query, false)
	}
	return limited(URL{s: string(s), hostAt: hostAt, pathAt: pathAt})
}

// limited refuses a URL beyond the bounds.
func limited(u URL) (URL, error) {
	if len(u.s) > MaxLength {
		return URL{}, errLong
	}
	if err := checkSegments(u.s); err != nil {
		return URL{}, err
	}
	return u, nil
}

// checkName returns an error if a host, in lower case, is no name that could be looked up.
func checkName(host string) error {
	if host == "" {
		return errHost
	}
	for i := range len(host) {
		switch c := host[i]; {
		case classOf[c]&inHost == 0:
			return fmt.Errorf("host %q contains %q", host, c)
		case c == '.' && (i == 0 || host[i-1] == '.'):
			return fmt.Errorf("host %q has an empty label", host)
		}
	}
	if host[len(host)-1] == '.' {
		return fmt.Errorf("host %q has an empty label", host)
	}
	return nil
}

// appendNormal appends a path or query with its escapes in their normal form (RFC 3986
// §6.2.2): capitals, unreserved characters bare, every other "%" escaped.
func appendNormal(dst []byte, s string, path bool) []byte {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]):
			b := unhex(s[i+1])<<4 | unhex(s[i+2])
			if classOf[b]&unreserved != 0 {
				dst = append(dst, b)
			} else {
				dst = append(dst, '%', hexDigits[b>>4], hexDigits[b&15])
			}
			i += 2
		case c == '%':
			dst = append(dst, "%25"...)
		case c == '|' && path:
			dst = append(dst, "%7C"...)
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

// unhex returns the value of a hexadecimal digit.
func unhex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c | 0x20 - 'a' + 10
}
