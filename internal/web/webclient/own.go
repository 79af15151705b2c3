package webclient

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Service is the address of a part of the pipeline itself.
type Service struct {
	// Address is host:port; the host may be a name, an address, or empty for all addresses of this machine.
	Address string
	// TLS: the service uses TLS only. At a public address it may share that address with the sites of others, from
	// which the host name distinguishes it: no other name is accepted by its certificate.
	TLS bool
}

// services are those of the pipeline. They are compared by the address that is connected to, so that no spelling
// and no name leads to them.
type services struct {
	byPort map[uint16][]*service
	lookup func(ctx context.Context, host string) ([]netip.Addr, error)
}

type service struct {
	host string // lower case
	tls  bool

	mu        sync.Mutex
	addresses []netip.Addr
	until     time.Time // when addresses of a name are looked up again; zero = never
}

// lookupAgain is how long the addresses of a service's name are cached.
const lookupAgain = time.Minute

func newServices(own []Service) (*services, error) {
	s := &services{byPort: map[uint16][]*service{}, lookup: func(ctx context.Context, host string) ([]netip.Addr, error) {
		return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	}}
	for _, x := range own {
		host, text, err := net.SplitHostPort(x.Address)
		port, portErr := strconv.ParseUint(text, 10, 16)
		if err != nil || portErr != nil {
			return nil, fmt.Errorf("address %q of the pipeline is not host:port", x.Address)
		}
		v := &service{host: strings.ToLower(host), tls: x.TLS}
		if host == "" {
			v.addresses = []netip.Addr{netip.IPv4Unspecified()}
		} else if address, err := netip.ParseAddr(host); err == nil {
			v.addresses = []netip.Addr{plain(address)}
		}
		s.byPort[uint16(port)] = append(s.byPort[uint16(port)], v)
	}
	return s, nil
}

// checkName refuses the host names and ports of the services.
func (s *services) checkName(host string, port uint16) error {
	for _, x := range s.byPort[port] {
		if strings.EqualFold(x.host, strings.TrimSuffix(host, ".")) {
			return ownError(host, port)
		}
	}
	return nil
}

// check refuses the addresses of the services. If the name of a service cannot be looked up, every address with
// its port is refused.
func (s *services) check(ctx context.Context, at netip.AddrPort) error {
	address := plain(at.Addr())
	for _, x := range s.byPort[at.Port()] {
		own, err := x.resolved(ctx, s.lookup)
		if err != nil {
			return &RefusedError{fmt.Sprintf("address %s may be a service of the crawler itself: %v", at, err)}
		}
		for _, o := range own {
			if (o == address || local(o) && local(address)) && !(x.tls && public(o)) {
				return ownError(address.String(), at.Port())
			}
		}
	}
	return nil
}

func ownError(host string, port uint16) error {
	return &RefusedError{fmt.Sprintf("%s is a service of the crawler itself", net.JoinHostPort(host, strconv.Itoa(int(port))))}
}

// resolved returns the addresses of the service.
func (x *service) resolved(ctx context.Context, lookup func(context.Context, string) ([]netip.Addr, error)) ([]netip.Addr, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.addresses != nil && (x.until.IsZero() || time.Now().Before(x.until)) {
		return x.addresses, nil
	}
	found, err := lookup(ctx, x.host)
	if err != nil {
		return nil, err
	}
	x.addresses = make([]netip.Addr, 0, len(found)) // the old ones may be in use
	for _, a := range found {
		x.addresses = append(x.addresses, plain(a))
	}
	x.until = time.Now().Add(lookupAgain)
	return x.addresses, nil
}

// local reports whether an address is one of this machine. All its addresses count as one: a service may listen on several.
func local(a netip.Addr) bool {
	if a.IsLoopback() || a.IsUnspecified() {
		return true
	}
	all, err := net.InterfaceAddrs()
	if err != nil {
		return false
	}
	for _, x := range all {
		if network, ok := x.(*net.IPNet); ok {
			if own, ok := netip.AddrFromSlice(network.IP); ok && plain(own) == a {
				return true
			}
		}
	}
	return false
}
