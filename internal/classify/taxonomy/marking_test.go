package taxonomy

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

var tree = []string{"Arts/Dance", "Other", "Science/Chemistry/Acids", "Science/Chemistry/Other", "Science/Other", "Science/Physics", "Sports"}

func TestWeigh(t *testing.T) {
	for _, c := range []struct {
		marking Marking
		want    []float64
	}{
		{Marking{Good: []string{"Science"}}, []float64{0, 0, 1, 1, 1, 1, 0}},
		{Marking{Good: []string{"/Science/", "Sports"}, Weights: map[string]float64{"Sports/": .25}}, []float64{0, 0, 1, 1, 1, 1, .25}},
		{Marking{Good: []string{"Science"}, Bad: []string{"Science/Chemistry/"}}, []float64{0, 0, 0, 0, 1, 1, 0}},
		{Marking{Good: []string{"Science"}, Bad: []string{"Science/Chemistry", "Science/Chemistry/Acids"}}, []float64{0, 0, 0, 0, 1, 1, 0}},
		{Marking{Good: []string{"Science/Chemistry", "Science/Physics"}, Weights: map[string]float64{"Science/Chemistry": .5, "Science/Physics": 1}, Bad: []string{"Science/Chemistry/Other"}}, []float64{0, 0, .5, 0, 0, 1, 0}},
	} {
		got, err := c.marking.Weigh(tree, nil)
		if err != nil || !slices.Equal(got.Focus, c.want) {
			t.Errorf("%+v: %v, %v", c.marking, got, err)
		}
	}
}

func TestForms(t *testing.T) {
	for _, c := range []struct {
		marking Marking
		want    []string
	}{
		{Marking{Good: []string{"Sports"}}, []string{"Other", "Science/Chemistry/Other", "Science/Other"}},
		{Marking{Good: []string{"Science/Chemistry"}}, []string{"Other", "Science/Other"}},
		{Marking{Good: []string{"Science"}, Bad: []string{"Science/Chemistry"}}, []string{"Other", "Science/Chemistry/Other"}},
		{Marking{Good: []string{"Sports"}, Forms: []string{"/Arts"}}, []string{"Arts/Dance"}},
		{Marking{Good: []string{"Sports"}, Forms: []string{"Science/Chemistry", "Other"}}, []string{"Other", "Science/Chemistry/Acids", "Science/Chemistry/Other"}},
	} {
		weights, err := c.marking.Weigh(tree, nil)
		var got []string
		for k, form := range weights.Form {
			if form {
				got = append(got, tree[k])
			}
		}
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v, %v", c.marking, got, err)
		}
		if next, err := c.marking.Apply(Change{Good: []string{"Arts/Dance"}}); err != nil || !slices.Equal(next.Forms, trim(c.marking.Forms)) {
			t.Errorf("%+v after a change: %+v, %v", c.marking, next, err)
		}
	}
}

func TestWeighRefuses(t *testing.T) {
	pruned := []Pruned{{"Science/Chemistry/Salts", 2, "Science/Chemistry"}}
	for _, c := range []struct {
		marking  Marking
		expected []string
	}{
		{Marking{}, []string{"no focus topic is named"}},
		{Marking{Good: []string{"Chemistry"}}, []string{`focus topic "Chemistry" is unknown`, `did you mean "Science/Chemistry"?`}},
		{Marking{Good: []string{"Science/Chemisrty"}}, []string{`did you mean "Science/Chemistry"?`, "its topics are Science/Chemistry, Science/Other, Science/Physics"}},
		{Marking{Good: []string{"SPORTS"}}, []string{`did you mean "Sports"?`}},
		{Marking{Good: []string{"Sprots"}}, []string{`did you mean "Sports"?`}},
		{Marking{Good: []string{"Science/Chemistry/Salts"}}, []string{"was pruned", `topic "Science/Chemistry" took them`}},
		{Marking{Good: []string{"Science"}, Bad: []string{"Science/Chemistry/Salts"}}, []string{`bad topic "Science/Chemistry/Salts" was pruned`, `topic "Science/Chemistry" took them`}},
		{Marking{Good: []string{"Science"}, Bad: []string{"Science/Physik"}}, []string{`bad topic "Science/Physik" is unknown`, `did you mean "Science/Physics"?`}},
		{Marking{Good: []string{"Science", "Science/Physics/"}}, []string{`"Science/Physics" lies below focus topic "Science"`}},
		{Marking{Good: []string{"Science", "/Science"}}, []string{`"Science" is named twice`}},
		{Marking{Good: []string{"Science"}, Bad: []string{"Sports"}}, []string{`bad topic "Sports" lies below no focus topic`}},
		{Marking{Good: []string{"Science/Physics"}, Bad: []string{"Science"}}, []string{`bad topic "Science" lies below no focus topic`}},
		{Marking{Good: []string{"Sports"}, Bad: []string{"Sports"}}, []string{`"Sports" is marked good and bad`}},
		{Marking{Good: []string{"Science"}, Bad: []string{"Science/Physics", "Science/Physics/"}}, []string{`bad topic "Science/Physics" is named twice`}},
		{Marking{Good: []string{"Science"}, Bad: []string{"Science/Chemistry", "Science/Other", "Science/Physics"}}, []string{`nothing is left of focus topic "Science"`}},
		{Marking{Good: []string{"Sports"}, Forms: []string{"Science/Physik"}}, []string{`form topic "Science/Physik" is unknown`, `did you mean "Science/Physics"?`}},
		{Marking{Good: []string{"Sports"}, Forms: []string{"Other", "/Other"}}, []string{`form "Other" is named twice`}},
		{Marking{Good: []string{"Science/Physics"}, Forms: []string{"Science"}}, []string{`form "Science" and focus topic "Science/Physics" share classes`}},
		{Marking{Good: []string{"Science"}, Forms: []string{"Science/Physics"}}, []string{`form "Science/Physics" and focus topic "Science" share classes`}},
		{Marking{Good: []string{"Sports"}, Weights: map[string]float64{"Sports": 0}}, []string{`weight of focus topic "Sports" is 0`}},
		{Marking{Good: []string{"Sports"}, Weights: map[string]float64{"Sports": 1.5}}, []string{"is 1.5"}},
		{Marking{Good: []string{"Sports"}, Weights: map[string]float64{"Sports": math.NaN()}}, []string{"is NaN"}},
		{Marking{Good: []string{"Sports"}, Weights: map[string]float64{"Science": .5}}, []string{`topic "Science" has a weight and is no focus topic`}},
		{Marking{Good: []string{"Nothing", "Sports", "Sports"}, Bad: []string{"Arts"}}, []string{`"Nothing" is unknown`, "named twice", `bad topic "Arts"`}},
		{Marking{Good: []string{"", "/"}}, []string{`focus topic "" is unknown`}},
	} {
		weights, err := c.marking.Weigh(tree, pruned)
		if err == nil {
			t.Errorf("%+v: taken, %v", c.marking, weights)
			continue
		}
		for _, s := range c.expected {
			if !strings.Contains(err.Error(), s) {
				t.Errorf("%+v: %q does not contain %q", c.marking, err, s)
			}
		}
	}
}

func TestNothingAlikeIsNotOffered(t *testing.T) {
	for _, name := range []string{"Zoology", "x", strings.Repeat("Sports", 1000)} {
		if _, err := (Marking{Good: []string{name}}).Weigh(tree, nil); err == nil || strings.Contains(err.Error(), "did you mean") {
			t.Errorf("%.20q: %v", name, err)
		}
	}
}

func TestApply(t *testing.T) {
	chemistry := Marking{Good: []string{"Science/Chemistry"}, Weights: map[string]float64{"Science/Chemistry": .5}, Bad: []string{"Science/Chemistry/Acids"}}
	for name, c := range map[string]struct {
		from   Marking
		change Change
		want   Marking
	}{
		"another focus":       {chemistry, Change{Good: []string{"/Sports"}}, Marking{Good: []string{"Science/Chemistry", "Sports"}, Weights: chemistry.Weights, Bad: chemistry.Bad}},
		"with a weight":       {chemistry, Change{Good: []string{"Sports"}, Weights: map[string]float64{"Sports/": .25}}, Marking{Good: []string{"Science/Chemistry", "Sports"}, Weights: map[string]float64{"Science/Chemistry": .5, "Sports": .25}, Bad: chemistry.Bad}},
		"another weight":      {chemistry, Change{Weights: map[string]float64{"Science/Chemistry": 1}}, Marking{Good: chemistry.Good, Weights: map[string]float64{"Science/Chemistry": 1}, Bad: chemistry.Bad}},
		"good again":          {chemistry, Change{Good: []string{"Science/Chemistry/Acids"}}, Marking{Good: chemistry.Good, Weights: chemistry.Weights}},
		"bad below":           {chemistry, Change{Bad: []string{"Science/Chemistry/Other"}}, Marking{Good: chemistry.Good, Weights: chemistry.Weights, Bad: []string{"Science/Chemistry/Acids", "Science/Chemistry/Other"}}},
		"focus no more":       {chemistry, Change{Good: []string{"Sports"}, Bad: []string{"Science/Chemistry"}}, Marking{Good: []string{"Sports"}}},
		"taken in":            {chemistry, Change{Good: []string{"Science"}}, Marking{Good: []string{"Science"}, Bad: chemistry.Bad}},
		"its part instead":    {chemistry, Change{Good: []string{"Science/Chemistry/Acids"}, Bad: []string{"Science/Chemistry"}}, Marking{Good: []string{"Science/Chemistry/Acids"}}},
		"bad that is nowhere": {chemistry, Change{Bad: []string{"Sports"}}, Marking{Good: chemistry.Good, Weights: chemistry.Weights, Bad: []string{"Science/Chemistry/Acids", "Sports"}}},
	} {
		got, err := c.from.Apply(c.change)
		if diff := cmp.Diff(c.want, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
	if _, err := chemistry.Apply(Change{Good: []string{"A"}, Bad: []string{"/A"}}); err == nil || !strings.Contains(err.Error(), `"A" is marked twice`) {
		t.Errorf("error %v", err)
	}
}

// TestWeighIsItsDefinition compares with another definition of the weight of a class: the marks on the path from
// the root to the class, the deepest of which decides.
func TestWeighIsItsDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		known := slices.Sorted(maps.Keys(ancestors(tree)))
		pick := rapid.SliceOfNDistinct(rapid.SampledFrom(known), 0, 4, rapid.ID)
		m := Marking{Good: pick.Draw(t, "good"), Bad: pick.Draw(t, "bad"), Weights: make(map[string]float64)}
		for _, g := range m.Good {
			if rapid.Bool().Draw(t, "weighed") {
				m.Weights[g] = rapid.Float64Range(.01, 1).Draw(t, "weight")
			}
		}
		got, err := m.Weigh(tree, nil)
		if err != nil {
			return
		}
		total := 0.0
		for k, class := range tree {
			want := 0.0
			for _, at := range slices.Sorted(maps.Keys(ancestors([]string{class}))) {
				switch {
				case slices.Contains(m.Bad, at):
					want = 0
				case slices.Contains(m.Good, at) && m.Weights[at] > 0:
					want = m.Weights[at]
				case slices.Contains(m.Good, at):
					want = 1
				}
			}
			if got.Focus[k] != want {
				t.Fatalf("%+v: class %s has %v, want %v", m, class, got.Focus[k], want)
			}
			total += want
		}
		if total == 0 {
			t.Fatalf("%+v: nothing counts", m)
		}
	})
}

// TestChangesOfAMarkingThatWorks: the result of Apply for valid names is accepted by Weigh or refused with a
// reason, and marking a topic good and then bad again has no effect where it was unmarked.
func TestChangesOfAMarkingThatWorks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		known := slices.Sorted(maps.Keys(ancestors(tree)))
		m := Marking{Good: []string{"Science/Physics"}}
		for range rapid.IntRange(1, 6).Draw(t, "changes") {
			topic := rapid.SampledFrom(known).Draw(t, "topic")
			change := Change{Good: []string{topic}}
			if rapid.Bool().Draw(t, "bad") {
				change = Change{Bad: []string{topic}}
			}
			next, err := m.Apply(change)
			if err != nil {
				t.Fatal(err)
			}
			if weights, err := next.Weigh(tree, nil); err == nil {
				for k, class := range tree {
					if Within(class, topic) && len(change.Bad) > 0 && weights.Focus[k] > 0 && !below(class, next.Good) && !slices.Contains(next.Good, class) {
						t.Fatalf("%s counts for nothing that is good: %+v", class, next)
					}
				}
				m = next
			}
		}
		if slices.Contains(m.Good, "Sports") || slices.Contains(m.Bad, "Sports") {
			return
		}
		with, err := m.Apply(Change{Good: []string{"Sports"}})
		if err != nil {
			t.Fatal(err)
		}
		without, err := with.Apply(Change{Bad: []string{"Sports"}})
		if diff := cmp.Diff(m, without, cmpopts.EquateEmpty()); diff != "" || err != nil {
			t.Fatalf("%v %s", err, diff)
		}
	})
}

func ancestors(classes []string) map[string]bool {
	all := make(map[string]bool)
	for _, c := range classes {
		for i, r := range c + "/" {
			if r == '/' {
				all[c[:i]] = true
			}
		}
	}
	return all
}

// TestDistanceIsItsDefinition compares with the recursive definition.
func TestDistanceIsItsDefinition(t *testing.T) {
	var slow func(a, b string) int
	slow = func(a, b string) int {
		if a == "" || b == "" {
			return len(a) + len(b)
		}
		change := 1
		if a[len(a)-1] == b[len(b)-1] {
			change = 0
		}
		d := min(slow(a[:len(a)-1], b)+1, slow(a, b[:len(b)-1])+1, slow(a[:len(a)-1], b[:len(b)-1])+change)
		if n, m := len(a), len(b); n > 1 && m > 1 && a[n-1] == b[m-2] && a[n-2] == b[m-1] {
			d = min(d, slow(a[:n-2], b[:m-2])+1)
		}
		return d
	}
	for pair, want := range map[[2]string]int{{"sprots", "sports"}: 1, {"ab", "ba"}: 1, {"ca", "abc"}: 3, {"äb", "b"}: 1, {"", "abc"}: 3} {
		if got := distance(pair[0], pair[1]); got != want {
			t.Errorf("%q to %q: %d, want %d", pair[0], pair[1], got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringOfN(rapid.RuneFrom([]rune("abc")), 0, 6, -1)
		a, b := word.Draw(t, "a"), word.Draw(t, "b")
		if got, want := distance(a, b), slow(a, b); got != want {
			t.Fatalf("%q to %q: %d, want %d", a, b, got, want)
		}
	})
}

func FuzzWeigh(f *testing.F) {
	f.Add("Science", "Science/Physics", .5)
	f.Add("/Other//", "Chemi\xffstry", -1.)
	f.Fuzz(func(t *testing.T, good, bad string, weight float64) {
		m := Marking{Good: []string{good}, Bad: []string{bad}, Weights: map[string]float64{good: weight}}
		weights, err := m.Weigh(tree, nil)
		if err != nil {
			return
		}
		if w := weights.Focus; len(w) != len(tree) || slices.Max(w) > 1 || slices.Max(w) <= 0 || slices.Min(w) < 0 {
			t.Error(fmt.Sprint(weights))
		}
	})
}
