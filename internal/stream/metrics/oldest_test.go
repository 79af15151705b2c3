package metrics

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestAge compares with a list of all records: the age is that of the oldest, or of one of the 63 before it.
func TestAge(t *testing.T) {
	began := time.Unix(1000, 0)
	rapid.Check(t, func(t *rapid.T) {
		a := newAges().Of("t", 0)
		var all []timed
		next := 0
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			n := rapid.IntRange(0, 200).Draw(t, "read")
			first := len(all)
			for range n {
				offset := int64(0)
				if len(all) > 0 {
					offset = all[len(all)-1].offset + int64(rapid.SampledFrom([]int{1, 1, 1, 5}).Draw(t, "distance"))
				}
				all = append(all, timed{offset, began.Add(time.Duration(len(all)) * time.Second)})
			}
			a.Read(n, func(i int) (int64, time.Time) { return all[first+i].offset, all[first+i].at })
			if next = rapid.IntRange(next, len(all)).Draw(t, "done"); next > 0 {
				a.Done(all[next-1].offset + 1)
			}
			now := began.Add(time.Hour)
			got, want := a.seconds(now), 0.0
			if next < len(all) {
				want = now.Sub(all[next].at).Seconds()
			}
			if got < want || got > want+sampleEvery || want == 0 && got != 0 {
				t.Fatalf("%v s, the oldest of %d, of which %d are done, has %v s", got, len(all), next, want)
			}
		}
	})
}
