package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"forager/internal/platform/freeport"
	"forager/internal/testkit/nameserver"
	"forager/internal/web/webclient"
	"forager/internal/web/weburl"
	"forager/schemas"
)

// TestBreaker makes requests at random times to something that is unreachable for a while, with
// restarts.
func TestBreaker(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const first, last = time.Second, time.Minute
		var b breaker
		begin := time.Unix(1_000_000, 0)
		now := begin
		back := begin.Add(time.Duration(rapid.IntRange(1, 7200).Draw(t, "away for seconds")) * time.Second)
		probes := 0
		var lastProbe time.Time
		for now.Before(back.Add(5 * time.Minute)) {
			if rapid.IntRange(0, 999).Draw(t, "restart") == 0 {
				b, lastProbe = breaker{}, time.Time{}
				probes -= 8
			}
			wasOpen := b.open()
			ok, probe := b.allow(now)
			switch {
			case !wasOpen && (!ok || probe):
				t.Fatalf("a closed breaker answers %t, %t", ok, probe)
			case ok && wasOpen && !probe:
				t.Fatal("an open breaker lets a request through that is no probe")
			case probe && now.Sub(lastProbe) < first*4/5:
				t.Fatalf("two probes within %v", now.Sub(lastProbe))
			}
			if probe {
				lastProbe, probes = now, probes+1
			}
			if ok && now.Before(back) {
				b.trip(now, probe, "down", first, last)
			} else if ok {
				b.succeed(now)
			}
			if b.open() && b.next.Sub(now) > last*6/5 {
				t.Fatalf("the next probe is in %v", b.next.Sub(now))
			}
			if !ok && now.After(b.next) {
				t.Fatal("it holds a request behind the time of the probe")
			}
			now = now.Add(time.Duration(rapid.IntRange(1, 20_000).Draw(t, "ms")) * time.Millisecond)
		}
		if b.open() {
			t.Error("it is open five minutes after the end")
		}
		if most := 8 + int(back.Sub(begin)/(last*4/5)); probes > most {
			t.Errorf("%d probes in %v, %d are enough", probes, back.Sub(begin), most)
		}
	})
}

// web is a getter without a network: down returns how a host fails.
type web struct {
	clock *time.Time
	down  func(host string) error
	asked map[string]int
}

func (w *web) Addresses(context.Context, weburl.URL) ([]netip.Addr, error) { return nil, nil }

func (w *web) Get(_ context.Context, r webclient.Request) (*webclient.Response, error) {
	w.asked[r.URL.Host()]++
	if err := w.down(r.URL.Host()); err != nil {
		return nil, err
	}
	return &webclient.Response{Status: 200}, nil
}

func newWeb(down func(string) error) (*web, *watched) {
	clock := time.Unix(1_000_000, 0)
	w := &web{clock: &clock, down: down, asked: map[string]int{}}
	o := newOutages()
	o.now = func() time.Time { return clock }
	return w, &watched{w, o}
}

// outcomeOf makes a request to a host; the outcome is DELIVERED if it responded.
func outcomeOf(t *testing.T, w *watched, host string) schemas.Outcome {
	t.Helper()
	_, err := w.Get(t.Context(), webclient.Request{URL: parse(t, "http://"+host+"/")})
	var away *unreachableError
	switch {
	case err == nil:
		return schemas.Outcome_OUTCOME_DELIVERED
	case errors.As(err, &away):
		return away.outcome
	}
	return schemas.Outcome_OUTCOME_CONNECTION_FAILED
}

func refusedBy(address string) error {
	return &webclient.UnreachableError{Address: netip.MustParseAddrPort(address), Err: errors.New("connection refused")}
}

// TestOneSiteCannotHoldACrawl lets sites fail under many names and at many addresses: requests to healthy hosts are
// always made.
func TestOneSiteCannotHoldACrawl(t *testing.T) {
	for name, down := range map[string]func(i int, host string) (string, error){
		"many names at one address": func(i int, _ string) (string, error) {
			return fmt.Sprintf("n%d.evil.example", i), refusedBy("192.0.2.1:80")
		},
		"many names at many addresses": func(i int, _ string) (string, error) {
			return fmt.Sprintf("n%d.evil.example", i), refusedBy(fmt.Sprintf("198.51.%d.1:80", i%256))
		},
		"many sites at one address": func(i int, _ string) (string, error) {
			return fmt.Sprintf("evil%d.example", i), refusedBy("192.0.2.1:80")
		},
		"many sites at the addresses of a network": func(i int, _ string) (string, error) {
			return fmt.Sprintf("evil%d.example", i), refusedBy(fmt.Sprintf("192.0.2.%d:80", i%256))
		},
		"names that do not resolve": func(i int, _ string) (string, error) {
			return fmt.Sprintf("n%d.evil.example", i), &webclient.UnreachableError{Err: errors.New("SERVFAIL")}
		},
	} {
		t.Run(name, func(t *testing.T) {
			fails := map[string]error{}
			w, client := newWeb(func(host string) error { return fails[host] })
			for i := range 10_000 {
				host, err := down(i, "")
				fails[host] = err
				if got := outcomeOf(t, client, host); got != schemas.Outcome_OUTCOME_HOST_UNREACHABLE {
					t.Fatalf("name %d is %v", i, got)
				}
				*w.clock = w.clock.Add(10 * time.Millisecond)
			}
			if got := outcomeOf(t, client, "healthy.example"); got != schemas.Outcome_OUTCOME_DELIVERED {
				t.Errorf("a healthy host is %v", got)
			}
			if len(client.outages.hosts) > mostHosts || len(client.outages.suspects) > 4*manyHosts {
				t.Errorf("%d hosts and %d suspects are kept", len(client.outages.hosts), len(client.outages.suspects))
			}
		})
	}
}

// TestDeadSitesAreNoOutage: only sites that do not respond are left at the end of a crawl. None of them holds back the
// others.
func TestDeadSitesAreNoOutage(t *testing.T) {
	host := func(i int) string { return fmt.Sprintf("h.dead%d.example", i) }
	w, client := newWeb(func(h string) error {
		var i int
		if _, err := fmt.Sscanf(h, "h.dead%d.example", &i); err != nil {
			return nil
		}
		return refusedBy(fmt.Sprintf("198.18.%d.1:80", i))
	})
	for i := range 50 {
		outcomeOf(t, client, host(i))
		if got := outcomeOf(t, client, "healthy.example"); got != schemas.Outcome_OUTCOME_DELIVERED {
			t.Fatalf("a healthy host is %v", got)
		}
	}
	for i := range 500 {
		*w.clock = w.clock.Add(time.Minute)
		if got := outcomeOf(t, client, host(i%50)); got != schemas.Outcome_OUTCOME_HOST_UNREACHABLE {
			t.Fatalf("try %d of what is left is %v", i, got)
		}
	}
}

// TestTheWholeWebAway makes every host of a crawl unreachable for an hour.
func TestTheWholeWebAway(t *testing.T) {
	away := true
	host := func(i int) string { return fmt.Sprintf("h%d.site%d.example", i, i) }
	w, client := newWeb(func(h string) error {
		var i, j int
		if _, err := fmt.Sscanf(h, "h%d.site%d.example", &i, &j); err != nil || !away {
			return nil
		}
		return refusedBy(fmt.Sprintf("198.%d.%d.1:80", 18+i/256, i%256))
	})
	got := map[schemas.Outcome]int{}
	for i := range 36_000 {
		got[outcomeOf(t, client, host(i%500))]++
		*w.clock = w.clock.Add(100 * time.Millisecond)
	}
	asked := 0
	for _, n := range w.asked {
		asked += n
	}
	if got[schemas.Outcome_OUTCOME_HOST_UNREACHABLE] >= manyHosts || got[schemas.Outcome_OUTCOME_DELIVERED] > 0 || asked > manyHosts+85 {
		t.Errorf("of 36,000 requests in an hour %d reached the network: %v", asked, got)
	}
	away = false
	*w.clock = w.clock.Add(2 * lastProbe)
	for i := range 100 {
		if got := outcomeOf(t, client, host(i)); got != schemas.Outcome_OUTCOME_DELIVERED {
			t.Fatalf("after the outage, request %d is %v", i, got)
		}
	}
}

// TestResolverAndProxyAwayAtOnce: one failure is enough where it is the resolver's or the proxy's own.
func TestResolverAndProxyAwayAtOnce(t *testing.T) {
	for _, what := range []webclient.What{webclient.WhatProxy, webclient.WhatResolver} {
		down := true
		w, client := newWeb(func(string) error {
			if down {
				return &webclient.UnreachableError{What: what, Err: errors.New("connection refused")}
			}
			return nil
		})
		for i := range 1000 {
			if got := outcomeOf(t, client, fmt.Sprintf("h%d.example", i)); got != schemas.Outcome_OUTCOME_NETWORK_UNREACHABLE {
				t.Fatalf("%v: request %d is %v", what, i, got)
			}
		}
		if len(w.asked) != 1 {
			t.Errorf("%v: %d hosts were asked at once", what, len(w.asked))
		}
		down = false
		*w.clock = w.clock.Add(2 * firstProbe)
		if got := outcomeOf(t, client, "a.example"); got != schemas.Outcome_OUTCOME_DELIVERED {
			t.Errorf("%v: after the outage it is %v", what, got)
		}
	}
}

// TestAnAddressThatFailsForManyHostsIsHeld, and probed.
func TestAnAddressThatFailsForManyHostsIsHeld(t *testing.T) {
	_, client := newWeb(func(string) error { return nil })
	o, at := client.outages, netip.MustParseAddrPort("192.0.2.1:80")
	clock := o.now()
	o.now = func() time.Time { return clock }
	dials := 0
	for i := range 10_000 {
		if o.Allow(at) == nil {
			dials++
			o.Dialed(fmt.Sprintf("h%d.example", i), at, errors.New("refused"))
		}
		clock = clock.Add(100 * time.Millisecond)
	}
	if dials > hostsOfAddress+35 {
		t.Errorf("an address that refuses was connected to %d times in 1,000 s", dials)
	}
	if err := o.Allow(netip.MustParseAddrPort("192.0.2.1:443")); err != nil {
		t.Errorf("another port is held: %v", err)
	}
	clock = clock.Add(2 * lastProbe)
	if err := o.Allow(at); err != nil {
		t.Fatalf("no probe: %v", err)
	}
	o.Dialed("h.example", at, nil)
	for range 100 {
		if err := o.Allow(at); err != nil {
			t.Fatalf("after the outage: %v", err)
		}
	}
}

// TestProxyOrResolverAway starts the stage while its proxy, or the resolver that it uses without one, is unreachable,
// and makes that unreachable again in the middle.
func TestProxyOrResolverAway(t *testing.T) {
	t.Run("proxy", func(t *testing.T) {
		free, err := freeport.Addresses(1)
		if err != nil {
			t.Fatal(err)
		}
		address := free[0]
		b := newBed(t, page)
		b.cfg.Stages.Fetch.Proxy = "http://" + address
		testAway(t, b, "", "the proxy cannot be reached", func() io.Closer {
			l, err := net.Listen("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			s := &http.Server{Handler: b.web.Config.Handler}
			go s.Serve(l)
			return s
		})
	})
	t.Run("resolver", func(t *testing.T) {
		address := nameserver.Free(t)
		b := newBed(t, page)
		_, port, err := net.SplitHostPort(b.web.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		set := &b.cfg.Stages.Fetch
		set.Proxy, set.Resolver, set.AllowPrivate = "", address, []string{"127.0.0.1"}
		testAway(t, b, ":"+port, "the resolver cannot be reached", func() io.Closer { return nameserver.Start(t, address) })
	})
}

// testAway runs the stage while the web is unreachable for a cause, until come is called; hosts have a port.
func testAway(t *testing.T, b *bed, port, cause string, come func() io.Closer) {
	stop := b.run()
	for i := range 20 {
		b.send(b.request("c", fmt.Sprintf("http://a.test%s/%d", port, i), 1, 0), b.request("d", fmt.Sprintf("http://b.test%s/%d", port, i), 1, 0))
	}
	for key, p := range b.fetched(40) {
		if p.Outcome != schemas.Outcome_OUTCOME_NETWORK_UNREACHABLE || p.NotBefore == 0 || !strings.Contains(p.Detail, cause) || p.Status != 0 {
			t.Errorf("%s: %s, %s, not before %d", key, schemas.OutcomeName(p.Outcome), p.Detail, p.NotBefore)
		}
	}
	server := come()
	attempt, total := uint32(1), 40
	url := "http://a.test" + port + "/0"
	delivered := func() {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); ; { // probes come when a pause is over
			attempt++
			total++
			b.send(b.request("c", url, attempt, 0))
			p := b.fetched(total)[fmt.Sprint(url, " ", attempt)]
			if p.Outcome == schemas.Outcome_OUTCOME_DELIVERED {
				return
			}
			if p.Outcome != schemas.Outcome_OUTCOME_NETWORK_UNREACHABLE || time.Now().After(deadline) {
				t.Fatalf("attempt %d: %v", attempt, p)
			}
		}
	}
	delivered()
	server.Close()
	attempt, total = attempt+1, total+1
	url = "http://c.test" + port + "/0" // to which there is no connection
	b.send(b.request("c", url, attempt, 0))
	if p := b.fetched(total)[fmt.Sprint(url, " ", attempt)]; p.Outcome != schemas.Outcome_OUTCOME_NETWORK_UNREACHABLE {
		t.Errorf("away again: %v", p)
	}
	if err := stop(); err != nil { // what is known of the outage is lost with the process
		t.Fatal(err)
	}
	server = come()
	defer server.Close()
	b.run()
	delivered()
}
