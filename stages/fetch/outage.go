package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/net/publicsuffix"

	"forager/internal/web/webclient"
	"forager/internal/web/weburl"
	"forager/schemas"
)

const (
	// firstProbe is the pause before the first probe, lastProbe the longest pause between later ones.
	firstProbe = time.Second
	lastProbe  = time.Minute
	// manyHosts is the number of registrable domains, and of networks that their addresses lie in, that must fail in a
	// row, without a response of any web server in between, before this machine's network is taken for the cause.
	manyHosts = 5
	// hostsOfAddress is the number of hosts that must fail in a row at an address before its
	// requests are held back.
	hostsOfAddress = 3
	// mostAddresses and mostHosts bound the state in memory.
	mostAddresses = 4096
	mostHosts     = 4096
	// holdHost is how long the requests of a host that could not be connected to fail without a try; prioritize lets
	// its URLs wait for longer.
	holdHost = time.Second
)

// unreachableError is the outcome of a request for which no web server was reached.
type unreachableError struct {
	outcome schemas.Outcome
	// notBefore is when to try again; zero = prioritize chooses.
	notBefore time.Time
	err       error
}

func (e *unreachableError) Error() string { return e.err.Error() }
func (e *unreachableError) Unwrap() error { return e.err }

// errHeld: the breaker of the address is open.
var errHeld = errors.New("the address does not answer")

// outages distinguishes failures of the network from those of hosts, and holds back requests meanwhile. All crawls of a
// process share it. It is not stored; after a restart a few requests find the state again.
//
// The network counts as unreachable if the proxy or the resolver cannot be reached, or if manyHosts registrable domains
// in as many networks fail in a row. So one site with any number of names or addresses cannot cause it, and the
// response of any web server ends it. Sites that failed while others responded are no evidence: at the end of a crawl
// all remaining requests may be to them.
type outages struct {
	now func() time.Time
	log *slog.Logger
	// changed is called when the network's breaker opens and closes.
	changed func(open bool)

	mu      sync.Mutex
	network breaker
	// suspects are the networks, by registrable domain, of hosts that failed since the last
	// response.
	suspects map[string]string
	// gone are registrable domains of hosts that failed before that response, and have not responded
	// since.
	gone      map[string]bool
	addresses map[netip.AddrPort]*address
	hosts     map[string]heldHost
}

type address struct {
	breaker
	// failing are hosts that failed there since the last connection, hostsOfAddress at most.
	failing map[string]bool
}

type heldHost struct {
	until time.Time
	cause error
}

func newOutages() *outages {
	return &outages{
		now: time.Now, log: slog.New(slog.DiscardHandler), changed: func(bool) {},
		suspects: map[string]string{}, gone: map[string]bool{}, addresses: map[netip.AddrPort]*address{}, hosts: map[string]heldHost{},
	}
}

// report sets the log and the gauge for outages.
func (o *outages) report(log *slog.Logger, gauge prometheus.Gauge) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.log = log
	o.changed = func(open bool) {
		gauge.Set(0)
		if open {
			gauge.Set(1)
		}
	}
}

// Allow implements webclient.DialObserver.
func (o *outages) Allow(at netip.AddrPort) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	a := o.addresses[at]
	if a == nil {
		return nil
	}
	if ok, _ := a.allow(o.now()); !ok {
		return fmt.Errorf("%w: %d hosts or more failed there since %s: %s", errHeld, hostsOfAddress, a.since.UTC().Format(time.TimeOnly), a.cause)
	}
	return nil
}

// Dialed implements webclient.DialObserver.
func (o *outages) Dialed(host string, at netip.AddrPort, err error) {
	if errors.Is(err, errHeld) {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if err == nil {
		delete(o.addresses, at)
		return
	}
	a := o.addresses[at]
	if a == nil {
		for old := range o.addresses {
			if len(o.addresses) < mostAddresses {
				break
			}
			delete(o.addresses, old)
		}
		a = &address{failing: map[string]bool{}}
		o.addresses[at] = a
	}
	if len(a.failing) < hostsOfAddress {
		a.failing[host] = true
	}
	if len(a.failing) == hostsOfAddress {
		a.trip(o.now(), a.open(), err.Error(), firstProbe, lastProbe)
	}
}

// allow reports whether a host may be requested now; otherwise the error is an *unreachableError.
func (o *outages) allow(host string) (probe bool, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := o.now()
	if h, ok := o.hosts[host]; ok {
		if now.Before(h.until) {
			return false, &unreachableError{outcome: schemas.Outcome_OUTCOME_HOST_UNREACHABLE, err: h.cause}
		}
		delete(o.hosts, host)
	}
	ok, probe := o.network.allow(now)
	if !ok {
		return false, o.held()
	}
	return probe, nil
}

// held returns the error of requests while the network is unreachable.
func (o *outages) held() error {
	return &unreachableError{
		outcome: schemas.Outcome_OUTCOME_NETWORK_UNREACHABLE, notBefore: o.network.next, err: errors.New(o.network.cause),
	}
}

// answered notes that the web server of a host responded to a request that began at a time.
func (o *outages) answered(host string, began time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.gone) >= mostHosts {
		clear(o.gone)
	}
	for site := range o.suspects {
		o.gone[site] = true
	}
	clear(o.suspects)
	delete(o.gone, siteOf(host))
	since := o.network.since
	if o.network.succeed(began) {
		o.log.Info("the network can be used again", "away", o.now().Sub(since).Round(time.Second))
		o.changed(false)
	}
}

// failed notes the error of a request to a host, and returns it as an *unreachableError if it does not concern the URL.
func (o *outages) failed(host string, probe bool, err error) error {
	var away *webclient.UnreachableError
	unreached := errors.As(err, &away)
	if !unreached && !errors.Is(err, webclient.ErrTimeout) {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	now := o.now()
	cause := ""
	switch {
	case unreached && away.What != webclient.WhatHost:
		cause = away.Error()
	case o.manyFail(host, away):
		cause = fmt.Sprintf("%d sites in a row did not answer, the last one: %v", len(o.suspects), err)
	case probe && o.network.open():
		cause = o.network.cause
	}
	if cause != "" {
		if !o.network.open() {
			o.log.Warn("the network cannot be used; requests are held", "cause", cause)
			o.changed(true)
		}
		o.network.trip(now, probe, cause, firstProbe, lastProbe)
	}
	if o.network.open() {
		return o.held()
	}
	if !unreached {
		return err
	}
	if len(o.hosts) >= mostHosts {
		clear(o.hosts)
	}
	o.hosts[host] = heldHost{now.Add(holdHost), err}
	return &unreachableError{outcome: schemas.Outcome_OUTCOME_HOST_UNREACHABLE, err: err}
}

// manyFail notes a failure and reports whether so many sites failed that the network is the cause.
func (o *outages) manyFail(host string, away *webclient.UnreachableError) bool {
	site := siteOf(host)
	if o.gone[site] {
		return false
	}
	network := "name of " + site
	if away != nil && away.Address.IsValid() {
		network = networkOf(away.Address.Addr())
	}
	if _, known := o.suspects[site]; known || len(o.suspects) < 4*manyHosts {
		o.suspects[site] = network
	}
	networks := map[string]bool{}
	for _, n := range o.suspects {
		networks[n] = true
	}
	return len(networks) >= manyHosts // a site has one network, so there are as many sites
}

// siteOf returns the registrable domain of a host, or the host if it has none.
func siteOf(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.Trim(host, "[]")
	if _, err := netip.ParseAddr(host); err == nil {
		return host
	}
	if site, err := publicsuffix.EffectiveTLDPlusOne(host); err == nil {
		return site
	}
	return host
}

// networkOf returns the block of addresses that one owner is likely to have.
func networkOf(a netip.Addr) string {
	bits := 24
	if a.Is6() {
		bits = 32
	}
	p, err := a.Prefix(bits)
	if err != nil {
		return a.String()
	}
	return p.String()
}

// watched is a getter that reports its requests to outages and returns *unreachableError where no
// web server was reached.
type watched struct {
	getter
	outages *outages
}

// watch returns the getter as a watched one.
func watch(client getter) *watched {
	if w, ok := client.(*watched); ok {
		return w
	}
	return &watched{client, newOutages()}
}

func (w *watched) Get(ctx context.Context, r webclient.Request) (*webclient.Response, error) {
	probe, err := w.outages.allow(r.URL.Host())
	if err != nil {
		return nil, err
	}
	began := w.outages.now()
	answer, err := w.getter.Get(ctx, r)
	if err == nil || errors.Is(err, webclient.ErrMalformed) {
		w.outages.answered(r.URL.Host(), began)
		return answer, err
	}
	var refused *webclient.RefusedError
	if ctx.Err() != nil || errors.As(err, &refused) || errors.Is(err, webclient.ErrHungUp) {
		return nil, err
	}
	var away *webclient.UnreachableError
	if p, ok := w.getter.(interface{ CheckProxy(context.Context) error }); ok && !errors.As(err, &away) {
		if down := p.CheckProxy(ctx); down != nil && ctx.Err() == nil {
			err = down // it became unreachable during the request
		}
	}
	return answer, w.outages.failed(r.URL.Host(), probe, err)
}

// Addresses implements getter. Errors are those that Get would return.
func (w *watched) Addresses(ctx context.Context, u weburl.URL) ([]netip.Addr, error) {
	list, err := w.getter.Addresses(ctx, u)
	var refused *webclient.RefusedError
	if err == nil || ctx.Err() != nil || errors.As(err, &refused) {
		return list, err
	}
	return nil, w.outages.failed(u.Host(), false, err)
}
