package main

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"time"

	"forager/internal/crawl/turns"
	"forager/internal/web/webclient"
	"forager/internal/web/weburl"
)

// errElsewhere: the next request goes to another host than the turn is for, or there is another one to be made.
var errElsewhere = errors.New("the next request needs a turn of its own")

// route is how a host is reached within the limits of a crawl: at one address only. A nil route leads everywhere.
type route struct {
	host string // without port
	// at is the address; invalid = a proxy connects to one that is unknown here.
	at netip.Addr
	// err is why there is none; it is the result of the requests.
	err error
}

// address returns the address as it is in the log of turns.
func (r *route) address() string {
	if !r.at.IsValid() {
		return turns.Proxy
	}
	return r.at.String()
}

// leadsTo reports whether a URL may be requested by the route.
func (r *route) leadsTo(u weburl.URL) bool { return r == nil || r.host == u.Hostname() }

// get makes a request at the address of the route.
func (r *route) get(ctx context.Context, client getter, request webclient.Request) (*webclient.Response, error) {
	switch {
	case r == nil:
	case r.err != nil:
		return nil, r.err
	default:
		request.Address = r.at
	}
	return client.Get(ctx, request)
}

// addressCache has the addresses of hosts whose requests are limited by address.
type addressCache struct {
	mu    sync.Mutex
	known map[string]located
}

type located struct {
	list  []netip.Addr // the one to use first
	until time.Time
}

const (
	keepAddresses = time.Minute
	// keepFailed is how long an address is used last after it could not be connected to.
	keepFailed  = 10 * time.Minute
	mostLocated = 10_000
)

func newAddressCache() *addressCache { return &addressCache{known: map[string]located{}} }

// of returns the route to the host of a URL.
func (b *addressCache) of(ctx context.Context, client getter, u weburl.URL) *route {
	host := u.Hostname()
	b.mu.Lock()
	at, ok := b.known[host]
	b.mu.Unlock()
	if !ok || !time.Now().Before(at.until) {
		list, err := client.Addresses(ctx, u)
		if err != nil {
			return &route{host: host, err: err}
		}
		at = located{list, time.Now().Add(keepAddresses)}
		b.keep(host, at)
	}
	if len(at.list) == 0 {
		return &route{host: host}
	}
	return &route{host: host, at: at.list[0]}
}

func (b *addressCache) keep(host string, at located) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.known) >= mostLocated {
		clear(b.known)
	}
	b.known[host] = at
}

// failed notes that the address of a route could not be connected to: the host's others come first.
func (b *addressCache) failed(r *route) {
	if r == nil || !r.at.IsValid() {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if at, ok := b.known[r.host]; ok && at.list[0] == r.at {
		b.known[r.host] = located{append(at.list[1:len(at.list):len(at.list)], r.at), time.Now().Add(keepFailed)}
	}
}
