package tagbandit

import (
	"fmt"
	"runtime"
	"testing"

	"forager/schemas"
)

// TestMemoryIsBounded: on a web with ever new hosts and paths the bandit adds nothing once it is full, its estimate is that
// of the heap, and it still draws known pages.
func TestMemoryIsBounded(t *testing.T) {
	const limit, links = 4 << 20, 30
	page := func(u string, n int) *schemas.LinkFound {
		rec := delivered(u, .5)
		for i := range links {
			rec.Links = append(rec.Links, &schemas.Link{
				Url: fmt.Sprintf("http://host-number-%d.example/", n*links+i+1), TagPath: []uint32{uint32(n % 50), uint32(i), uint32(i + 1)},
			})
		}
		return rec
	}
	r := New(1, 4)
	r.bound.Limit = limit
	before := heap()
	r.Observe(seeds("http://seed.example/"))
	drawn := r.Observe(page("http://seed.example/", 0))
	n := 1
	for ; !r.bound.Full(); n++ {
		u := drawn[0]
		drawn = append(drawn[1:], r.Observe(page(u, n))...)
	}
	used := int(heap() - before)
	if got := r.Bound(); got.Used > limit+1<<20 || used > got.Used*3/2 {
		t.Errorf("%d pages take %d bytes, %d are estimated, the limit is %d", n, used, got.Used, limit)
	}
	known := len(r.known)
	for range 100 {
		u := drawn[0]
		more := r.Observe(page(u, n))
		if drawn = append(drawn[1:], more...); len(more) == 0 {
			t.Fatal("it draws no page any more")
		}
		n++
	}
	r.Observe(page("http://unknown.example/", n))
	if len(r.known) != known || r.bound.Skipped != 101 || r.visited["http://unknown.example/"] {
		t.Errorf("%d pages are known, %d were; %d verdicts skipped", len(r.known), known, r.bound.Skipped)
	}
	runtime.KeepAlive(r)
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
