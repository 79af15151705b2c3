package main

import (
	"context"
	"net"
	"strings"
	"testing"

	"forager/internal/frontier"
	"forager/schemas"
)

// TestWhatCannotBeResumed names what is missing.
func TestWhatCannotBeResumed(t *testing.T) {
	ctl := func(state schemas.CrawlState) *schemas.CrawlControl {
		return &schemas.CrawlControl{Crawl: "c", State: state, Budget: &schemas.Budget{Pages: 100, Requests: 200}}
	}
	running, stopped := ctl(schemas.CrawlState_CRAWL_STATE_RUNNING), ctl(schemas.CrawlState_CRAWL_STATE_STOPPED)
	end := func(reason string, pages, requests uint64) *schemas.CrawlStatus {
		return &schemas.CrawlStatus{State: schemas.ShardState_SHARD_STATE_FINISHED, EndReason: reason, Pages: pages, Requests: requests}
	}
	going := &schemas.CrawlStatus{State: schemas.ShardState_SHARD_STATE_PAUSED}
	for _, test := range []struct {
		what  string
		c     crawlResume
		ctl   *schemas.CrawlControl
		st    *schemas.CrawlStatus
		seeds int
		want  string // empty = it continues
	}{
		{"paused", crawlResume{}, running, going, 0, ""},
		{"more pages while it runs", crawlResume{Pages: 300}, running, going, 0, ""},
		{"fewer pages", crawlResume{Pages: 50}, running, going, 0, "only raised"},
		{"fewer requests", crawlResume{Requests: 50}, running, going, 0, "only raised"},
		{"stopped", crawlResume{Pages: 300}, stopped, end(frontier.EndStopped, 50, 60), 1, "for good"},
		{"being stopped", crawlResume{}, stopped, going, 0, "is being stopped"},
		{"pages spent", crawlResume{RetryFailed: true}, running, end(frontier.EndPages, 100, 150), 1, "--pages"},
		{"pages spent, more given", crawlResume{Pages: 101}, running, end(frontier.EndPages, 100, 150), 0, ""},
		{"requests spent", crawlResume{Pages: 300}, running, end(frontier.EndRequests, 50, 200), 1, "--requests"},
		{"requests spent, more given", crawlResume{Requests: 201}, running, end(frontier.EndRequests, 50, 200), 0, ""},
		{"empty", crawlResume{Pages: 300}, running, end(frontier.EndEmpty, 50, 60), 0, "--retry-failed"},
		{"empty, seeds given", crawlResume{}, running, end(frontier.EndEmpty, 50, 60), 1, ""},
		{"empty, tried again", crawlResume{RetryFailed: true}, running, end(frontier.EndEmpty, 50, 60), 0, ""},
		{"hosts away", crawlResume{}, running, end(frontier.EndUnreachable, 50, 60), 0, "--retry-failed"},
		{"never ran", crawlResume{Pages: 300}, running, end("refused: unknown policy", 0, 0), 1, "never ran"},
	} {
		test.c.Crawl = "c"
		switch err := test.c.refuse(test.ctl, test.st, test.seeds); {
		case (err == nil) != (test.want == ""):
			t.Errorf("%s: %v", test.what, err)
		case err != nil && !strings.Contains(err.Error(), test.want):
			t.Errorf("%s: %q lacks %q", test.what, err, test.want)
		}
	}
}

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

// TestWaitingFor checks the texts.
func TestWaitingFor(t *testing.T) {
	st := &schemas.CrawlStatus{
		Queued: 12, Outage: &schemas.Outage{Since: 1000, Cause: "the proxy cannot be reached: refused", NextProbe: 61_000},
		Unreachable: &schemas.UnreachableHosts{Hosts: 1, Urls: 3, GivenUpHosts: 2, GivenUpUrls: 1, Host: "a.test", Cause: "refused", NextTry: 90_000, Until: 120_000},
	}
	want := "network unreachable since 1970-01-01T00:00:01Z (the proxy cannot be reached: refused): 12 URLs wait, next probe 1970-01-01T00:01:01Z, nothing is charged; " +
		"1 host does not answer (a.test: refused): 3 URLs wait, next try 1970-01-01T00:01:30Z, given up after 1970-01-01T00:02:00Z; 2 hosts were given up with 1 URL"
	if got := waitingFor(st); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}
