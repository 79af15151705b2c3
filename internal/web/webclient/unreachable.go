package webclient

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"
)

// What is the part that could not be reached.
type What int

const (
	// WhatHost is the web server, as far as this request shows.
	WhatHost What = iota
	// WhatProxy is the proxy of all requests.
	WhatProxy
	// WhatResolver is the DNS server that looks up the hosts of URLs.
	WhatResolver
)

// UnreachableError is returned when no connection was made, so that nothing is known of the URL.
type UnreachableError struct {
	What What
	// Address that was tried last; invalid if the name was not resolved, or a proxy is used.
	Address netip.AddrPort
	// Err is the cause.
	Err error
}

func (e *UnreachableError) Error() string {
	switch e.What {
	case WhatProxy:
		return fmt.Sprintf("the proxy cannot be reached: %v", e.Err)
	case WhatResolver:
		return fmt.Sprintf("the resolver cannot be reached: %v", e.Err)
	}
	return e.Err.Error()
}

func (e *UnreachableError) Unwrap() error { return e.Err }

// DialObserver watches connections that are made; its methods must be safe for concurrent use.
type DialObserver interface {
	// Allow returns an error if an address must not be connected to now.
	Allow(at netip.AddrPort) error
	// Dialed is called after a host was connected to at an address, or after this failed.
	Dialed(host string, at netip.AddrPort, err error)
}

// watched returns a dialFunc whose errors name what could not be reached, unless an address was refused.
func (c *Client) watched(dial dialFunc) dialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if c.proxy != nil {
			if err != nil {
				err = &UnreachableError{What: WhatProxy, Err: err}
			}
			return conn, err
		}
		at, host := netip.AddrPort{}, address
		if h, _, splitErr := net.SplitHostPort(address); splitErr == nil {
			host = h
		}
		if err == nil {
			at = addrPort(conn.RemoteAddr())
		} else if err = unreachable(err); err != nil {
			var e *UnreachableError
			if !errors.As(err, &e) || ctx.Err() != nil {
				return nil, err
			}
			at = e.Address
		}
		if at.IsValid() && c.set.DialObserver != nil {
			c.set.DialObserver.Dialed(host, at, err)
		}
		return conn, err
	}
}

// unreachable classifies an error of dialling. A name that does not exist and an address that is refused are
// properties of the URL.
func unreachable(err error) error {
	var refused *RefusedError
	if errors.As(err, &refused) {
		return err
	}
	var dns *net.DNSError
	if errors.As(err, &dns) {
		switch {
		case dns.IsNotFound:
			return err
		case dns.IsTimeout || dns.Err == "server misbehaving":
			// The servers of the name's own zone can cause both.
			return &UnreachableError{Err: err}
		}
		return &UnreachableError{What: WhatResolver, Err: err}
	}
	e := &UnreachableError{Err: err}
	var op *net.OpError
	if errors.As(err, &op) {
		e.Address = addrPort(op.Addr)
	}
	return e
}

func addrPort(a net.Addr) netip.AddrPort {
	if tcp, ok := a.(*net.TCPAddr); ok && tcp != nil {
		at := tcp.AddrPort()
		return netip.AddrPortFrom(at.Addr().Unmap().WithZone(""), at.Port())
	}
	return netip.AddrPort{}
}

// otherPortTimeout bounds the connection to a host's other port.
const otherPortTimeout = 5 * time.Second

// otherPort reports whether a host that could not be connected to at the default port of one scheme can be at that
// of the other. Both ports have one politeness key; a host without https must not be taken for one that is down.
func (c *Client) otherPort(ctx context.Context, r Request) bool {
	port := "80"
	if r.URL.Scheme() == "http" {
		port = "443"
	}
	if r.URL.Host() != r.URL.Hostname() || c.proxy != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(pinned(ctx, r.Address), otherPortTimeout)
	defer cancel()
	conn, err := c.transport.DialContext(ctx, "tcp", r.URL.Host()+":"+port)
	if err != nil {
		return false
	}
	conn.Close()
	return true
}

// CheckProxy connects to the proxy and returns an *UnreachableError if that fails; nil without a proxy.
func (c *Client) CheckProxy(ctx context.Context) error {
	if c.proxy == nil {
		return nil
	}
	port := c.proxy.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[c.proxy.Scheme]
	}
	ctx, cancel := context.WithTimeout(ctx, otherPortTimeout)
	defer cancel()
	conn, err := c.transport.DialContext(ctx, "tcp", net.JoinHostPort(c.proxy.Hostname(), port))
	if err != nil {
		return err
	}
	return conn.Close()
}
