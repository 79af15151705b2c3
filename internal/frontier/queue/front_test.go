package queue

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"forager/internal/frontier/state"
)

// TestFront compares a front with a sorted list that is used as the store.
func TestFront(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var f headCache
		frontSize := rapid.IntRange(1, 32).Draw(t, "size")
		var all []state.Order
		for range rapid.IntRange(1, 400).Draw(t, "steps") {
			if len(all) == 0 || rapid.IntRange(0, 2).Draw(t, "insert") > 0 {
				o := state.Order{Score: float64(rapid.IntRange(0, 5).Draw(t, "score")), Ordinal: rapid.Uint64Range(1, 500).Draw(t, "ordinal")}
				at, found := slices.BinarySearchFunc(all, o, state.CompareOrders)
				if found {
					continue
				}
				all = slices.Insert(all, at, o)
				f.insert(o, frontSize)
			} else {
				at := 0
				if rapid.Bool().Draw(t, "any") {
					at = rapid.IntRange(0, len(all)-1).Draw(t, "at")
				}
				f.remove(all[at])
				all = slices.Delete(all, at, at+1)
			}
			if f.Unread && (len(f.keys) != 1 || all[0].Less(f.keys[0])) {
				t.Fatalf("unread front %v of %v", f.keys, all)
			}
			if f.Unread && rapid.Bool().Draw(t, "read") {
				f = headCache{keys: slices.Clone(all[:min(len(all), frontSize)]), stored: uint32(len(all))}
			}
			if n := len(f.keys); int(f.stored) != len(all) || f.empty() != (n == 0) || n > 2*frontSize || !f.Unread && !slices.Equal(f.keys, all[:n]) {
				t.Fatalf("front %+v of %v", f, all)
			}
		}
	})
}
