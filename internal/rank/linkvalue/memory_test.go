package linkvalue

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"forager/schemas"
)

// largePages are records of pages that each link to thousands of new URLs of 100 bytes.
func largePages(crawl, n, links int) func(yield func(*schemas.LinkFound) bool) {
	return func(yield func(*schemas.LinkFound) bool) {
		for i := range n {
			rec := &schemas.LinkFound{Url: fmt.Sprintf("http://%d.test/%d", crawl, i), Outcome: schemas.Outcome_OUTCOME_DELIVERED, Judgement: &schemas.Judgement{Raw: .5, Calibrated: float64(i%7) / 7}}
			for k := range links {
				rec.Links = append(rec.Links, &schemas.Link{Url: fmt.Sprintf("http://%d.test/%s%010d", crawl, strings.Repeat("a", 70), i*links+k)})
			}
			if !yield(rec) {
				return
			}
		}
	}
}

// TestCountsWhatIsKept: after every record no more is kept than is counted, and no more is counted than may be, with large
// pages, redirects and pages that link to one another.
func TestCountsWhatIsKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := New(true)
		r.most = rapid.IntRange(4, 16).Draw(t, "KiB") << 10
		for i, rec := range crawl(t, 40, 300) {
			r.Observe(rec)
			kept, sources := 0, make(map[*source]bool)
			for v, w := range r.waiting {
				kept += targetCost + len(v) + edgeCost*len(w.edges)
				for _, e := range w.edges {
					sources[e.from] = true
				}
			}
			for s := range sources {
				kept += sourceCost + outcomeCost*len(s.outcomes)
			}
			if kept > r.held || r.held > r.most {
				t.Fatalf("after record %d %d bytes are kept, %d counted, and %d may be", i, kept, r.held, r.most)
			}
		}
	})
}

// heap returns the bytes that are in use.
func heap() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// TestPastIsBounded: verdicts take no more than is counted, and that is bounded; long targets of redirects leave less space for other
// verdicts, but the last ones are there, as they were.
func TestPastIsBounded(t *testing.T) {
	for name, v := range map[string]verdict{"page": {r: .3, delivered: true}, "failure": {}, "redirect": {to: "a"}, "long redirect": {to: strings.Repeat("a", 8192)}} {
		cost := verdictCost
		if v.to != "" {
			cost += redirectCost + len(v.to)
		}
		before, p, n := heap(), newPast(), 5*mostPast/cost/2
		for i := range n {
			v := v
			v.to = strings.Clone(v.to)
			p.add(fmt.Sprint(i), v)
			if counted := p.young.Bytes + p.old.Bytes; counted > 2*mostPast || i%(n/7) == 0 && heap()-before > counted+16<<10 {
				t.Fatalf("%s: %d bytes are counted, of %d, and %d taken", name, counted, 2*mostPast, heap()-before)
			}
		}
		for i := n - mostPast/cost; i < n; i++ {
			if got, ok := p.of(fmt.Sprint(i)); !ok || got != v {
				t.Fatalf("%s: verdict %d of %d is %v, %v", name, i, n, got, ok)
			}
		}
	}
}

// TestPagesThatAreLinkedToDoNotWaitAgain: of a crawl longer than what is kept of it, pages that others still link to are known as fetched, and
// credit their sources.
func TestPagesThatAreLinkedToDoNotWaitAgain(t *testing.T) {
	r := New(true)
	r.past.most = 10 * verdictCost
	for i := range 100 {
		rec := &schemas.LinkFound{Url: fmt.Sprint(i), Outcome: schemas.Outcome_OUTCOME_DELIVERED, Judgement: &schemas.Judgement{Raw: .5, Calibrated: .5}}
		for _, v := range []int{0, i + 1} {
			rec.Links = append(rec.Links, &schemas.Link{Url: fmt.Sprint(v)})
		}
		r.Observe(rec)
		if t0 := r.waiting["0"]; t0 != nil || len(r.waiting) != 1 {
			t.Fatalf("after %d pages %d URLs wait, and that page 0 waits is %v", i+1, len(r.waiting), t0 != nil)
		}
		if s := r.waiting[fmt.Sprint(i+1)].edges[0].from; len(s.outcomes) != 1 {
			t.Fatalf("page %d has %d outcomes", i, len(s.outcomes))
		}
	}
}

// TestLargePagesTakeBoundedMemory: between two fits, what is counted of crawls with thousands of links on each page is within
// its bound after every record, and the heap that they take is within what is counted.
func TestLargePagesTakeBoundedMemory(t *testing.T) {
	const crawls = 3
	before, counted := heap(), 0
	var rankers []*Ranker
	for c := range crawls {
		r := New(true)
		rankers = append(rankers, r)
		for rec := range largePages(c, 100, 5000) {
			r.Observe(rec)
			if r.held > mostHeld || r.Bytes() > MostBytes {
				t.Fatalf("after %d pages %d bytes are kept, %d in all", r.pages, r.held, r.Bytes())
			}
		}
		counted += r.Bytes()
		if got := heap() - before; got > counted {
			t.Fatalf("%d crawls take %d bytes, more than the %d counted", len(rankers), got, counted)
		}
	}
	runtime.KeepAlive(rankers)
}
