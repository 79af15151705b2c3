package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"forager/internal/rank/distill"
	"forager/internal/stream/state"
	"forager/internal/stream/stateful"
	"forager/schemas"
)

// BenchmarkHubs ranks 10⁶ pages with 10⁷ links to one another, from disk. Writing them takes a
// minute.
func BenchmarkHubs(b *testing.B) {
	const pages, links = 1_000_000, 10
	store, err := stateful.OpenStore(state.Options{Dir: b.TempDir(), Identity: name, Cache: state.NewCache(16 << 20)})
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	g, err := distill.OpenGraph(store, []byte("g"))
	if err != nil {
		b.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	url := func(n uint32) string { return fmt.Sprintf("http://www.h%d.example/%d", n%10_000, n) }
	for n := range uint32(pages) {
		rec := &schemas.LinkFound{
			Id: schemas.RequestID("c", url(n), 1).Bytes(), Url: url(n), Outcome: schemas.Outcome_OUTCOME_DELIVERED,
			Judgement: &schemas.Judgement{Raw: r.Float64()},
		}
		for range links {
			rec.Links = append(rec.Links, &schemas.Link{Url: url(uint32(pages * math.Pow(r.Float64(), 3)))})
		}
		if err := g.Note(rec, int64(n)); err != nil {
			b.Fatal(err)
		}
		if n%10_000 == 0 {
			if err := store.Commit(state.Marks{}); err != nil {
				b.Fatal(err)
			}
		}
	}
	if err := store.Commit(state.Marks{}); err != nil {
		b.Fatal(err)
	}
	runtime.GC()
	for b.Loop() {
		m, err := g.Hubs(b.Context(), "c", 0, distill.Default)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(m.GetEdges()), "edges")
		b.ReportMetric(float64(m.GetRounds()), "rounds")
	}
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	b.ReportMetric(float64(mem.HeapSys)/(1<<20), "heap-MiB")
}
