package guides

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"testing"

	"forager/internal/classify/predicate"
	"forager/internal/crawl/crawlfile"
	"forager/internal/page/text"
	"forager/internal/platform/modelfile"
	"forager/internal/rank/guide"
	"forager/internal/rank/localguide"
	"forager/internal/rank/qvalue"
	"forager/internal/rank/shark"
	"forager/schemas"
)

func TestOpenKnowsEveryKind(t *testing.T) {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Write([]byte(`{"pages":[{"scores":[0.5,2]}]}`))
	}))
	defer service.Close()
	asking, err := predicate.ParseLinks("l.yaml", "url: "+service.URL+"\nsend: [anchor]")
	if err != nil {
		t.Fatal(err)
	}
	view := &guide.View{Page: &schemas.Page{Url: "http://h/", Links: []*schemas.Link{{Url: "http://h/a"}, {Url: "http://h/b"}}}}
	query, err := shark.Ask([]shark.Word{{Word: "cat", Weight: 1}}, text.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	fish, err := shark.NewFish(query, shark.DefaultFish)
	if err != nil {
		t.Fatal(err)
	}
	sharp, err := shark.NewShark(query, shark.Default)
	if err != nil {
		t.Fatal(err)
	}
	worth, err := qvalue.Train([]qvalue.Lesson{{Page: view.Page, Q: []float64{1, 0}}}, qvalue.Default)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{
		predicate.LinksKind: asking.Marshal(), shark.FishKind: fish.Marshal(), shark.SharkKind: sharp.Marshal(), qvalue.Kind: worth.Marshal(),
	}
	for _, kind := range localguide.Kinds {
		if files[string(kind)], err = os.ReadFile("../localguide/testdata/v1-" + string(kind) + ".guide"); err != nil {
			t.Fatal(err)
		}
	}
	for kind, file := range files {
		if modelfile.Kind(file) != kind {
			t.Errorf("a file of kind %s says %s", kind, modelfile.Kind(file))
		}
		g, err := Open(file, predicate.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(crawlfile.Guides, Ranker(g)) {
			t.Errorf("a guide of kind %s is the ranker %q, which no crawl file knows", kind, Ranker(g))
		}
		said, err := g.Guide(t.Context(), view)
		if err != nil || guide.Check(said, 2) != nil || len(said.GetScores()) == 0 {
			t.Errorf("%s: %v, %v", kind, said, err)
		}
		if g, err := Open(file[:len(file)-1], predicate.Options{}); g != nil || !errors.Is(err, modelfile.ErrDamaged) {
			t.Errorf("%s cut short: %v, %v", kind, g, err)
		}
	}
	for name, b := range map[string][]byte{"nothing": nil, "a critic": modelfile.Seal("critic", 1, nil), "text": []byte("hello, world")} {
		if g, err := Open(b, predicate.Options{}); g != nil || !errors.Is(err, modelfile.ErrForeign) {
			t.Errorf("%s was opened as %v: %v", name, g, err)
		}
	}
}
