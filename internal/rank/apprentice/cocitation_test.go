package apprentice

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"forager/internal/rank/linkfeature"
	"forager/schemas"
)

// TestCocitationIsCutAsTargetsAre: a model of what R(w) was is the model that would have been learnt had each
// been called low or high by the cut of that model.
func TestCocitationIsCutAsTargetsAre(t *testing.T) {
	families, err := linkfeature.FamiliesNamed([]string{"offsets", "co-citation"})
	if err != nil {
		t.Fatal(err)
	}
	for _, learner := range []schemas.Learner{schemas.Learner_LEARNER_BAYES, schemas.Learner_LEARNER_LOGISTIC} {
		s, err := SettingsOf(&schemas.Learning{Learner: learner, Features: families.List()})
		if err != nil {
			t.Fatal(err)
		}
		t.Run(s.String(), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				leaps := rapid.SliceOfN(genLeap, 1, 12).Draw(t, "leaps")
				got, words := New(s), s
				words.Families = linkfeature.Offsets
				learnt(t, got, leaps...)
				m := got.Model()
				cut := int(m.Facts().Cut * 256)
				want := New(words)
				if err := want.SetCut(m.Facts().Cut); err != nil {
					t.Fatal(err)
				}
				judged := func(l leap) leap { return leap{linkfeature.Judged(l.features, cut), l.r} }
				for _, l := range leaps {
					learnt(t, want, judged(l))
				}
				m2 := want.Model()
				if m.Facts() != m2.Facts() {
					t.Fatalf("%+v, want %+v", m.Facts(), m2.Facts())
				}
				for _, l := range append(leaps, genLeap.Draw(t, "link")) {
					if x, y := m.Score(l.features), m2.Score(judged(l).features); x != y {
						t.Fatalf("score %v, want %v", x, y)
					}
				}
				if x, y := got.Strongest(0, 0), want.Strongest(0, 0); !slices.Equal(x, y) {
					t.Fatalf("strongest %v, want %v", x, y)
				}
				again, err := OpenFor(got.Marshal(), s)
				if err != nil || again.Model().Facts() != m.Facts() {
					t.Fatalf("stored and read it is another: %v", err)
				}
			})
		})
	}
}
