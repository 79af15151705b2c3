package analytics_test

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"forager/internal/platform/analytics"
	"forager/schemas"
)

// made is a request of which rows are made.
type made struct {
	crawl, url, outcome, topic, id string
	shard                          uint32
	offset                         int64
	relevance                      float64
	at                             time.Time
	stored                         bool
}

// TestPages compares selections of random pages with their definition, by queries of few pages and of all at once.
func TestPages(t *testing.T) {
	d := migrated(t)
	rng := rand.New(rand.NewPCG(5, 5))
	url := func(n int) string { return fmt.Sprintf("http://h%d.test/%d", n%40, n) }
	var all []made
	var requests []analytics.Request
	var fetches []analytics.Fetch
	var judgements []analytics.Judgement
	var verdicts []analytics.Verdict
	attempts, delivered := map[string]uint32{}, map[string]bool{}
	for i := range 300 {
		x := made{crawl: "c", url: url(rng.IntN(150)), shard: uint32(rng.IntN(3)), offset: int64(1000 + i), stored: true,
			outcome: []string{"delivered", "delivered", "timeout"}[rng.IntN(3)], topic: []string{"A", "A/B", "AB"}[rng.IntN(3)], relevance: float64(rng.IntN(8)) / 8}
		if i%10 == 0 {
			x.crawl = "other"
		}
		key := x.crawl + x.url
		if delivered[key] {
			x.outcome = "timeout"
		}
		delivered[key] = delivered[key] || x.outcome == "delivered"
		x.stored = x.outcome == "delivered" && i%17 != 0
		attempts[key]++
		x.id, x.at = string(schemas.RequestID(x.crawl, x.url, attempts[key]).Bytes()), time.UnixMilli(1_700_000_000_000+x.offset*10).UTC()
		place, object := analytics.PlaceOf(int(x.shard), x.offset, x.at), ""
		if x.stored {
			object = "segment"
		}
		for range 1 + i%2 { // some come twice
			requests = append(requests, analytics.Request{Crawl: x.crawl, ID: x.id, URL: x.url, Shard: x.shard, Attempt: attempts[key], Place: place})
			fetches = append(fetches, analytics.Fetch{Crawl: x.crawl, ID: x.id, URL: x.url, Outcome: x.outcome, Object: object, FetchedAt: x.at, Place: place})
			judgements = append(judgements, analytics.Judgement{Crawl: x.crawl, ID: x.id, URL: x.url, Outcome: x.outcome, Relevance: x.relevance, Topics: []string{x.topic}, Posteriors: []float64{1}, Place: place})
			verdicts = append(verdicts, analytics.Verdict{Crawl: x.crawl, ID: x.id, URL: x.url, Shard: x.shard, Outcome: x.outcome, Relevance: x.relevance, Place: place})
		}
		all = append(all, x)
	}
	insert(t, d, requests...)
	insert(t, d, fetches...)
	insert(t, d, judgements...)
	insert(t, d, verdicts...)
	applied := func(a, b made) int { return cmp.Or(cmp.Compare(a.shard, b.shard), cmp.Compare(a.offset, b.offset)) }
	slices.SortFunc(all, applied)
	among := []string{url(1), url(2), url(3), url(4), url(999)}
	for _, sel := range []analytics.Selection{
		{Crawl: "c", Outcome: "delivered"}, {Crawl: "c", Outcome: "delivered", Above: .5}, {Crawl: "c", Outcome: "delivered", Topic: "A", Above: .25}, {Crawl: "c", Outcome: "timeout"},
		{Crawl: "c", Outcome: "delivered", URLsOnly: true}, {Crawl: "c", Outcome: "timeout", URLsOnly: true}, {Outcome: "delivered", Among: among}, {Crawl: "other", Outcome: "timeout"}, {Crawl: "none", Outcome: "delivered"},
	} {
		var want []string
		seen := map[string]bool{}
		order := slices.Clone(all)
		if sel.Among != nil {
			slices.SortFunc(order, func(a, b made) int { return cmp.Or(cmp.Compare(a.url, b.url), a.at.Compare(b.at)) })
		}
		for _, x := range order {
			once := (sel.URLsOnly || sel.Among != nil) && seen[x.url]
			if x.outcome != sel.Outcome || sel.Crawl != "" && x.crawl != sel.Crawl || x.relevance < sel.Above || sel.Outcome == "delivered" && !x.stored || once ||
				sel.Topic != "" && x.topic != sel.Topic && !strings.HasPrefix(x.topic, sel.Topic+"/") || sel.Among != nil && !slices.Contains(sel.Among, x.url) {
				continue
			}
			seen[x.url] = true
			want = append(want, x.url)
		}
		for _, slice := range []int{1 << 20, 13} {
			var got []string
			if err := analytics.PagesIn(t.Context(), d, sel, slice, func(p *analytics.StoredPage) error { got = append(got, p.URL); return nil }); err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Errorf("%+v by %d: %s", sel, slice, diff)
			}
		}
	}
	of := func(outcome string) (list []made) {
		for _, x := range all {
			if x.crawl == "c" && x.outcome == outcome {
				list = append(list, x)
			}
		}
		return list
	}
	for outcome, want := range map[string]int{"delivered": len(of("delivered")), "timeout": len(of("timeout")), "client-error": 0} {
		if n, err := d.Complete(t.Context(), "c", outcome); err != nil || n != uint64(want) {
			t.Errorf("%d complete pages with outcome %s (%v), want %d", n, outcome, err, want)
		}
	}
	taken := map[string]int{}
	for _, x := range of("delivered") {
		taken[fmt.Sprint(x.relevance > .5)]++
	}
	judged, err := d.Verdicts(t.Context(), "c")
	got := map[string]int{}
	for _, v := range judged {
		got[fmt.Sprint(v.OnTopic)] += v.Pages
	}
	if diff := gocmp.Diff(taken, got); err != nil || diff != "" {
		t.Errorf("verdicts: %v\n%s", err, diff)
	}
	before := []string{of("delivered")[0].url}
	taken[fmt.Sprint(of("delivered")[0].relevance > .5)]--
	off, on, left, err := d.Draw(t.Context(), "c", before, 10)
	if err != nil || len(off) < 5 || len(on) < 5 || left != [2]int{taken["false"], taken["true"]} || slices.Contains(append(off, on...), analytics.DrawnPage{URL: before[0]}) {
		t.Errorf("drawn %v, %v of %v, want %v; %v", off, on, left, taken, err)
	}
	for _, x := range of("delivered") {
		if drawn := slices.Contains(on, analytics.DrawnPage{URL: x.url}); drawn && (x.relevance <= .5 || !x.stored) {
			t.Errorf("drawn on topic: %+v", x)
		}
	}
	insert(t, d, analytics.Verdict{Crawl: "c", ID: id('v'), URL: "http://late.test/", Outcome: "delivered", Place: analytics.PlaceOf(0, 9999, time.UnixMilli(1_600_000_000_000))})
	if n, err := d.Complete(t.Context(), "c", "delivered"); err != nil || n != uint64(len(of("delivered"))) {
		t.Errorf("%d complete pages with a verdict alone (%v)", n, err)
	}
	newest := of("delivered")
	slices.SortFunc(newest, func(a, b made) int { return b.at.Compare(a.at) })
	newest = slices.DeleteFunc(newest, func(x made) bool { return x.relevance < .5 })
	seenPages, err := d.SeenPages(t.Context(), "c", "", .5, 3, 10)
	if err != nil || len(seenPages) != 10 {
		t.Fatalf("%d pages, %v", len(seenPages), err)
	}
	for i, p := range seenPages {
		if p.URL != newest[i+3].url || p.Topics[0] != newest[i+3].topic {
			t.Errorf("page %d is %+v, want %+v", i, p, newest[i+3])
		}
	}
	tried := of("timeout")[0].url
	if pages, err := d.SeenPages(t.Context(), "c", tried, 0, 0, 100); err != nil || len(pages) != int(attempts["c"+tried]) || pages[0].Attempt != attempts["c"+tried] {
		t.Errorf("%d attempts at %s (%v), want %d", len(pages), tried, err, attempts["c"+tried])
	}
	sums := map[string]analytics.Host{"late.test": {Host: "late.test", Requests: 1, Delivered: 1}}
	for _, x := range all {
		if x.crawl == "c" {
			name := strings.Split(x.url, "/")[2]
			h := sums[name]
			h.Host, h.Requests = name, h.Requests+1
			if x.outcome == "delivered" {
				h.Delivered, h.Relevance = h.Delivered+1, h.Relevance+x.relevance
			} else {
				h.Failed, h.Trouble = h.Failed+1, "timeout"
			}
			h.Harvest = h.Relevance / float64(max(h.Delivered, 1))
			sums[name] = h
		}
	}
	wanted := slices.SortedFunc(maps.Values(sums), func(a, b analytics.Host) int {
		return cmp.Or(cmp.Compare(b.Relevance, a.Relevance), cmp.Compare(a.Host, b.Host))
	})
	if hosts, err := d.Hosts(t.Context(), "c", "yield", 2, 20); err != nil || gocmp.Diff(wanted[2:22], hosts) != "" {
		t.Errorf("hosts: %v\n%s", err, gocmp.Diff(wanted[2:22], hosts))
	}
	var drawn []string
	sample := analytics.Selection{Crawl: "c", Outcome: "delivered", Sample: 30}
	if err := d.Pages(t.Context(), sample, func(p *analytics.StoredPage) error { drawn = append(drawn, p.URL); return nil }); err != nil || len(drawn) < 25 || len(drawn) > 30 {
		t.Errorf("%d pages drawn, %v", len(drawn), err)
	}
	if slices.Sort(drawn); len(slices.Compact(drawn)) < 25 {
		t.Errorf("drawn twice: %v", drawn)
	}
}
