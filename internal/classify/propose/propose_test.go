package propose

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"forager/internal/classify/taxonomy"
)

var classes = []string{"Arts/Dance", "Arts/Music", "Other", "Science/Chemistry", "Science/Physics", "Science/Physics/Optics/Other"}

func predictions(pages ...[]float64) *Predictions {
	o := New(classes, []float64{.2, .2, .2, .2, .1, .1})
	for _, p := range pages {
		o.Add(p)
	}
	return o
}

func TestOneClassOfAll(t *testing.T) {
	o := predictions([]float64{0, 0, .05, .9, .05, 0}, []float64{0, .1, 0, .6, .3, 0}, []float64{.9, 0, 0, .1, 0, 0})
	best := o.Rank()[0]
	want := (math.Log(.9) + math.Log(.6) + math.Log(.1)) / 3
	if best.Topic != "Science/Chemistry" || math.Abs(best.Score-(want-math.Log(.2))) > 1e-12 || best.Fits != 2 || math.Abs(best.Mean-1.6/3) > 1e-12 {
		t.Errorf("%+v", best)
	}
	topics, covered := o.Focus()
	if diff := cmp.Diff([]string{"Science/Chemistry", "Arts/Dance"}, topics); diff != "" || covered != 3 {
		t.Errorf("%d covered: %s", covered, diff)
	}
}

func TestATopicAboveWhereExamplesAreSpread(t *testing.T) {
	o := predictions([]float64{0, 0, .05, .9, .05, 0}, []float64{0, 0, .05, 0, .95, 0}, []float64{0, 0, .05, 0, 0, .95}, []float64{0, 0, 0, .5, .5, 0})
	if topics, covered := o.Focus(); len(topics) != 1 || topics[0] != "Science" || covered != 4 || o.Rank()[0].Topic != "Science" {
		t.Errorf("%q cover %d; %+v", topics, covered, o.Rank()[:3])
	}
}

func TestNothingFits(t *testing.T) {
	o := predictions([]float64{.2, .2, .2, .2, .1, .1})
	if topics, covered := o.Focus(); len(topics) != 0 || covered != 0 {
		t.Errorf("%q cover %d", topics, covered)
	}
	if topics, covered := predictions().Focus(); len(topics) != 0 || covered != 0 || len(predictions().Rank()) != 9 {
		t.Errorf("of no examples: %q cover %d", topics, covered)
	}
	rules := New([]string{"A"}, []float64{0})
	rules.Add([]float64{1})
	if r := rules.Rank(); r[0].Score != 0 || r[0].Fits != 1 {
		t.Errorf("%+v", r)
	}
}

func TestFocusIsOneThatACrawlTakes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := predictions(rapid.SliceOf(rapid.Custom(func(t *rapid.T) []float64 {
			p := make([]float64, len(classes))
			sum := 0.0
			for i := range p {
				p[i] = math.Pow(rapid.Float64Range(.001, 1).Draw(t, "p"), 4)
				sum += p[i]
			}
			for i := range p {
				p[i] /= sum
			}
			return p
		})).Draw(t, "pages")...)
		topics, covered := o.Focus()
		if len(topics) > mostFocus || covered > len(o.pages) || (covered == 0) != (len(topics) == 0) {
			t.Fatalf("%q cover %d", topics, covered)
		}
		for i, a := range topics {
			for _, b := range topics[:i] {
				if taxonomy.Within(a, b) || taxonomy.Within(b, a) {
					t.Fatalf("%q and %q", a, b)
				}
			}
		}
	})
}
