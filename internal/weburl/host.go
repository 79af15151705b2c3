package weburl

import (
	"net/netip"
	"strings"

	"golang.org/x/net/publicsuffix"
)

// Host returns the key of politeness of a canonical URL (see URL.Host) without parsing it.
// Of anything else it returns "" or nonsense.
func Host(canonical string) string {
	_, rest, _ := strings.Cut(canonical, "://")
	host, _, _ := strings.Cut(rest, "/")
	return host
}

// RegistrableDomain returns the part of a host, as URL.Host or URL.Hostname give it, that its
// owner has registered: one label more than the public suffix ("cs.cornell.edu" →
// "cornell.edu", "www.gov.uk" → "www.gov.uk"). Addresses, public suffixes and single labels
// are their own registrable domain. The port is dropped.
func RegistrableDomain(host string) string {
	host = hostname(host)
	if strings.HasPrefix(host, "[") {
		return host
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return host
	}
	if domain, err := publicsuffix.EffectiveTLDPlusOne(host); err == nil {
		return domain
	}
	return host
}

// hostname cuts the port from a host.
func hostname(host string) string {
	if i := strings.LastIndexByte(host, ':'); i >= 0 && !strings.HasSuffix(host, "]") {
		return host[:i]
	}
	return host
}
