package analytics_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"forager/internal/platform/analytics"
)

// The report of hosts against the definition of each of its figures, over random requests.
func TestTreated(t *testing.T) {
	d := migrated(t)
	rng := rand.New(rand.NewPCG(7, 7))
	at := time.UnixMilli(1_700_000_000_000).UTC()
	outcomes := []struct {
		name   string
		status uint32
	}{
		{"delivered", 200}, {"delivered", 200}, {"client-error", 404}, {"deferred", 429}, {"server-error", 503}, {"server-error", 500},
		{"timeout", 0}, {"connection-failed", 0}, {"deferred", 0}, {"robots-unavailable", 0}, {"robots-disallowed", 0}, {"host-unreachable", 0}, {"network-unreachable", 0}, {"cancelled", 0},
	}
	type one struct {
		f    analytics.Fetch
		wait uint64
	}
	byHost := map[string][]one{}
	var requests []analytics.Request
	var fetches []analytics.Fetch
	for i := range 300 {
		host, o := fmt.Sprintf("h%d.test", rng.IntN(4)), outcomes[rng.IntN(len(outcomes))]
		dispatched := at.Add(time.Duration(rng.IntN(300_000)) * time.Millisecond)
		wait := time.Duration(rng.IntN(20_000)) * time.Millisecond
		id, url := fmt.Sprintf("%016d", i), fmt.Sprintf("http://%s/%d", host, i)
		place := analytics.PlaceOf(0, int64(i), at)
		f := analytics.Fetch{Crawl: "c", ID: id, URL: url, Host: host, Outcome: o.name, Status: o.status, FetchedAt: dispatched.Add(wait), DurationMS: uint32(rng.IntN(2000)), Place: place}
		fetches = append(fetches, f)
		requests = append(requests, analytics.Request{Crawl: "c", ID: id, URL: url, Host: host, Ordinal: uint64(i + 1), DispatchedAt: dispatched, Place: place})
		byHost[host] = append(byHost[host], one{f, uint64(wait.Milliseconds())})
	}
	insert(t, d, requests...)
	insert(t, d, fetches...)
	insert(t, d, analytics.Fetch{Crawl: "other", ID: fmt.Sprintf("%016d", 999), URL: "http://h0.test/", Host: "h0.test", Outcome: "delivered", Status: 200, FetchedAt: at, Place: analytics.PlaceOf(0, 999, at)})
	var want []analytics.Treated
	for host, all := range byHost {
		slices.SortStableFunc(all, func(a, b one) int { return a.f.FetchedAt.Compare(b.f.FetchedAt) })
		x := analytics.Treated{Host: host}
		var gaps, waits []uint64
		var end time.Time
		for _, o := range all {
			x.Waited += o.wait
			sent := o.f.Status > 0 || o.f.Outcome == "timeout" || o.f.Outcome == "connection-failed"
			switch {
			case o.f.Status == 429:
				x.TooMany++
			case o.f.Status == 503:
				x.Unavailable++
			case sent && (o.f.Status == 0 || o.f.Status >= 500):
				x.Failed++
			case o.f.Outcome == "robots-disallowed":
				x.Disallowed++
			case o.f.Outcome == "deferred" || o.f.Outcome == "robots-unavailable":
				x.Deferred++
			case o.f.Outcome == "host-unreachable" || o.f.Outcome == "network-unreachable":
				x.Unreachable++
			}
			if !sent {
				continue
			}
			waits = append(waits, o.wait)
			if x.Requests++; x.Requests > 1 {
				gaps = append(gaps, uint64(max(0, o.f.FetchedAt.Sub(end).Milliseconds())))
			}
			if until := o.f.FetchedAt.Add(time.Duration(o.f.DurationMS) * time.Millisecond); until.After(end) {
				end = until
			}
		}
		slices.Sort(gaps)
		slices.Sort(waits)
		x.Gaps, x.LeastGap, x.MedianGap, x.MedianWait = uint64(len(gaps)), gaps[0], gaps[len(gaps)/2], waits[len(waits)/2]
		want = append(want, x)
	}
	slices.SortFunc(want, func(a, b analytics.Treated) int {
		return cmp.Or(cmp.Compare(b.Requests, a.Requests), cmp.Compare(a.Host, b.Host))
	})
	for _, most := range []int{100, 2} {
		got, err := d.Report("c").Treated(t.Context(), most)
		if err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(want[:min(most, len(want))], got); diff != "" {
			t.Errorf("at most %d (-want +got):\n%s", most, diff)
		}
	}
}
