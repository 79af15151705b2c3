package critic

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"forager/internal/classify/taxonomy"
)

// TestWeightedRelevance compares R(u) with the sum over classes.
func TestWeightedRelevance(t *testing.T) {
	m, _ := train(t, sentences(8, "Science/Chemistry", "Science/Physics", "Science", "Arts/Dance", "Sports"), Settings{})
	rapid.Check(t, func(t *rapid.T) {
		marking := taxonomy.Marking{Good: []string{"Science", "Sports"}, Weights: map[string]float64{"Science": rapid.Float64Range(.01, 1).Draw(t, "weight")}}
		if rapid.Bool().Draw(t, "bad") {
			marking.Bad = []string{"Science/Physics"}
		}
		words := rapid.SliceOfN(rapid.SampledFrom([]string{"science", "chemistry", "physics", "dance", "sports", "page"}), 0, 30).Draw(t, "words")
		p := page("http://new/", strings.Join(words, " "))
		weights, err := Weigh(m, marking)
		if err != nil {
			t.Fatal(err)
		}
		j, err := Judge(t.Context(), m, p, weights)
		if err != nil {
			t.Fatal(err)
		}
		raw, tempered, err := m.Posteriors(p)
		if err != nil {
			t.Fatal(err)
		}
		sum := func(p []float64) (r float64) {
			for k, class := range m.Classes() {
				switch {
				case slices.Contains(marking.Bad, class):
				case strings.HasPrefix(class, "Science/"):
					r += marking.Weights["Science"] * p[k]
				case class == "Sports":
					r += p[k]
				}
			}
			return r
		}
		best := j.Topics[0].Topic
		if math.Abs(j.Raw-sum(raw)) > 1e-12 || math.Abs(j.Tempered-sum(tempered)) > 1e-12 || j.BestIsFocus != (best != "Arts/Dance" && !slices.Contains(marking.Bad, best)) {
			t.Fatalf("%+v: %v", marking, j)
		}
	})
}
