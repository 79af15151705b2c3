package interest

import (
	"fmt"
	"runtime"
	"testing"

	"forager/internal/rank/rank"
	"forager/schemas"
)

// TestMemoryIsBounded: on a web with ever new hosts the ranker stops to learn once it is full, its estimate of its memory
// is that of the heap, and a replay gives the same scores.
func TestMemoryIsBounded(t *testing.T) {
	const limit, links = 4 << 20, 30
	page := func(n int) *schemas.LinkFound {
		rec := &schemas.LinkFound{
			Url: fmt.Sprintf("http://host-number-%d.example/", n), Outcome: schemas.Outcome_OUTCOME_DELIVERED,
			Judgement: &schemas.Judgement{Raw: float64(n % 2)},
		}
		for i := range uint32(200) {
			rec.Judgement.Words = append(rec.Judgement.Words, i*1000+uint32(n%1000))
		}
		for i := range links {
			rec.Links = append(rec.Links, &schemas.Link{Url: fmt.Sprintf("http://host-number-%d.example/", n*links+i+1)})
		}
		return rec
	}
	a, b := New(true), New(true)
	a.bound.Limit, b.bound.Limit = limit, limit
	before := heap()
	n := 0
	for ; !a.bound.Full(); n++ {
		a.Observe(page(n))
	}
	used := int(heap() - before)
	if got := a.Bound(); got.Used > limit+1<<20 || used > got.Used*3/2 || used < got.Used/3 {
		t.Errorf("%d pages take %d bytes, %d are estimated, the limit is %d", n, used, got.Used, limit)
	}
	full := a.Bound().Used
	for i := range 100 {
		if changed := a.Observe(page(n + i)); changed != nil {
			t.Fatal("it went on to learn")
		}
	}
	for i := range n + 100 {
		b.Observe(page(i))
	}
	if a.Bound().Used != full || a.Bound().Skipped != 100 || b.Bound() != a.Bound() {
		t.Errorf("%+v, want %d bytes; taught again %+v", a.Bound(), full, b.Bound())
	}
	for i := range n {
		if u := page(i).GetUrl(); a.Score(u, new(rank.Source)) != b.Score(u, new(rank.Source)) {
			t.Fatalf("%s scores otherwise when it is taught again", u)
		}
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
