package criticfile

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"forager/internal/classify/critic"
	"forager/internal/classify/httpmodel"
	"forager/internal/classify/pagerules"
	"forager/internal/classify/pulearning"
	"forager/internal/classify/taxonomy"
	"forager/internal/platform/modelfile"
	"forager/schemas"
)

func TestOpenEveryKind(t *testing.T) {
	var labelled critic.Examples
	var liked pulearning.Examples
	for i := range 10 {
		url, text := fmt.Sprintf("http://x.test/%d", i), fmt.Sprintf("words of page %d acid base salt", i%5)
		if err := labelled.AddText(url, []string{fmt.Sprint("topic", i%2)}, text); err != nil {
			t.Fatal(err)
		}
		liked.Liked = append(liked.Liked, pulearning.Read(url, text))
		liked.Background = append(liked.Background, pulearning.Read(url+"/b", text+" and others"))
	}
	bayes, _, err := critic.Train(t.Context(), &labelled, critic.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	like, _, err := pulearning.Train(t.Context(), "topic", &liked, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		file    []byte
		classes []string
	}{{bayes.Marshal(), bayes.Classes()}, {like.Marshal(), like.Classes()}} {
		j, err := Open(c.file, httpmodel.Options{})
		if err != nil || !slices.Equal(j.Classes(), c.classes) {
			t.Fatalf("%v, %v", j, err)
		}
		if j, err := Open(c.file[:len(c.file)-1], httpmodel.Options{}); j != nil || !errors.Is(err, modelfile.ErrDamaged) {
			t.Errorf("cut short: %v, %v", j, err)
		}
	}
	for name, b := range map[string][]byte{"nothing": nil, "another kind": modelfile.Seal("apprentice", 1, nil), "text": []byte("hello, world, and more of it, until there is enough of it for a line of 64")} {
		if j, err := Open(b, httpmodel.Options{}); j != nil || err == nil {
			t.Errorf("%s was opened as %v", name, j)
		}
	}
}

func ruled(t testing.TB, source string) []byte {
	t.Helper()
	r, err := pagerules.Parse("x.rules", source)
	if err != nil {
		t.Fatal(err)
	}
	return r.Marshal()
}

func asked(t testing.TB, source, fallback string) []byte {
	t.Helper()
	p, err := httpmodel.Parse("x.yaml", source, fallback)
	if err != nil {
		t.Fatal(err)
	}
	return p.Marshal()
}

// TestJudgesWithoutTraining: rules and services judge through the same interface.
func TestJudgesWithoutTraining(t *testing.T) {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Write([]byte(`{"pages":[{"probabilities":{"A/B":0.5,"A/C":0.25}}]}`))
	}))
	defer service.Close()
	page := &schemas.Page{Url: "http://h/u", Title: "Title", Description: "a d", Terms: []string{"b", "x"}, Tokens: []uint32{0, 1}}
	for _, c := range []struct {
		file      []byte
		classes   string
		best      string
		relevance float64
		urls      bool
	}{
		{ruled(t, "A/B: text has 'b'\nD: url has 'd'"), "A/B D Other", "A/B", 1, true},
		{ruled(t, "D: text has 'never'\nA/Other: title matches '^T' and description has 'd'"), "A D Other", "A", 1, false},
		{ruled(t, "A: url matches 'v$'\nD: url matches 'u$'"), "A D Other", "D", 0, true},
		{asked(t, "url: "+service.URL+"\ntopics: [A/B, A/C]\nfallback: x", "x/1"), "A/B A/C Other", "A/B", .75, true},
		{asked(t, "url: "+service.URL+"\ntopics: [A/B, A/C]\nsend: [text]", ""), "A/B A/C Other", "A/B", .75, false},
	} {
		by, err := Open(c.file, httpmodel.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(by.Classes(), " "); got != c.classes || ReadsURLs(by) != c.urls {
			t.Errorf("classes %s, want %s; reads URLs: %v", got, c.classes, ReadsURLs(by))
		}
		weights, err := critic.Weigh(by, taxonomy.Marking{Good: []string{"A"}})
		if err != nil {
			t.Fatal(err)
		}
		j, err := critic.Judge(t.Context(), by, page, weights)
		if err != nil || j.Topics[0].Topic != c.best || j.BestIsFocus != (c.relevance > 0) || j.Raw != c.relevance || j.Tempered != j.Raw || j.Calibrated != j.Raw {
			t.Errorf("%s: %v, %v", c.classes, j, err)
		}
		if j, err := Open(c.file[:len(c.file)-1], httpmodel.Options{}); j != nil || !errors.Is(err, modelfile.ErrDamaged) {
			t.Errorf("cut short: %v, %v", j, err)
		}
	}
}

// TestFailureOfAServiceIsAFailure: a caller of a classifier can distinguish the failure of a service.
func TestFailureOfAServiceIsAFailure(t *testing.T) {
	gone := httptest.NewServer(nil)
	gone.Close()
	for _, source := range []string{"patience: 0s", "patience: 1h", "fallback: x"} {
		by, err := Open(asked(t, "url: "+gone.URL+"\ntopics: [A]\n"+source, strings.TrimPrefix(source, "patience: 0s")), httpmodel.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if source == "patience: 1h" {
			by = by.(*httpmodel.Client).FailFast()
		}
		_, err = critic.Judge(t.Context(), by, &schemas.Page{Url: "http://new/"}, &taxonomy.Weights{Focus: []float64{1, 0}, Form: make([]bool, 2)})
		var f *httpmodel.Failure
		if !errors.As(err, &f) || f.Reason != httpmodel.Unreachable {
			t.Errorf("%s: error %v", source, err)
		}
	}
}
