package main

import (
	"strings"
	"testing"

	"forager/internal/critic"
)

// TestTrainingWarns: classes that are never recognised and a low accuracy are warned of, with the next step.
func TestTrainingWarns(t *testing.T) {
	good := critic.ClassReport{Name: "A", Examples: 30, Recall: .9}
	bad := []critic.ClassReport{{Name: "B"}, {Name: "C"}, {Name: "D"}, {Name: "E"}, {Name: "F"}, {Name: "G"}}
	for name, c := range map[string]struct {
		r    critic.Report
		s    critic.Settings
		says []string
	}{
		"good":         {critic.Report{Accuracy: .8, Classes: []critic.ClassReport{good}}, critic.Settings{}, nil},
		"lost classes": {critic.Report{Accuracy: .8, Classes: append(bad, good)}, critic.Settings{Minimum: 20}, []string{"6 of the 7 classes", "B, C, D, E, F and 1 more", "raise --minimum above 20", "--model logistic"}},
		"accuracy":     {critic.Report{Accuracy: .448, Classes: []critic.ClassReport{good}}, critic.Settings{Method: critic.Logistic}, []string{"55 % of the held-out pages", "next: give the small classes more examples"}},
	} {
		got := strings.Join(trainingWarnings(&c.r, c.s), "\n")
		if c.says == nil && got != "" {
			t.Errorf("%s: %s", name, got)
		}
		for _, want := range c.says {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %q is not in %q", name, want, got)
			}
		}
		if c.s.Method == critic.Logistic && strings.Contains(got, "--model logistic") {
			t.Errorf("%s: recommends the model in use: %q", name, got)
		}
	}
}

// TestHarvestNamesItsCritic: how a critic was made, and how far it was checked.
func TestHarvestNamesItsCritic(t *testing.T) {
	for want, measures := range map[string]map[string]float64{
		"learned from 10 pages on topic":    {"liked": 10, "background": 150, "recall": .8},
		"accuracy 0.448 on examples":        {"accuracy": .448},
		"how often it is right was not mea": nil,
	} {
		if got := criticOrigin("law/1", measures); !strings.Contains(got, want) || !strings.Contains(got, "law/1") {
			t.Errorf("%v: %q, want %q", measures, got, want)
		}
	}
}
