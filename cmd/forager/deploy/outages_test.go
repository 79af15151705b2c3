package deploy

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"forager/internal/platform/pipeline"
	"forager/internal/testkit/nameserver"
	"forager/internal/web/webarchive"
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

// TestCheckNetwork: the resolver is checked behind a proxy, too, where crawls go on without it.
func TestCheckNetwork(t *testing.T) {
	proxy := func(header string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Header().Set(header, "yes") }))
		t.Cleanup(s.Close)
		return s.URL
	}
	here := nameserver.Free(t)
	nameserver.Start(t, here)
	away := nameserver.Free(t)
	closed := httptest.NewServer(nil)
	closed.Close()
	for name, test := range map[string]struct {
		proxy, resolver string
		want            string // parts of the findings in their order
	}{
		"resolver":                 {"", here, "ok resolver answers"},
		"no resolver":              {"", away, "BAD resolver read udp"},
		"proxy and resolver":       {proxy("Server"), here, "ok proxy takes connections ok resolver answers"},
		"proxy without a resolver": {proxy("Server"), away, "ok proxy takes connections ok resolver does not answer ( only the proxy refuses private addresses"},
		"proxy of stored pages":    {proxy(webarchive.OfflineHeader), away, "ok proxy takes connections ok resolver not needed"},
		"no proxy":                 {closed.URL, here, "BAD proxy refused ok resolver answers"},
		"neither":                  {closed.URL, away, "BAD proxy refused ok resolver does not answer"},
	} {
		cfg := new(pipeline.Config)
		cfg.Stages.Fetch.Proxy, cfg.Stages.Fetch.Resolver, cfg.Stages.Fetch.HeaderTimeout = test.proxy, test.resolver, time.Minute
		var found []string
		checkNetwork(t.Context(), cfg, func(what, detail, _ string, err error) {
			if err != nil {
				found = append(found, "BAD "+what+" "+err.Error())
			} else {
				found = append(found, "ok "+what+" "+detail)
			}
		})
		rest := strings.Join(found, " ")
		for _, word := range strings.Fields(test.want) {
			_, after, ok := strings.Cut(rest, word)
			if !ok {
				t.Errorf("%s: %q lacks %q of %q", name, found, word, test.want)
				break
			}
			rest = after
		}
	}
}
