package linkvalue

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"forager/internal/rank/policy"
)

// TestStoredRankersGoOn: a ranker that is stored and restored behind some records changes the same scores in the same order behind each
// further one as a ranker that was not.
func TestStoredRankersGoOn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bounded := func(r *Ranker) *Ranker {
			r.most, r.past.most = 8<<10, 40*verdictCost
			return r
		}
		expected := bounded(New(true))
		got := bounded(New(true))
		for i, rec := range crawl(t, 40, 300) {
			if rapid.IntRange(0, 9).Draw(t, "store") == 0 {
				b, err := got.MarshalBinary()
				if err != nil {
					t.Fatal(err)
				}
				if got, err = Restore(b); err != nil {
					t.Fatal(err)
				}
				bounded(got)
			}
			want, changed := expected.Observe(rec), got.Observe(rec)
			slices.Sort(want) // URLs with equal values change in any order
			slices.Sort(changed)
			if !slices.Equal(changed, want) {
				t.Fatalf("record %d changes %v, want %v", i, changed, want)
			}
			for _, v := range want {
				if x, y := got.Score(v, new(policy.Source)), expected.Score(v, new(policy.Source)); x != y {
					t.Fatalf("record %d: the score of %s is %v, want %v", i, v, x, y)
				}
			}
			if got.Bytes() != expected.Bytes() {
				t.Fatalf("record %d: %d bytes, want %d", i, got.Bytes(), expected.Bytes())
			}
		}
	})
}

// TestStoredByOthersIsRefused: what another version stored, or what is cut off, is no ranker.
func TestStoredByOthersIsRefused(t *testing.T) {
	b, err := New(true).MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	for n := range b {
		if r, err := Restore(b[:n]); err == nil {
			t.Fatalf("the first %d of %d bytes make %v", n, len(b), r)
		}
	}
}
