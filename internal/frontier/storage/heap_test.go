package storage

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// TestHeap compares a heap with a sorted list.
func TestHeap(t *testing.T) {
	type item struct{ rank, at int }
	rapid.Check(t, func(t *rapid.T) {
		h := &Heap[*item]{Less: func(a, b *item) bool { return a.rank < b.rank }, At: func(i *item) *int { return &i.at }}
		items := make([]*item, 12)
		for i := range items {
			items[i] = &item{at: -1}
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			x := rapid.SampledFrom(items).Draw(t, "item")
			x.rank = rapid.IntRange(0, 9).Draw(t, "rank")
			h.Fix(x, rapid.IntRange(0, 3).Draw(t, "in") > 0)
			n, least := 0, math.MaxInt
			for _, i := range items {
				if i.at >= 0 {
					if n++; h.items[i.at] != i {
						t.Fatalf("item is not at its recorded place")
					}
					least = min(least, i.rank)
				}
			}
			if n != h.Len() || (n > 0 && h.Top().rank != least) {
				t.Fatalf("%d items, want %d, top %v, want %d", h.Len(), n, h.Top(), least)
			}
		}
	})
}
