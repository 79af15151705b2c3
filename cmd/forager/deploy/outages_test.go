package deploy

import (
	"context"
	"net"
	"testing"
)

// TestCheckResolver queries resolvers that are down, fail, and return no records.
func TestCheckResolver(t *testing.T) {
	for name, test := range map[string]struct {
		rcode byte // 255 = no server
		ok    bool
	}{"away": {255, false}, "SERVFAIL": {2, false}, "no such name": {3, true}} {
		server, err := net.ListenPacket("udp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		if test.rcode == 255 {
			server.Close()
		} else {
			defer server.Close()
			go func() {
				b := make([]byte, 1500)
				for {
					n, from, err := server.ReadFrom(b)
					if err != nil {
						return
					}
					b[2], b[3] = 0x81, 0x80|test.rcode
					server.WriteTo(b[:n], from)
				}
			}()
		}
		r := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "udp", server.LocalAddr().String())
		}}
		if err := checkResolver(t.Context(), r); (err == nil) != test.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}
