package storage

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestRangeHead compares a RangeHead with a sorted list that is used as the store.
func TestRangeHead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all []int
		r := RangeHead[int]{Compare: func(a, b int) int { return a - b }, Scan: func(from *int, f func(int) bool) error {
			for _, k := range all {
				if (from == nil || k >= *from) && !f(k) {
					break
				}
			}
			return nil
		}}
		for range rapid.IntRange(0, 300).Draw(t, "before") {
			if at, found := slices.BinarySearch(all, rapid.IntRange(0, 1000).Draw(t, "key")); !found {
				all = slices.Insert(all, at, at)
				slices.Sort(all)
				all = slices.Compact(all)
			}
		}
		for range rapid.IntRange(1, 300).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "op") {
			case 0:
				k := rapid.IntRange(0, 1000).Draw(t, "key")
				at, found := slices.BinarySearch(all, k)
				if !found {
					all = slices.Insert(all, at, k)
					r.Insert(k)
				}
			case 1:
				if len(all) > 0 {
					at := rapid.IntRange(0, len(all)-1).Draw(t, "at")
					k := all[at]
					all = slices.Delete(all, at, at+1)
					r.Remove(k)
				}
			default: // the first ones are taken
				for range rapid.IntRange(1, 2*headRead).Draw(t, "taken") {
					k, ok, err := r.Least()
					if err != nil || ok != (len(all) > 0) || ok && k != all[0] {
						t.Fatalf("least %d %t %v of %v", k, ok, err, all)
					}
					if ok {
						all = all[1:]
						r.Remove(k)
					}
				}
			}
			if len(r.keys) > 2*headRead {
				t.Fatalf("%d keys are in memory", len(r.keys))
			}
		}
	})
}
