package critic

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/floats"
	"pgregory.net/rapid"

	"forager/internal/classify/bayes"
	"forager/internal/classify/calibrate"
)

// TestFoldsAreStratified: every fold has its share of every class, and of all pages, in any order of the pages.
func TestFoldsAreStratified(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		classes := rapid.SliceOfN(rapid.IntRange(0, 5), 0, 60).Draw(t, "classes")
		urls := make([]string, len(classes))
		for i := range urls {
			urls[i] = fmt.Sprint("http://h/", i)
		}
		folds := FoldsOf(urls, classes)
		even := func(what string, of func(i int) bool) {
			var n [Folds]int
			for i, fold := range folds {
				if of(i) {
					n[fold]++
				}
			}
			if slices.Max(n[:])-slices.Min(n[:]) > 1 {
				t.Fatalf("%s: %v", what, n)
			}
		}
		even("all", func(int) bool { return true })
		for k := range 6 {
			even(fmt.Sprint("class ", k), func(i int) bool { return classes[i] == k })
		}
		order := make([]int, len(urls))
		for i := range order {
			order[i] = i
		}
		order = rapid.Permutation(order).Draw(t, "order")
		var otherURLs []string
		var otherClasses []int
		for _, i := range order {
			otherURLs, otherClasses = append(otherURLs, urls[i]), append(otherClasses, classes[i])
		}
		for at, fold := range FoldsOf(otherURLs, otherClasses) {
			if fold != folds[order[at]] {
				t.Fatalf("%s is in fold %d, in another order in %d", otherURLs[at], folds[order[at]], fold)
			}
		}
	})
}

// TestListsOfManyClasses: what is stored for a page of any number of classes is a distribution whose listed
// classes are the likeliest ones and exact, and as many as permitted.
func TestListsOfManyClasses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		classes := rapid.IntRange(2, 3*manyClasses).Draw(t, "classes")
		scores := rapid.SliceOfN(rapid.Float64Range(-800, 800), classes, classes).Draw(t, "scores")
		if rapid.Bool().Draw(t, "near one another") {
			for k := range scores {
				scores[k] /= 800
			}
		}
		p, odds := make([]float64, classes), make([]float64, classes)
		bayes.Normalise(p, scores)
		logOdds(odds, scores)

		var u unseen
		u.add("http://h/", &heldOut{raw: shares(p, leastShare), tempered: shares(p, leastShare), calibrated: shares(p, leastShare)})
		if classes > manyClasses && len(u.shares) > kinds*mostPosterior {
			t.Fatalf("%d posteriors of %d classes are kept", len(u.shares), classes)
		}
		o := NewPrediction(classes)
		if !u.find(o, "http://h/") {
			t.Fatal("the page is not found")
		}
		if sum := floats.Sum(o.Raw); math.Abs(sum-1) > 1e-9 {
			t.Fatalf("sum %v", sum)
		}
		best := top(p, classes)
		for at, k := range best {
			listed := classes <= manyClasses || at < mostPosterior
			if listed && o.Raw[k] != p[k] && p[k] >= leastShare {
				t.Fatalf("class %d, the %dth: %v, kept %v", k, at, p[k], o.Raw[k])
			}
			if !listed && o.Raw[k] > p[best[mostPosterior-1]] {
				t.Fatalf("class %d, the %dth: %v, kept %v, more than a likelier one", k, at, p[k], o.Raw[k])
			}
		}

		l := listOdds(odds)
		if classes > manyClasses && len(l.odds) != mostOdds {
			t.Fatalf("%d log odds are kept", len(l.odds))
		}
		best = top(odds, classes)
		all := l.all(classes)
		for at, k := range best {
			if all[k] != float64(l.of(k)) {
				t.Fatalf("class %d: %v and %v", k, all[k], l.of(k))
			}
			if (classes <= manyClasses || at < mostOdds) && all[k] != float64(inSteps(odds[k])) {
				t.Fatalf("class %d, the %dth: log odds %v, kept %v", k, at, odds[k], all[k])
			}
		}
		if classes > manyClasses {
			least, most := math.Inf(1), math.Inf(-1)
			for _, k := range best[mostOdds:] {
				least, most = min(least, odds[k]), max(most, odds[k])
			}
			// The mean is between them; log odds are above the logarithm of a probability, by 1/mostOdds at most.
			if x := float64(l.others); x < least-1./oddsSteps-2./mostOdds || x > most+1./oddsSteps {
				t.Fatalf("the others count as %v, they are %v to %v", x, least, most)
			}
		}
	})
}

// TestManyClasses trains on more classes than all posteriors are stored for: training pages are judged by those
// that are stored, calibrated, and a file contains them.
func TestManyClasses(t *testing.T) {
	var all []labelled
	const classes = manyClasses + 20
	for k := range classes {
		for i := range 6 {
			all = append(all, labelled{fmt.Sprintf("http://h/%d/%d", k, i), fmt.Sprintf("t%03d", k), fmt.Sprintf("word%d word%d page of many words%d", k, k, i)})
		}
	}
	m, r := train(t, all, Settings{})
	if n := len(m.unseen.shares); n > kinds*mostPosterior*len(all) {
		t.Errorf("%d posteriors are kept of %d pages", n, len(all))
	}
	if r.Calibrated.Accuracy < .99 || r.Calibrated.LogLoss > min(r.Raw.LogLoss, r.Tempered.LogLoss) {
		t.Errorf("%+v", r.Measured)
	}
	m = reread(t, m)
	for _, x := range all {
		j, err := m.Judge(page(x.url, x.text), []string{x.topic})
		if err != nil {
			t.Fatal(err)
		}
		raw, _, err := m.Posteriors(page(x.url, x.text))
		if err != nil {
			t.Fatal(err)
		}
		if !j.BestIsFocus || math.Abs(floats.Sum(raw)-1) > 1e-9 {
			t.Errorf("%s: %v, sum %v", x.url, j, floats.Sum(raw))
		}
	}
}

// TestColumnsOfManyClasses: each page is in the column of each class once, with the same values.
func TestColumnsOfManyClasses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		classes := rapid.SampledFrom([]int{3, manyClasses + 1, manyClasses + 9}).Draw(t, "classes")
		odds := rapid.Custom(func(t *rapid.T) float64 { return float64(rapid.IntRange(-4, 4).Draw(t, "odds")) })
		pages := make([]heldPage, rapid.IntRange(1, 12).Draw(t, "pages"))
		for i := range pages {
			pages[i] = heldPage{
				odds: listOdds(rapid.SliceOfN(odds, classes, classes).Draw(t, "odds of a page")),
				fold: i % Folds, classes: []int{rapid.IntRange(0, classes-1).Draw(t, "class")},
			}
		}
		columns := columnsOf(classes, pages)
		for k := range classes {
			want := make(map[calibrate.Page]int)
			for _, p := range pages {
				want[calibrate.Page{Score: p.odds.all(classes)[k], Right: p.classes[0] == k, Fold: p.fold}]++
			}
			got := make(map[calibrate.Page]int)
			for _, p := range columns.of(k) {
				n := p.Count
				p.Count = 0
				got[p] += n
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("class %d: %s", k, diff)
			}
		}
	})
}
