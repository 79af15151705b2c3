package schedule

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// TestLast: what is due is what follows page by page from the rule; it is as ever in small crawls, rare in large ones, and its
// work is in proportion to the pages.
func TestLast(t *testing.T) {
	const most = 100_000
	rapid.Check(t, func(rt *rapid.T) {
		first := rapid.Uint64Range(0, 40_000).Draw(rt, "first")
		every := rapid.Uint64Range(1, 5_000).Draw(rt, "every")
		last, times, work := first, 0, uint64(0)
		for pages := uint64(0); pages <= most; pages++ {
			due := pages == first
			switch {
			case pages <= first:
			case last < 20_000:
				due = (pages-first)%every == 0
			default:
				due = pages-last >= every && (pages-last)*10 > last-10
			}
			want := uint64(0)
			if pages >= first {
				if due {
					last = pages
					if pages > 20_000 {
						times, work = times+1, work+pages
					}
				}
				want = last
			}
			if got := Last(pages, first, every); got != want {
				rt.Fatalf("%d pages: %d, want %d", pages, got, want)
			}
		}
		// 20,000 pages grow 17 times by a tenth to 100,000; three more for first, the first number beyond 20,000, and rounding.
		if grown := math.Log(most/20_000.) / math.Log(1.1); float64(times) > grown+3 {
			rt.Fatalf("due %d times beyond 20,000 pages", times)
		}
		if work > 12*most {
			rt.Fatalf("%d pages were looked at for %d", work, uint64(most))
		}
	})
}

func TestLastOfExtremes(t *testing.T) {
	for _, c := range [][4]uint64{
		{0, 0, 0, 0}, {5, 0, 0, 5}, {29, 30, 10, 0}, {30, 30, 10, 30}, {20_000, 1_000, 100, 20_000}, {21_999, 1_000, 100, 20_000},
		{22_000, 1_000, 100, 22_000}, {24_199, 1_000, 100, 22_000}, {24_200, 1_000, 100, 24_200}, {math.MaxUint64, 7, math.MaxUint64, 7},
		{20_000, 0, 15_000, 15_000}, {30_000, 0, 15_000, 30_000}, {44_999, 0, 15_000, 30_000},
	} {
		if got := Last(c[0], c[1], c[2]); got != c[3] {
			t.Errorf("Last(%d, %d, %d) = %d, want %d", c[0], c[1], c[2], got, c[3])
		}
	}
	if got := Last(math.MaxUint64, 1, 1); got == 0 || math.MaxUint64-got > math.MaxUint64/5 {
		t.Errorf("of the most pages there can be, %d", got)
	}
}
