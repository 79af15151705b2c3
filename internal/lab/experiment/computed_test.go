package experiment

import (
	"slices"
	"strings"
	"testing"

	"forager/internal/lab/experiment/worldtest"
	"forager/internal/rank/linkfeature"
	"forager/schemas"
)

// TestComputedWebsAreCrawledAsStoredOnes runs the same crawls on a stored web and on one that makes the same pages on
// request.
func TestComputedWebsAreCrawledAsStoredOnes(t *testing.T) {
	w := worldtest.Random(3, 120)
	w.NotCounted = []string{}
	stored := env(t, w)
	c := &Computed{Labels: make(map[string]string), Redirects: make(map[string]string)}
	bodies := make(map[string]string)
	for _, a := range w.Answers {
		switch {
		case a.Location != "":
			c.Redirects[a.URL] = a.Location
		case stored.inScope[a.URL]:
			bodies[a.URL] = a.Body
			c.Labels[a.URL] = stored.web.labels[a.URL]
		}
	}
	c.Page = func(url string) ([]byte, string) { return []byte(bodies[url]), "text/html" }
	computed, err := NewComputedEnvironment(stored.task, c, stored.model, linkfeature.Settings{DMax: 5})
	if err != nil {
		t.Fatal(err)
	}
	for _, ranker := range []string{"unfocused", "soft-focus", "apprentice", "apprentice-taught", "random", "oracle-labels"} {
		a, b := try(t, stored, ranker, 0, 1), try(t, computed, ranker, 0, 1)
		if !slices.Equal(a.Steps, b.Steps) || a.EndReason != b.EndReason || a.Trained != b.Trained {
			t.Errorf("%s: %d and %d steps differ", ranker, len(a.Steps), len(b.Steps))
		}
		if m, n := stored.Measure(a), computed.Measure(b); m != n {
			t.Errorf("%s: %+v and %+v", ranker, m, n)
		}
	}
	for _, f := range variants {
		ranker := f.name
		if !f.kept {
			continue
		}
		if _, err := computed.Try(t.Context(), ranker, 0, 0, &schemas.Learning{}); err == nil || !strings.Contains(err.Error(), ranker) {
			t.Errorf("%s on a computed web: %v", ranker, err)
		}
	}
}
