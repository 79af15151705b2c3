package operate

import (
	"testing"

	"forager/schemas"
)

// TestWaitingFor checks the texts.
func TestWaitingFor(t *testing.T) {
	st := &schemas.CrawlStatus{
		Queued: 12, Outage: &schemas.Outage{Since: 1000, Cause: "the proxy cannot be reached: refused", NextProbe: 61_000},
		Unreachable: &schemas.UnreachableHosts{Hosts: 1, Urls: 3, GivenUpHosts: 2, GivenUpUrls: 1, Host: "a.test", Cause: "refused", NextTry: 90_000, Until: 120_000},
	}
	want := "network unreachable since 1970-01-01T00:00:01Z (the proxy cannot be reached: refused): 12 URLs wait, next probe 1970-01-01T00:01:01Z, nothing is charged; " +
		"1 host does not answer (a.test: refused): 3 URLs wait, next try 1970-01-01T00:01:30Z, given up after 1970-01-01T00:02:00Z; 2 hosts were given up with 1 URL"
	if got := WaitingFor(st); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}
