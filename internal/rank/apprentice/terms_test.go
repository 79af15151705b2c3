package apprentice

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"forager/schemas"
)

// TestCountsAreThoseOfAMap adds leaps over thousands of terms, some of which differ only after their fifteenth byte, and
// compares every count with that of a map.
func TestCountsAreThoseOfAMap(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 9))
	type key struct {
		term   string
		offset int32
		bin    int
	}
	want := make(map[key]uint64)
	c := NewCounts()
	for range 3000 {
		relevance := r.Float64()
		seen := make(map[key]bool)
		var features []*schemas.Feature
		for range r.IntN(20) {
			k := key{fmt.Sprint(r.IntN(3000)), int32(r.IntN(256) - 128), int(relevance * 256)}
			switch r.IntN(8) {
			case 0:
				k.term = strings.Repeat("x", 15) + k.term
			case 1:
				k.term = strings.Repeat("x", 14)[:r.IntN(15)] + "y"
			}
			if seen[k] {
				continue
			}
			seen[k] = true
			n := uint32(r.IntN(3)) // 0 counts nothing
			features = append(features, &schemas.Feature{Term: k.term, Offset: k.offset, Count: n})
			if n > 0 {
				want[k] += uint64(n)
			}
		}
		if r.IntN(2) == 0 { // in the order of the definition, or in none
			slices.SortFunc(features, func(a, b *schemas.Feature) int { return strings.Compare(a.Term, b.Term) })
		}
		learnt(t, c, leap{features, relevance})
	}
	got := make(map[key]uint64)
	for term := range c.terms.all {
		for x := range term.learnt.all {
			got[key{term.string(), x.place().offset(), x.place().bin()}] += x.count()
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d counts, want %d", len(got), len(want))
	}
	for k, n := range want {
		if got[k] != n {
			t.Fatalf("%v was counted %d times, want %d", k, got[k], n)
		}
	}
	if again, err := UnmarshalCounts(c.Marshal()); err != nil || string(again.Marshal()) != string(c.Marshal()) {
		t.Errorf("does not come back: %v", err)
	}
}

// TestNamesAreKept: a term is found under the bytes it was entered by, and under no others.
func TestNamesAreKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfN(rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 'a', 0xff}), 1, 18), 1, 50).Draw(t, "names")
		var all terms[int]
		want := make(map[string]int)
		for i, b := range names {
			want[string(b)] = i
			all.enter(string(b)).learnt = i
		}
		got := make(map[string]int)
		for x := range all.all {
			got[x.string()] = x.learnt
		}
		if diff := cmp.Diff(want, got); diff != "" || all.used != len(want) {
			t.Errorf("%d terms, want %d: %s", all.used, len(want), diff)
		}
	})
}

// TestACountStops: counts beyond what a file may hold stop there, in any order.
func TestACountStops(t *testing.T) {
	var c cells
	for range 3 {
		c.add(7, countLimit/2+1)
		c.add(8, 1<<63)
	}
	if a, b := c.slots[c.find(7)], c.slots[c.find(8)]; a.count() != countLimit || a.place() != 7 || b.count() != countLimit || b.place() != 8 {
		t.Errorf("%d at place %d, %d at place %d", a.count(), a.place(), b.count(), b.place())
	}
}
