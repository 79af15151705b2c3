//go:build webs

package critic

import (
	"testing"

	"forager/internal/measure/evaluate"
	"forager/internal/page/text"
)

// learners are the methods that are compared: the tree with all words, and with those it chooses.
var learners = []Settings{{Method: Bayes}, {Method: BayesTree}, {Method: BayesTree, Features: 30_000}, {Method: Logistic}}

// TestWebsMainSubjects compares each method with scikit-learn on the same articles by five folds: MultinomialNB
// has an accuracy of .747, log loss 8.40 and ECE .253; TF-IDF with logistic regression by gradient descent .846,
// .485 and .054.
func TestWebsMainSubjects(t *testing.T) {
	e := schools(t, mainSubject)
	for _, s := range learners {
		s.Exact = true
		_, r, err := Train(t.Context(), e, s)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%d classes, %s of %d words: %.3f", len(r.Classes), s.Method, s.Features, r.Measured)
		if r.Calibrated.ECE > .03 || r.Calibrated.LogLoss > min(r.Raw.LogLoss, r.Tempered.LogLoss) {
			t.Errorf("%s: calibrated %v", s.Method, r.Calibrated)
		}
		switch s.Method {
		case Bayes:
			if r.Raw.Accuracy < .747-.02 {
				t.Errorf("%s: %v", s.Method, r.Raw)
			}
		case Logistic:
			if r.Calibrated.Accuracy < .846 || r.Calibrated.LogLoss > .485 || r.Raw.LogLoss > .485 {
				t.Errorf("%s: %v", s.Method, r.Measured)
			}
		}
	}
}

// TestWebsTaxonomy judges the methods over the leaf classes that pruning leaves of the articles, k = 300
// as in the paper and k = 60.
func TestWebsTaxonomy(t *testing.T) {
	e := schools(t, func(topics []string) []string { return topics })
	for _, minimum := range []int{300, 60} {
		for _, s := range learners {
			s.Minimum, s.Cap = minimum, 300
			_, r, err := Train(t.Context(), e, s)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("k = %d, %d classes, %s of %d words: %.3f", minimum, len(r.Classes), s.Method, s.Features, r.Measured)
			if r.Calibrated.ECE > .03 || r.Calibrated.LogLoss > min(r.Raw.LogLoss, r.Tempered.LogLoss) {
				t.Errorf("%s: calibrated %v", s.Method, r.Calibrated)
			}
		}
	}
}

// TestWebsUniversities judges the methods by page types of universities that they have not seen.
func TestWebsUniversities(t *testing.T) {
	pages := universities(t)
	for _, s := range learners {
		s.Exact = true
		_, judged := heldOutUniversities(t, pages, text.Settings{}, s)
		t.Logf("%s of %d words: %s", s.Method, s.Features, scores(judged))
		if m := evaluate.Measure(judged, evaluate.Calibrated); m.Accuracy < .5 {
			t.Errorf("%s: %.3f", s.Method, m.Accuracy)
		}
	}
}
