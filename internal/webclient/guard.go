package webclient

import (
	"fmt"
	"net/netip"
	"strconv"
	"syscall"

	"forager/internal/weburl"
)

// RefusedError says that a URL was not asked for, or that its host's address was not connected to.
type RefusedError struct{ Reason string }

func (e *RefusedError) Error() string { return e.Reason }

// control refuses, for net.Dialer, connections to addresses that are not public.
func control(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return &RefusedError{fmt.Sprintf("address %.60q is none", address)}
	}
	if !public(at.Addr()) {
		return &RefusedError{fmt.Sprintf("address %s is not public", at.Addr())}
	}
	return nil
}

// checkHost refuses URLs whose host is a literal address that is not public.
func checkHost(u weburl.URL) error {
	host := u.Hostname()
	if len(host) > 2 && host[0] == '[' {
		host = host[1 : len(host)-1]
	}
	if address, err := netip.ParseAddr(host); err == nil && !public(address) {
		return &RefusedError{fmt.Sprintf("address %s is not public", address)}
	}
	return nil
}

// special are the address blocks that are not for hosts of the public internet (IANA's
// special-purpose registries, RFC 6890 and its updates), besides those that netip knows.
var special = prefixes(
	"0.0.0.0/8",       // this network; Linux connects 0.0.0.0 to itself
	"100.64.0.0/10",   // shared by carriers
	"192.0.0.0/24",    // protocol assignments
	"192.0.2.0/24",    // documentation
	"192.88.99.0/24",  // 6to4 relays
	"198.18.0.0/15",   // benchmarks
	"198.51.100.0/24", // documentation
	"203.0.113.0/24",  // documentation
	"240.0.0.0/4",     // reserved, broadcast
	"2001::/23",       // protocol assignments, Teredo with its hidden IPv4 address
	"2001:db8::/32",   // documentation
	"3fff::/20",       // documentation
)

var (
	global6 = netip.MustParsePrefix("2000::/3")     // all public IPv6 addresses
	nat64   = netip.MustParsePrefix("64:ff9b::/96") // an IPv4 address in the last 4 bytes
	sixTo4  = netip.MustParsePrefix("2002::/16")    // an IPv4 address in bytes 2–5
)

func prefixes(texts ...string) []netip.Prefix {
	all := make([]netip.Prefix, len(texts))
	for i, t := range texts {
		all[i] = netip.MustParsePrefix(t)
	}
	return all
}

// public says whether an address belongs to the public internet, seen through the forms that
// carry an IPv4 address in an IPv6 one.
func public(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	if a.Is6() {
		b := a.As16()
		switch {
		case nat64.Contains(a):
			return public(netip.AddrFrom4([4]byte(b[12:])))
		case sixTo4.Contains(a):
			return public(netip.AddrFrom4([4]byte(b[2:6])))
		case !global6.Contains(a):
			return false // loopback, link-local, unique local, multicast, unspecified …
		}
	}
	if a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() || a.IsMulticast() || a.IsUnspecified() {
		return false
	}
	for _, p := range special {
		if p.Contains(a) {
			return false
		}
	}
	return true
}

// checkPort refuses the ports of other protocols: whose answers are not pages, and to whom a
// request may be a command (the "bad ports" of the Fetch standard).
func checkPort(u weburl.URL) error {
	host := u.Host()
	port, err := strconv.Atoi(host[len(u.Hostname()):][min(1, len(host)-len(u.Hostname())):])
	if err != nil {
		return nil // the default port
	}
	if badPorts[port] {
		return &RefusedError{fmt.Sprintf("port %d belongs to another protocol", port)}
	}
	return nil
}

var badPorts = func() map[int]bool {
	bad := map[int]bool{}
	for _, p := range []int{
		0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104,
		109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515,
		526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049,
		3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
	} {
		bad[p] = true
	}
	return bad
}()
