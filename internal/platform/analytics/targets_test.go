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
	"forager/schemas"
)

// The targets of random links and redirects against their definition, with slices of all sizes.
func TestTargets(t *testing.T) {
	d := migrated(t)
	rng := rand.New(rand.NewPCG(3, 3))
	at := time.UnixMilli(1_700_000_000_000).UTC()
	url := func(n int) string { return fmt.Sprintf("http://h%d.test/%d", n%3, n) }
	var requests []analytics.Request
	depths := map[string]uint32{}
	for i := range 60 {
		u, depth := url(rng.IntN(40)), uint32(rng.IntN(4))
		if old, known := depths[u]; !known || depth < old {
			depths[u] = depth
		}
		requests = append(requests, analytics.Request{Crawl: "c", ID: fmt.Sprintf("%016d", i), URL: u, Depth: depth, Place: analytics.PlaceOf(0, int64(i), at)})
	}
	best := map[string]analytics.Target{}
	lead := func(u, v string, depth uint32) {
		if old, known := best[v]; !known || cmp.Or(cmp.Compare(depth, old.Depth), cmp.Compare(u, old.Via)) < 0 {
			best[v] = analytics.Target{URL: v, Via: u, Depth: depth}
		}
	}
	var links []analytics.Link
	var verdicts []analytics.Verdict
	for i := range 2000 {
		u, v, place := url(rng.IntN(50)), url(rng.IntN(300)), analytics.PlaceOf(0, int64(i), at)
		if i < 5 {
			u = ""
		}
		depth, requested := depths[u]
		if i%20 == 7 {
			verdicts = append(verdicts, analytics.Verdict{Crawl: "c", ID: fmt.Sprintf("%016d", i), URL: u, Outcome: "redirected", Redirect: v, Place: place})
		} else {
			depth++
			links = append(links, analytics.Link{Crawl: "c", U: u, V: v, ID: string(schemas.LeapID("c", u, v).Bytes()), Request: id('r'), Place: place})
		}
		switch {
		case u == "":
			lead(u, v, 0)
		case requested && u != v:
			lead(u, v, depth)
		}
	}
	insert(t, d, requests...)
	insert(t, d, verdicts...)
	insert(t, d, links...)
	insert(t, d, links[:100]...)
	insert(t, d, analytics.Verdict{Crawl: "c", ID: id('v'), URL: url(0), Outcome: "bad-redirect", Redirect: "http://bad.test/", Place: analytics.PlaceOf(0, 9999, at)})
	insert(t, d, analytics.Link{Crawl: "other", U: "", V: "http://other.test/", ID: id('o'), Request: id('r'), Place: analytics.PlaceOf(0, 9999, at)})
	var want []analytics.Target
	for _, x := range best {
		want = append(want, x)
	}
	slices.SortFunc(want, func(a, b analytics.Target) int { return cmp.Compare(a.URL, b.URL) })
	for _, size := range [][2]int{{4096, 64}, {1, 100}, {7, 20}} {
		var got []analytics.Target
		err := analytics.TargetsIn(analytics.Trail{DB: d, Crawl: "c"}, t.Context(), size[0], size[1], func(x *analytics.Target) error {
			got = append(got, *x)
			return nil
		})
		if diff := gocmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("slices of %v: %v\n%s", size, err, diff)
		}
	}
}
