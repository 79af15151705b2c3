package weburl

import (
	"fmt"
	"strings"
	"sync"

	whatwg "github.com/nlnwa/whatwg-url/url"
)

// MaxLength is the maximum length of a canonical URL in bytes; longer ones are refused. RFC 9110 §4.1 recommends
// to support 8,000.
const MaxLength = 8192

// Bounds on a reference, less its fragment, and on a canonical URL. whatwg-url takes time
// quadratic in the number of segments and in the length of credentials.
const (
	maxSegments    = 1024
	maxCredentials = 256 // bytes
)

// URL is a canonical URL, http or https. Its zero value is no URL. URLs are comparable with ==.
type URL struct {
	s      string
	hostAt int // beginning of the host
	pathAt int // beginning of the path; s[hostAt:pathAt] is host and port
}

// Parse makes an absolute URL canonical.
func Parse(raw string) (URL, error) {
	var none Base
	return none.Resolve(raw)
}

// String returns the canonical URL.
func (u URL) String() string { return u.s }

// IsZero reports whether u is no URL.
func (u URL) IsZero() bool { return u.s == "" }

// Scheme returns "http" or "https".
func (u URL) Scheme() string {
	if u.IsZero() {
		return ""
	}
	return u.s[:u.hostAt-len("://")]
}

// Host returns the key of politeness: the host in lower case, with ":port" if it is not the default of the scheme.
// An IPv6 address is in brackets.
func (u URL) Host() string { return u.s[u.hostAt:u.pathAt] }

// Hostname returns the host without its port.
func (u URL) Hostname() string { return hostname(u.Host()) }

// Path returns the path, which begins with "/".
func (u URL) Path() string {
	path, _, _ := strings.Cut(u.s[u.pathAt:], "?")
	return path
}

// PathAndQuery returns the part of the URL that robots.txt rules are matched against and that
// a request line carries.
func (u URL) PathAndQuery() string { return u.s[u.pathAt:] }

// Base resolves references found on one page. It is safe for concurrent use.
type Base struct {
	u   URL
	dir int // length of u.s up to and including the last slash of its path

	once    sync.Once
	browser *whatwg.Url // u for the slow path, parsed when first needed
	err     error
}

// NewBase returns a base for the references of the page at u, which must not be zero. For a page with <base
// href=h> it is NewBase of the result of NewBase(page).Resolve(h).
func NewBase(u URL) *Base {
	path := u.Path()
	return &Base{u: u, dir: u.pathAt + strings.LastIndexByte(path, '/') + 1}
}

// Resolve returns the canonical URL of a reference (the value of href, a Location header).
func (b *Base) Resolve(ref string) (URL, error) {
	ref, err := bound(ref)
	if err != nil {
		return URL{}, err
	}
	if u, ok, err := b.plain(ref); ok || err != nil {
		return u, err
	}
	return b.slow(ref)
}

// bound cuts the fragment off and refuses what no parser should read.
func bound(ref string) (string, error) {
	// A "#" always begins the fragment; it is kept so that a space before it is not trimmed.
	if i := strings.IndexByte(ref, '#'); i >= 0 {
		ref = ref[:i+1]
	}
	if len(ref) > MaxLength+1 {
		return "", fmt.Errorf("URL %.60q…: %d bytes are too long", ref, len(ref))
	}
	if err := checkSegments(ref); err != nil {
		return "", fmt.Errorf("URL %.60q…: %w", ref, err)
	}
	return ref, nil
}

// checkSegments refuses a reference or URL with too many segments.
func checkSegments(s string) error {
	if len(s) > maxSegments && strings.Count(s, "/")+strings.Count(s, "\\") > maxSegments {
		return errSegments
	}
	return nil
}

// slow resolves any reference as browsers do and makes the result canonical.
func (b *Base) slow(ref string) (URL, error) {
	if hasLongCredentials(ref) {
		return URL{}, fmt.Errorf("URL %.60q…: user name and password are too long", ref)
	}
	if !b.u.IsZero() {
		b.once.Do(func() {
			if b.browser, b.err = browse(nil, b.u.s); b.err == nil {
				b.browser.SearchParams() // otherwise the first resolution, which copies, writes it
			}
		})
		if b.err != nil {
			return URL{}, fmt.Errorf("base URL %q: %w", b.u.s, b.err)
		}
	}
	u, err := browse(b.browser, ref)
	if err != nil {
		return URL{}, fmt.Errorf("URL %.200q: %w", ref, err)
	}
	c, err := canonical(u)
	if err != nil {
		return URL{}, fmt.Errorf("URL %.200q: %w", ref, err)
	}
	return c, nil
}
