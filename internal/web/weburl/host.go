package weburl

import "strings"

// Host returns the key of politeness of a canonical URL (see URL.Host) without parsing it. For any other string
// the result is undefined.
func Host(canonical string) string {
	_, rest, _ := strings.Cut(canonical, "://")
	host, _, _ := strings.Cut(rest, "/")
	return host
}

// hostname cuts the port from a host.
func hostname(host string) string {
	if i := strings.LastIndexByte(host, ':'); i >= 0 && !strings.HasSuffix(host, "]") {
		return host[:i]
	}
	return host
}
