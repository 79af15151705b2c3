package linkfeature

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/testing/protocmp"
	"pgregory.net/rapid"

	"forager/schemas"
)

func TestCocitedByHand(t *testing.T) {
	got := Cocited(link(10, 12), []Sibling{{7, 8, 1}, {5, 6, .5}, {13, 19, .25}, {11, 11, .5}, {9, 14, .5}, {16, 20, .1}, {0, 6, .9}}, 3)
	want := []*schemas.Feature{feature("w:064", 1, 1), feature("w:128", 0, 2), feature("w:256", -2, 1)}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
	judged := Judged(Merge([]*schemas.Feature{feature("c:/", schemas.NoOffset, 1), feature("zoo", 0, 2)}, append(got, feature("w:999x", 0, 1))), 128)
	want = []*schemas.Feature{
		feature("c:/", schemas.NoOffset, 1), feature("w:999x", 0, 1), feature(CitedHigh, -2, 1), feature(CitedHigh, 0, 2), feature(CitedLow, 1, 1), feature("zoo", 0, 2),
	}
	if diff := cmp.Diff(want, judged, protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
}

// TestMergeIsSorting: of two sorted lists it makes one.
func TestMergeIsSorting(t *testing.T) {
	list := rapid.Custom(func(t *rapid.T) []*schemas.Feature {
		var all []*schemas.Feature
		for _, r := range rapid.SliceOf(rapid.Float64Range(0, 1)).Draw(t, "relevances") {
			all = append(all, feature(citedTerm(r), int32(rapid.IntRange(-2, 2).Draw(t, "offset")), 1))
		}
		return compact(all)
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := list.Draw(t, "a"), list.Draw(t, "b")
		merged := Merge(a, b)
		if len(merged) != len(a)+len(b) {
			t.Fatalf("%d features of %d and %d", len(merged), len(a), len(b))
		}
		for i := 1; i < len(merged); i++ {
			if inOrder(merged[i-1], merged[i]) > 0 {
				t.Fatalf("%v before %v", merged[i-1], merged[i])
			}
		}
		if diff := cmp.Diff(merged, OnlyCocited(Merge([]*schemas.Feature{feature("a", 0, 1)}, merged)), protocmp.Transform(), cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}
		for _, f := range merged {
			if bin, ok := citedBin(f.Term); !ok || bin > 256 || JudgedTerm(f.Term, bin) != CitedHigh || JudgedTerm(f.Term, bin+1) != CitedLow {
				t.Fatalf("%s is %d, %v", f.Term, bin, ok)
			}
		}
	})
}
