package critic

import (
	"strings"
	"testing"

	"forager/cmd/internal/crawls"
	"forager/internal/classify/critic"
)

// TestTrainingWarns: classes that are never recognised and a low accuracy cause warnings, with the next step.
func TestTrainingWarns(t *testing.T) {
	good := critic.ClassReport{Name: "A", Examples: 30, Recall: .9}
	bad := []critic.ClassReport{{Name: "B"}, {Name: "C"}, {Name: "D"}, {Name: "E"}, {Name: "F"}, {Name: "G"}}
	for name, c := range map[string]struct {
		r        critic.Report
		s        critic.Settings
		expected []string
	}{
		"good":         {critic.Report{Measured: critic.Measured{Calibrated: critic.Measures{Accuracy: .8}}, Classes: []critic.ClassReport{good}}, critic.Settings{}, nil},
		"lost classes": {critic.Report{Measured: critic.Measured{Calibrated: critic.Measures{Accuracy: .8}}, Classes: append(bad, good)}, critic.Settings{Minimum: 20}, []string{"6 of the 7 classes", "B, C, D, E, F and 1 more", "raise --minimum above 20", "--model logistic"}},
		"accuracy":     {critic.Report{Measured: critic.Measured{Calibrated: critic.Measures{Accuracy: .448}}, Classes: []critic.ClassReport{good}}, critic.Settings{Method: critic.Logistic}, []string{"55 % of the held-out pages", "next: give the small classes more examples"}},
	} {
		got := strings.Join(trainingWarnings(&c.r, c.s), "\n")
		if c.expected == nil && got != "" {
			t.Errorf("%s: %s", name, got)
		}
		for _, want := range c.expected {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %q is not in %q", name, want, got)
			}
		}
		if c.s.Method == critic.Logistic && strings.Contains(got, "--model logistic") {
			t.Errorf("%s: recommends the model in use: %q", name, got)
		}
	}
}

// TestHarvestNamesItsCritic: how a critic was made, and how it was validated.
func TestHarvestNamesItsCritic(t *testing.T) {
	for want, measures := range map[string]map[string]float64{
		"learned from 10 pages on topic":    {"liked": 10, "background": 150, "recall": .8},
		"accuracy 0.448 on examples":        {"accuracy": .448},
		"up to 95 % of the background may":  {"liked": 10, "background": 40, "recall": 1, "prior": .38, "prior_most": .95},
		"how often it is right was not mea": nil,
	} {
		if got := crawls.CriticOrigin("law/1", measures); !strings.Contains(got, want) || !strings.Contains(got, "law/1") {
			t.Errorf("%v: %q, want %q", measures, got, want)
		}
	}
}

// TestQuestionsAreSharedOut: by the sizes of the two parts, a quarter to each at least, and no more than they have.
func TestQuestionsAreSharedOut(t *testing.T) {
	for _, c := range [][5]int{{20, 50, 50, 10, 10}, {20, 99, 1, 19, 1}, {20, 900, 100, 15, 5}, {20, 3, 900, 3, 17}, {20, 4, 5, 4, 5}, {7, 0, 0, 0, 0}, {5, 0, 9, 0, 5}, {1, 5, 5, 0, 1}} {
		if a, b := shareOut(c[0], c[1], c[2]); a != c[3] || b != c[4] {
			t.Errorf("%d questions of %d and %d pages: %d and %d, want %d and %d", c[0], c[1], c[2], a, b, c[3], c[4])
		}
	}
}
