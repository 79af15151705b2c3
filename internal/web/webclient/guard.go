package webclient

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"syscall"

	"forager/internal/web/weburl"
)

// RefusedError is returned when no request was made for a URL, or no connection to its host's address.
type RefusedError struct{ Reason string }

func (e *RefusedError) Error() string { return e.Reason }

// dialFunc connects to host:port.
type dialFunc = func(ctx context.Context, network, address string) (net.Conn, error)

// guard decides which addresses may be connected to.
type guard struct {
	networks []netip.Prefix
	hosts    map[string]bool
	own      *services
}

func newGuard(allow []string, own []Service) (*guard, error) {
	g := &guard{hosts: map[string]bool{}}
	for _, entry := range allow {
		if network, err := netip.ParsePrefix(entry); err == nil {
			g.networks = append(g.networks, network.Masked())
		} else if address, err := netip.ParseAddr(strings.Trim(entry, "[]")); err == nil {
			address = address.Unmap().WithZone("")
			g.networks = append(g.networks, netip.PrefixFrom(address, address.BitLen()))
		} else {
			g.hosts[strings.ToLower(entry)] = true
		}
	}
	var err error
	g.own, err = newServices(own)
	return g, err
}

// dial checks each address of a host name, after DNS, at the moment of connecting to it.
func (g *guard) dial(dialer *net.Dialer, dials DialObserver) dialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		host, port, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		if only, ok := ctx.Value(pin{}).(netip.Addr); ok {
			address = net.JoinHostPort(only.String(), port)
		}
		checked := *dialer
		checked.ControlContext = func(ctx context.Context, _, address string, _ syscall.RawConn) error {
			at, err := netip.ParseAddrPort(address)
			if err != nil {
				return &RefusedError{fmt.Sprintf("address %.60q is none", address)}
			}
			if err := g.check(ctx, host, at); err != nil || dials == nil {
				return err
			}
			return dials.Allow(netip.AddrPortFrom(at.Addr().Unmap().WithZone(""), at.Port()))
		}
		return checked.DialContext(ctx, network, address)
	}
}

// pin is the key of the only address to connect to, in a context.
type pin struct{}

func pinned(ctx context.Context, only netip.Addr) context.Context {
	if !only.IsValid() {
		return ctx
	}
	return context.WithValue(ctx, pin{}, only)
}

// check refuses the address of a host: one of the pipeline's own, or one that is neither public nor allowed.
func (g *guard) check(ctx context.Context, host string, at netip.AddrPort) error {
	if err := g.own.check(ctx, at); err != nil {
		return err
	}
	address := at.Addr().Unmap().WithZone("")
	if public(address) || g.hosts[strings.ToLower(host)] {
		return nil
	}
	for _, network := range g.networks {
		if network.Contains(address) {
			return nil
		}
	}
	return &RefusedError{fmt.Sprintf("address %s is not public", address)}
}

// checkURL refuses what can be determined without DNS: a host that is a literal address, or that has the name of
// one of the pipeline's own services.
func (g *guard) checkURL(ctx context.Context, u weburl.URL) error {
	host, port := strings.Trim(u.Hostname(), "[]"), portOf(u)
	if address, err := netip.ParseAddr(host); err == nil {
		return g.check(ctx, host, netip.AddrPortFrom(address, port))
	}
	return g.own.checkName(host, port)
}

// portOf returns the port of a URL.
func portOf(u weburl.URL) uint16 {
	if _, text, err := net.SplitHostPort(u.Host()); err == nil {
		port, err := strconv.ParseUint(text, 10, 16)
		if err == nil {
			return uint16(port)
		}
	}
	if u.Scheme() == "https" {
		return 443
	}
	return 80
}

// special are the address blocks that are not for hosts of the public internet (IANA's special-purpose registries,
// RFC 6890 and its updates), in addition to those of netip.
var special = prefixes(
	"0.0.0.0/8",        // this network; Linux connects 0.0.0.0 to itself
	"100.64.0.0/10",    // shared by carriers; metadata of Alibaba Cloud
	"168.63.129.16/32", // metadata of Azure, an address that looks public
	"192.0.0.0/24",     // protocol assignments; metadata of Oracle Cloud
	"192.0.2.0/24",     // documentation
	"192.88.99.0/24",   // 6to4 relays
	"198.18.0.0/15",    // benchmarks
	"198.51.100.0/24",  // documentation
	"203.0.113.0/24",   // documentation
	"240.0.0.0/4",      // reserved, broadcast
	"2001::/23",        // protocol assignments, Teredo with its hidden IPv4 address
	"2001:db8::/32",    // documentation
	"3fff::/20",        // documentation
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

// plain returns the IPv4 address that an IPv6 address carries, or else the address.
func plain(a netip.Addr) netip.Addr {
	a = a.Unmap().WithZone("")
	b := a.As16()
	switch {
	case nat64.Contains(a):
		return netip.AddrFrom4([4]byte(b[12:]))
	case sixTo4.Contains(a):
		return netip.AddrFrom4([4]byte(b[2:6]))
	}
	return a
}

// public reports whether an address belongs to the public internet.
func public(a netip.Addr) bool {
	a = plain(a)
	if a.Is6() && !global6.Contains(a) {
		return false // loopback, link-local, unique local, multicast, unspecified …
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

// checkPort refuses the ports of other protocols, whose responses are not pages, and for which a request may be a
// command (the "bad ports" of the Fetch standard).
func checkPort(u weburl.URL) error {
	port := portOf(u)
	if badPorts[int(port)] {
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
