//go:build webs

package critic

import (
	"strings"
	"testing"

	"forager/internal/testkit/frozen"
)

// schools reads the examples of the taxonomy; topic maps their topics to their class.
func schools(t testing.TB, topic func(topics []string) []string) *Examples {
	t.Helper()
	e := new(Examples)
	schoolsInto(t, e, topic)
	return e
}

func schoolsInto(t testing.TB, e *Examples, topic func(topics []string) []string) {
	t.Helper()
	for a := range frozen.Articles(t, "schools-wikipedia") {
		if err := e.AddText(a.URL, topic(a.Topics), a.Text); err != nil {
			t.Fatal(err)
		}
	}
}

// mainSubject is the first part of the first topic.
func mainSubject(topics []string) []string {
	subject, _, _ := strings.Cut(topics[0], "/")
	return []string{subject}
}

// TestWebsAccuracyOnSchools prints how well a critic distinguishes the 15 main subjects of an encyclopedia; a
// scikit-learn MultinomialNB over the same articles has 0.747.
func TestWebsAccuracyOnSchools(t *testing.T) {
	e := schools(t, mainSubject)
	for name, s := range map[string]Settings{"all examples": {Exact: true}, "at most 300 a class": {Exact: true, Cap: 300}} {
		m, r, err := Train(t.Context(), e, s)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d examples, %d classes, %d words, %d tokens, model of %d KiB", name, r.Examples, len(r.Classes), r.Words, r.Tokens, len(m.Marshal())>>10)
		t.Logf("raw %.3f, tempered %.3f, calibrated %.3f", r.Raw, r.Tempered, r.Calibrated)
		if len(r.Classes) != 15 || r.Raw.Accuracy < .7 {
			t.Errorf("%d classes, accuracy %.3f", len(r.Classes), r.Raw.Accuracy)
		}
	}
}

// TestWebsPrunedSchools trains as the paper does, with a smaller minimum.
func TestWebsPrunedSchools(t *testing.T) {
	m, r, err := Train(t.Context(), schools(t, func(topics []string) []string { return topics }), Settings{Minimum: 50, Cap: 300})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d classes, %d topics pruned, %d words: out-of-fold accuracy %.3f", len(r.Classes), len(r.Pruned), r.Words, r.Raw.Accuracy)
	for _, c := range r.Classes {
		t.Logf("%4d examples (%3d left out), recall %.2f, precision %.2f: %s", c.Examples, c.Cut, c.Recall, c.Precision, c.Name)
	}
	if err := focusOn(m, []string{"Science/Chemistry"}); err != nil {
		t.Error(err)
	}
}
