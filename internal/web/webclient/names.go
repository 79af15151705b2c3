package webclient

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"forager/internal/web/webarchive"
	"forager/internal/web/weburl"
)

// names caches the addresses of hosts whose requests a proxy makes. The proxy looks names up by itself, so this is
// an additional check: it finds the names that lead into a private network for every resolver, not those that do
// so only at the proxy, or only at the second look-up.
type names struct {
	lookup func(ctx context.Context, host string) ([]netip.Addr, error)

	mu    sync.Mutex
	known map[string]addresses
	// silent is the number of names in a row without a response of the resolver; at maxSilent none is looked up
	// before pausedUntil.
	silent      int
	pausedUntil time.Time
}

type addresses struct {
	list  []netip.Addr
	until time.Time
}

const (
	lookupTimeout = 2 * time.Second
	keepNames     = 10_000
	maxSilent     = 8
)

func newNames(r *net.Resolver) *names {
	return &names{known: map[string]addresses{}, lookup: func(ctx context.Context, host string) ([]netip.Addr, error) {
		return r.LookupNetIP(ctx, "ip", host)
	}}
}

// Resolver returns the resolver that queries the DNS server at address:port only; that of the machine for "".
func Resolver(server string) *net.Resolver {
	if server == "" {
		return net.DefaultResolver
	}
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, server)
	}}
}

// of returns the addresses of a host that can be found here; cached for lookupAgain.
func (n *names) of(ctx context.Context, host string) []netip.Addr {
	now := time.Now()
	n.mu.Lock()
	at, ok := n.known[host]
	paused := now.Before(n.pausedUntil)
	n.mu.Unlock()
	if ok && now.Before(at.until) {
		return at.list
	}
	if paused {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	list, err := n.lookup(ctx, host)
	var dns *net.DNSError
	answered := err == nil || errors.As(err, &dns) && dns.IsNotFound

	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.known) >= keepNames {
		clear(n.known)
	}
	n.known[host] = addresses{list, now.Add(lookupAgain)}
	if n.silent++; answered {
		n.silent = 0
	}
	if n.silent >= maxSilent {
		n.silent, n.pausedUntil = 0, time.Now().Add(lookupAgain)
	}
	return list
}

// checkProxied refuses URLs whose host name is known to lead to an address that would be refused. Names that cannot
// be looked up are left to the proxy.
func (c *Client) checkProxied(ctx context.Context, u weburl.URL) error {
	host := strings.TrimSuffix(u.Hostname(), ".")
	top := host[strings.LastIndexByte(host, '.')+1:]
	if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil || reserved[top] || c.ProxyIsOffline(ctx) {
		return nil
	}
	list := loopback
	if top != "localhost" {
		list = c.names.of(ctx, host)
	}
	for _, a := range list {
		if err := c.guard.check(ctx, host, netip.AddrPortFrom(a, portOf(u))); err != nil {
			return err
		}
	}
	return nil
}

var (
	// reserved are top-level domains without addresses (RFC 6761, RFC 7686).
	reserved = map[string]bool{"test": true, "example": true, "invalid": true, "onion": true}
	loopback = []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1})} // localhost, RFC 6761 §6.3
)

// ProxyIsOffline queries the proxy, until it has responded once, whether it serves stored pages and makes no
// requests. The names of a frozen web mean nothing outside it, and looking them up would reveal the crawl to
// others.
func (c *Client) ProxyIsOffline(ctx context.Context) bool {
	c.probing.Lock()
	defer c.probing.Unlock()
	if c.probed {
		return c.offline
	}
	ctx, cancel := context.WithTimeout(ctx, c.set.HeaderTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodOptions, c.proxy.Scheme+"://"+c.proxy.Host+"/", nil)
	if err != nil {
		return false
	}
	response, err := c.toProxy.RoundTrip(request)
	if err != nil {
		return false // the request itself will fail too
	}
	response.Body.Close()
	c.probed, c.offline = true, response.Header.Get(webarchive.OfflineHeader) != ""
	return c.offline
}

// Addresses returns the addresses of a URL's host to which requests are permitted, the best first; none with a proxy, which
// looks names up itself. It errs as Get does before a connection is made.
func (c *Client) Addresses(ctx context.Context, u weburl.URL) ([]netip.Addr, error) {
	if err := checkPort(u); err != nil {
		return nil, err
	}
	if err := c.guard.checkURL(ctx, u); err != nil {
		return nil, err
	}
	if c.proxy != nil {
		return nil, nil
	}
	host := strings.Trim(u.Hostname(), "[]")
	list := []netip.Addr{}
	if literal, err := netip.ParseAddr(host); err == nil {
		list = append(list, literal)
	} else {
		within, cancel := context.WithTimeout(ctx, c.set.HeaderTimeout)
		defer cancel()
		if list, err = c.names.lookup(within, host); err != nil {
			return nil, unreachable(err)
		}
	}
	permitted := make([]netip.Addr, 0, len(list))
	var refused error
	for _, a := range list {
		a = a.Unmap().WithZone("")
		if err := c.guard.check(ctx, host, netip.AddrPortFrom(a, portOf(u))); err != nil {
			refused = err
			continue
		}
		permitted = append(permitted, a)
	}
	switch {
	case len(permitted) > 0:
		return permitted, nil
	case refused != nil:
		return nil, refused
	}
	return nil, &net.DNSError{Err: "no address", Name: host, IsNotFound: true}
}
