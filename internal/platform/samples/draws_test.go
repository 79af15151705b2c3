package samples

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"forager/internal/platform/objects/objectstest/memory"
)

func TestDrawsComeBack(t *testing.T) {
	store := memory.Bucket{}
	at := time.Unix(1_800_000_000, 0).UTC()
	want := []Draw{
		{Crawl: "c", At: at, Off: Stratum{90, []string{"http://a.test/"}}, On: Stratum{10, []string{"http://b.test/"}}},
		{Crawl: "d", At: at.Add(time.Second), On: Stratum{4, []string{"http://c.test/"}}},
	}
	for _, i := range []int{1, 0} {
		if err := AddDraw(t.Context(), store, "chem", &want[i]); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Draws(t.Context(), store, "chem")
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v, %s", err, diff)
	}
	if diff := cmp.Diff(map[string]bool{"http://a.test/": true, "http://b.test/": true}, From(got, "c")); diff != "" {
		t.Error(diff)
	}
	if other, err := Draws(t.Context(), store, "che"); err != nil || other != nil {
		t.Errorf("of another critic: %v, %v", other, err)
	}
}

// pick returns all sets of k of the numbers below n.
func pick(n, k int) (sets [][]int) {
	if k == 0 {
		return [][]int{nil}
	}
	for last := k - 1; last < n; last++ {
		for _, s := range pick(last, k-1) {
			sets = append(sets, append(s[:len(s):len(s)], last))
		}
	}
	return sets
}

// TestWeightsAreUnbiased: over all samples that can be drawn from small strata, the weighted share of marks that are right is the share
// of the pages, however unequally the strata are drawn from. Equal weights are 1.
func TestWeightsAreUnbiased(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var size, draw [2]int
		var right [2][]bool
		share := 0.
		for h := range size {
			size[h] = rapid.IntRange(1, 5).Draw(t, "pages")
			draw[h] = rapid.IntRange(1, size[h]).Draw(t, "drawn")
			right[h] = rapid.SliceOfN(rapid.Bool(), size[h], size[h]).Draw(t, "right")
			for _, yes := range right[h] {
				if yes {
					share++
				}
			}
		}
		share /= float64(size[0] + size[1])
		mean, samples := 0., 0.
		for _, off := range pick(size[0], draw[0]) {
			for _, on := range pick(size[1], draw[1]) {
				d := Draw{Crawl: "c", Off: Stratum{Pages: size[0]}, On: Stratum{Pages: size[1]}}
				marks := []Mark{{URL: "chosen", Crawl: "c"}, {URL: "in no draw", Crawl: "c", Drawn: true}}
				for h, s := range []*Stratum{&d.Off, &d.On} {
					for _, i := range [][]int{off, on}[h] {
						s.URLs = append(s.URLs, fmt.Sprint(h, i))
						marks = append(marks, Mark{URL: fmt.Sprint(h, i), Crawl: "c", Drawn: true, Right: right[h][i]})
					}
				}
				weights := Weights(marks, []Draw{d})
				var sum, yes, squares float64
				for _, m := range marks {
					w := weights[m.URL]
					sum, squares = sum+w, squares+w*w
					if m.Right {
						yes += w
					}
				}
				if len(weights) != draw[0]+draw[1] || math.Abs(sum-squares) > 1e-9 || sum > float64(len(weights))+1e-9 {
					t.Fatalf("weights %v: sum %g, of their squares %g", weights, sum, squares)
				}
				mean += yes / sum
				samples++
			}
		}
		if math.Abs(mean/samples-share) > 1e-9 {
			t.Fatalf("the mean estimate is %g, %g of the pages are on topic", mean/samples, share)
		}
	})
}

// TestWeightsOfSeveralDraws: later draws add to earlier ones, with the pages that the crawl had at the last; crawls are apart.
func TestWeightsOfSeveralDraws(t *testing.T) {
	draws := []Draw{
		{Crawl: "c", Off: Stratum{10, []string{"a", "skipped"}}, On: Stratum{10, []string{"b"}}},
		{Crawl: "c", Off: Stratum{30, []string{"d"}}, On: Stratum{10, nil}},
		{Crawl: "other", On: Stratum{1000, []string{"e"}}},
	}
	drawn := func(url, crawl string) Mark { return Mark{URL: url, Crawl: crawl, Drawn: true} }
	marks := []Mark{drawn("a", "c"), drawn("b", "c"), drawn("d", "c"), drawn("e", "other")}
	if d := Population(marks[:2], draws); d != &draws[0] {
		t.Errorf("a and b are of %+v", d)
	}
	if d := Population(marks[:3], draws); d != &draws[1] {
		t.Errorf("a, b and d are of %+v", d)
	}
	if d := Population([]Mark{{URL: "a", Crawl: "c"}, drawn("a", "other")}, draws); d != nil {
		t.Errorf("a page that was not drawn is of %+v", d)
	}
	got := Weights(marks, draws)
	// a and d represent 15 pages each, b 10; 40/(15² + 15² + 10²) = 40/550.
	want := map[string]float64{"a": 15 * 40. / 550, "d": 15 * 40. / 550, "b": 10 * 40. / 550, "e": 1}
	for url, w := range want {
		if math.Abs(got[url]-w) > 1e-12 || len(got) != len(want) {
			t.Errorf("%s: weight %g, want %g", url, got[url], w)
		}
	}
}
