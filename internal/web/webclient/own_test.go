package webclient

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var everything = []string{"0.0.0.0/0", "::/0", "localhost"}

// TestOwnServicesAreNeverAsked requests the pipeline's own address in every spelling, with everything permitted.
func TestOwnServicesAreNeverAsked(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer server.Close()
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	spellings := []string{
		"127.0.0.1", "localhost", "LOCALHOST", "localhost.", "127.1", "2130706433", "0x7f000001", "0x7f.1", "017700000001", "127.0.0.1.",
		"0.0.0.0", "0", "127.8.9.10", "%31%32%37.0.0.1", "１２７.0.0.1", "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]",
		"[64:ff9b::127.0.0.1]", "[2002:7f00:1::]", "user:word@127.0.0.1",
	}
	for _, own := range []string{"127.0.0.1", "localhost", "0.0.0.0", "", "::1", "::", "::ffff:127.0.0.1"} {
		set := own1(own, port)
		set.AllowPrivate = everything
		c := client(t, set)
		for _, host := range spellings {
			var refused *RefusedError
			if _, err := c.Get(t.Context(), Request{URL: parse(t, "http://"+host+":"+port+"/?query=SELECT"), MaxBody: 1}); !errors.As(err, &refused) || asked > 0 {
				t.Errorf("own address %q, asked at %s: %v, reached %d times", own, host, err, asked)
			}
		}
	}
	// The same addresses with another port are requested.
	set := own1("127.0.0.1", "1")
	set.AllowPrivate = everything
	if _, err := client(t, set).Get(t.Context(), Request{URL: parse(t, "http://localhost:"+port+"/"), MaxBody: 1}); err != nil || asked != 1 {
		t.Errorf("another port: %v, reached %d times", err, asked)
	}
}

// own1 are settings with one service of the pipeline.
func own1(host, port string) Settings {
	set := own
	set.Own = []Service{{Address: net.JoinHostPort(host, port)}}
	return set
}

// TestOwnServicesBehindAProxy are refused as far as the URL identifies them.
func TestOwnServicesBehindAProxy(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer server.Close()
	set := own
	set.AllowPrivate, set.Proxy = everything, server.URL
	set.Own = []Service{{Address: "127.0.0.1:18123"}, {Address: "kafka.example:9092"}, {Address: server.Listener.Addr().String()}}
	c := client(t, set)
	for _, u := range []string{"http://127.0.0.1:18123/", "http://[::ffff:127.0.0.1]:18123/", "http://Kafka.example:9092/", "http://kafka.example.:9092/", server.URL + "/"} {
		var refused *RefusedError
		if _, err := c.Get(t.Context(), Request{URL: parse(t, u), MaxBody: 1}); !errors.As(err, &refused) || asked > 0 {
			t.Errorf("%s: %v", u, err)
		}
	}
	if _, err := c.Get(t.Context(), Request{URL: parse(t, "http://kafka.example/"), MaxBody: 1}); err != nil || asked != 1 {
		t.Errorf("another port: %v", err)
	}
}

// TestOwnServicesByAddress compares addresses, in any form in which they are dialled, with those of a service's name.
func TestOwnServicesByAddress(t *testing.T) {
	private, shared := netip.MustParseAddr("10.1.2.3"), netip.MustParseAddr("8.8.4.4")
	failing := errors.New("no such host")
	lookups := 0
	resolve := func(_ context.Context, host string) ([]netip.Addr, error) {
		lookups++
		switch host {
		case "ch.example":
			return []netip.Addr{private, shared}, nil
		case "s3.example":
			return []netip.Addr{shared}, nil
		}
		return nil, failing
	}
	g, err := newGuard(everything, []Service{{"ch.example:8123", false}, {"s3.example:443", true}, {"gone.example:9", false}, {"10.9.9.9:7", true}})
	if err != nil {
		t.Fatal(err)
	}
	g.own.lookup = resolve
	rapid.Check(t, func(t *rapid.T) {
		address := rapid.SampledFrom([]netip.Addr{private, shared, netip.MustParseAddr("10.9.9.9"), netip.MustParseAddr("10.7.7.7")}).Draw(t, "address")
		port := rapid.SampledFrom([]uint16{8123, 443, 7, 80}).Draw(t, "port")
		b := address.As4()
		form := rapid.SampledFrom([]netip.Addr{
			address, netip.AddrFrom16(address.As16()), netip.MustParseAddr(fmt.Sprintf("64:ff9b::%s", address)),
			netip.AddrFrom16([16]byte{0x20, 0x02, b[0], b[1], b[2], b[3], 15: rapid.Byte().Draw(t, "last")}),
		}).Draw(t, "form")
		err := g.check(t.Context(), "a.test", netip.AddrPortFrom(form, port))
		// The public address of a TLS service is shared with the sites of others.
		isOwn := port == 8123 && (address == private || address == shared) || port == 7 && address.String() == "10.9.9.9"
		if isOwn != (err != nil) {
			t.Fatalf("%s:%d: %v", form, port, err)
		}
	})
	if lookups != 2 {
		t.Errorf("%d lookups", lookups)
	}
	if err := g.check(t.Context(), "a.test", netip.MustParseAddrPort("8.8.8.8:9")); err == nil || !strings.Contains(err.Error(), failing.Error()) {
		t.Errorf("with a service that cannot be looked up: %v", err)
	}
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	g, err = newGuard(everything, []Service{{Address: ":9100"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range all {
		address, _ := netip.AddrFromSlice(x.(*net.IPNet).IP)
		if err := g.check(t.Context(), "a.test", netip.AddrPortFrom(address, 9100)); err == nil {
			t.Errorf("%s of this machine is not refused", address)
		}
	}
}

// TestAllowPrivate permits the networks and hosts that are named, and no others.
func TestAllowPrivate(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		allow []string
		host  string
		ok    bool
	}{
		{nil, "127.0.0.1", false}, {[]string{"127.0.0.0/8"}, "127.0.0.1", true}, {[]string{"127.0.0.0/8"}, "localhost", true},
		{[]string{"127.0.0.1"}, "127.0.0.1", true}, {[]string{"127.0.0.2"}, "127.0.0.1", false}, {[]string{"10.0.0.0/8"}, "localhost", false},
		{[]string{"localhost"}, "localhost", true}, {[]string{"localhost"}, "127.0.0.1", false}, {[]string{"host"}, "localhost", false},
	} {
		set := own
		set.AllowPrivate = x.allow
		_, err := client(t, set).Get(t.Context(), Request{URL: parse(t, "http://"+x.host+":"+port+"/"), MaxBody: 1})
		var refused *RefusedError
		if x.ok && err != nil || !x.ok && !errors.As(err, &refused) {
			t.Errorf("%q permitted, %s: %v", x.allow, x.host, err)
		}
	}
}
