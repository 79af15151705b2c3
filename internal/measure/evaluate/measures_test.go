package evaluate

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// page has the same posteriors of every kind.
func page(url string, own []int, p ...float64) Page {
	return Page{URL: url, Own: own, Posteriors: [Kinds][]float64{p, p, p}}
}

func TestMeasure(t *testing.T) {
	pages := []Page{
		page("a", []int{0}, .8, .1, .1),
		page("b", []int{1}, .6, .4, 0),
		page("c", []int{2}, 1, 0, 0),
		page("d", []int{0, 1}, .2, .7, .1),
	}
	s := Measure(pages, Raw)
	near := func(name string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-12 {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	near("accuracy", s.Accuracy, .5)
	near("log loss", s.LogLoss, -(math.Log(.8)+math.Log(.4)+math.Log(0x1p-52)+(math.Log(.2)+math.Log(.7))/2)/4)
	near("Brier score", s.Brier, (.04+.01+.01+.36+.36+1+1+.09+.04+.01)/4)
	// Bins of .8, .6, 1 and .7 are apart.
	near("ECE", s.ECE, (.2+.6+1+.3)/4)
	if got := s.Reliability[14]; got != (Bin{Pages: 1, Confidence: 1, Accuracy: 0}) {
		t.Errorf("the last bin is %+v", got)
	}
	if diff := cmp.Diff([]Topic{
		{Name: "x", Pages: 2, Judged: 3, Right: 1, Precision: 1. / 3, Recall: .5, F1: .4},
		{Name: "y", Pages: 2, Judged: 1, Right: 1, Precision: 1, Recall: .5, F1: 2. / 3},
		{Name: "z", Pages: 1, F1: 0},
	}, topics([]string{"x", "y", "z"}, pages, Tempered)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]Confusion{
		{Of: "y", As: "x", Pages: 1, Share: .5, Examples: []string{"b"}},
		{Of: "z", As: "x", Pages: 1, Share: 1, Examples: []string{"c"}},
	}, confusions([]string{"x", "y", "z"}, pages, Calibrated, 5)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(Histogram{Topic: "x", On: [Tenths]int{2: 1, 8: 1}, Off: [Tenths]int{6: 1, 9: 1}},
		histograms([]string{"x", "y", "z"}, pages, Raw)[0]); diff != "" {
		t.Error(diff)
	}
	if h := histograms([]string{"x", "y"}, []Page{page("a", []int{0}, .16, .84)}, Raw)[0]; h.On[1] != 1 {
		t.Errorf(".16 is not in the second tenth: %+v", h)
	}
	if s := Measure([]Page{page("a", []int{1}, .1, .4, .4, .1)}, Raw); s.Accuracy != 1 {
		t.Error("the best of equals is not the first")
	}
	const most, least = .33333333410432153, 1 - 2*.33333333410432153
	if s := Measure([]Page{page("a", []int{0, 1, 2}, most, most, least)}, Raw); s.Brier < 0 || s.Brier > 1e-17 {
		t.Errorf("the Brier score of a page that is judged nearly as it is is %v", s.Brier)
	}
	if got := Measure(nil, Raw); got != (Scores{}) {
		t.Errorf("no pages are %+v", got)
	}
}

// TestMeasuresKeepTheirPromises checks invariants for any probabilities.
func TestMeasuresKeepTheirPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		classes := rapid.IntRange(2, 6).Draw(t, "classes")
		names := make([]string, classes)
		for k := range names {
			names[k] = fmt.Sprint(k)
		}
		pages := make([]Page, rapid.IntRange(1, 40).Draw(t, "pages"))
		for i := range pages {
			p := rapid.SliceOfN(rapid.Float64Range(0, 1), classes, classes).Draw(t, "weights")
			var sum float64
			for _, x := range p {
				sum += x
			}
			for k := range p {
				p[k] = (p[k] + 1e-9) / (sum + 1e-9*float64(classes))
			}
			own := rapid.SliceOfNDistinct(rapid.IntRange(0, classes-1), 1, classes, rapid.ID).Draw(t, "own")
			slices.Sort(own)
			pages[i] = page(fmt.Sprint(i), own, p...)
		}
		s := Measure(pages, Raw)
		var binned int
		var right float64
		for i, b := range s.Reliability {
			binned += b.Pages
			right += b.Accuracy * float64(b.Pages)
			if b.Pages > 0 && (b.Confidence < float64(i)/Bins-1e-9 || b.Confidence > float64(i+1)/Bins+1e-9) {
				t.Fatalf("bin %d has the confidence %v", i, b.Confidence)
			}
		}
		if binned != len(pages) || math.Abs(right/float64(binned)-s.Accuracy) > 1e-9 {
			t.Fatalf("%d of %d pages are binned, accuracy %v", binned, len(pages), s.Accuracy)
		}
		if s.Brier < 0 || s.Brier > 2 || s.ECE < 0 || s.ECE > 1 || s.LogLoss < 0 {
			t.Fatalf("out of range: %+v", s)
		}
		var judged, rightly, members int
		for _, topic := range topics(names, pages, Raw) {
			judged += topic.Judged
			rightly += topic.Right
			members += topic.Pages
		}
		if judged != len(pages) || math.Abs(float64(rightly)/float64(judged)-s.Accuracy) > 1e-9 {
			t.Fatalf("%d pages judged, %d rightly", judged, rightly)
		}
		var on, off int
		for _, h := range histograms(names, pages, Raw) {
			for i := range Tenths {
				on += h.On[i]
				off += h.Off[i]
			}
		}
		if on != members || on+off != len(pages)*classes {
			t.Fatalf("histograms hold %d and %d pages", on, off)
		}
	})
}
