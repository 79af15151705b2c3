package webclient

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"forager/internal/platform/freeport"
)

// TestWhatCannotBeReached dials servers that do not exist.
func TestWhatCannotBeReached(t *testing.T) {
	free, err := freeport.Addresses(1)
	if err != nil {
		t.Fatal(err)
	}
	closed := free[0]
	ask := func(set Settings, url string) *UnreachableError {
		t.Helper()
		set.HeaderTimeout, set.BodyTimeout, set.AllowPrivate = 2*time.Second, 5*time.Second, []string{"127.0.0.0/8"}
		c, err := New(set)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_, err = c.Get(t.Context(), Request{URL: parse(t, url), UserAgent: "x", MaxBody: 1000})
		var away *UnreachableError
		errors.As(err, &away)
		return away
	}
	if e := ask(Settings{}, "http://"+closed+"/"); e == nil || e.What != WhatHost || e.Address.String() != closed {
		t.Errorf("a port that is closed: %#v", e)
	}
	for _, url := range []string{"http://a.test/", "https://a.test/"} {
		if e := ask(Settings{Proxy: "http://" + closed}, url); e == nil || e.What != WhatProxy {
			t.Errorf("a proxy that is away, %s: %#v", url, e)
		}
	}
	cut := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			conn.Close()
		}
	}))
	defer cut.Close()
	if e := ask(Settings{}, cut.URL+"/"); e != nil {
		t.Errorf("a server that hangs up: %v", e)
	}
	late := make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-late }))
	defer slow.Close()
	defer close(late)
	if e := ask(Settings{}, slow.URL+"/"); e != nil {
		t.Errorf("a server that is slow: %v", e)
	}
}

// TestDNSErrors classifies the errors of a lookup.
func TestDNSErrors(t *testing.T) {
	for name, test := range map[string]struct {
		err  error
		away bool
		what What
	}{
		"no such name":        {&net.DNSError{Err: "no such host", Name: "a.test", IsNotFound: true}, false, 0},
		"SERVFAIL":            {&net.DNSError{Err: "server misbehaving", Name: "a.test", IsTemporary: true}, true, WhatHost},
		"time-out":            {&net.DNSError{Err: "i/o timeout", Name: "a.test", IsTimeout: true, IsTemporary: true}, true, WhatHost},
		"resolver refuses":    {&net.DNSError{Err: "read udp 127.0.0.1:5->127.0.0.53:53: read: connection refused", Name: "a.test", IsTemporary: true}, true, WhatResolver},
		"address not allowed": {&net.OpError{Op: "dial", Err: &RefusedError{"private"}}, false, 0},
		"no route":            {&net.OpError{Op: "dial", Err: io.EOF, Addr: &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 80}}, true, WhatHost},
	} {
		var away *UnreachableError
		if got := errors.As(unreachable(test.err), &away); got != test.away || got && away.What != test.what {
			t.Errorf("%s: %v", name, away)
		}
	}
}
