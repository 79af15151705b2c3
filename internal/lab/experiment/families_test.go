package experiment

import (
	"strings"
	"testing"

	"forager/internal/lab/experiment/worldtest"
	"forager/schemas"
)

// TestFamiliesThatReadURLsAreRefusedWhereLabelsFollowFromThem: by rankers that learn; others do not read them.
func TestFamiliesThatReadURLsAreRefusedWhereLabelsFollowFromThem(t *testing.T) {
	g := env(t, worldtest.Random(47, 80))
	urls := &schemas.Learning{DMax: 2, Features: []schemas.FeatureFamily{
		schemas.FeatureFamily_FEATURE_FAMILY_ANCHOR, schemas.FeatureFamily_FEATURE_FAMILY_URL_TOKENS,
	}}
	c, err := g.Try(t.Context(), "apprentice", 0, 0, urls)
	if err != nil {
		t.Fatal(err)
	}
	read := false
	for _, f := range c.Learnt.Strongest(0, 0) {
		read = read || strings.HasPrefix(f.Term, "url:")
	}
	if !read {
		t.Error("the apprentice has learnt nothing of URLs")
	}
	g.task.LabelsFromURL = true
	for _, ranker := range []string{"apprentice", "apprentice-gated", "apprentice-topics", "mixture"} {
		if _, err := g.Try(t.Context(), ranker, 0, 0, urls); err == nil || !strings.Contains(err.Error(), "labels of task tiny:good follow from URLs, and features anchor+url-tokens") {
			t.Errorf("%s: %v", ranker, err)
		}
	}
	if _, err := g.Try(t.Context(), Baseline, 0, 0, urls); err != nil {
		t.Errorf("soft focus reads no features: %v", err)
	}
	urls.Features = urls.Features[:1]
	if _, err := g.Try(t.Context(), "apprentice", 0, 0, urls); err != nil {
		t.Error(err)
	}
}

// TestALearnerOfItsOwn: logistic regression gives the same crawl twice, and another one than naive Bayes learns from.
func TestALearnerOfItsOwn(t *testing.T) {
	g := env(t, worldtest.Random(48, 120))
	by := &schemas.Learning{DMax: 3, SwitchPages: 20, RefitPages: 5, Learner: schemas.Learner_LEARNER_LOGISTIC, Active: .1}
	one, err := g.Try(t.Context(), "apprentice", 0, 0, by)
	if err != nil {
		t.Fatal(err)
	}
	two, err := g.Try(t.Context(), "apprentice", 0, 0, by)
	if err != nil {
		t.Fatal(err)
	}
	if string(one.Learnt.Marshal()) != string(two.Learnt.Marshal()) || one.Learnt.Settings().Learner != schemas.Learner_LEARNER_LOGISTIC {
		t.Errorf("learnt by %v, twice something else", one.Learnt.Settings())
	}
	if one.Trained == 0 || one.Steps[len(one.Steps)-1].Model == "" {
		t.Error("it never ranked by a model")
	}
	taught, err := g.Try(t.Context(), "apprentice-taught", 0, 0, by)
	if err != nil || taught.Steps[0].Model == "" {
		t.Errorf("a prior of its own is not used: %v", err)
	}
}
