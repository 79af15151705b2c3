package guidefile

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"forager/internal/classify/httpmodel"
	"forager/internal/crawl/crawlfile"
	"forager/internal/platform/modelfile"
	"forager/internal/rank/guide"
	"forager/internal/rank/pageguide"
	"forager/schemas"
)

func TestOpenEveryKind(t *testing.T) {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Write([]byte(`{"pages":[{"scores":[0.5,2]}]}`))
	}))
	defer service.Close()
	asking, err := httpmodel.ParseLinks("l.yaml", "url: "+service.URL+"\nsend: [anchor]")
	if err != nil {
		t.Fatal(err)
	}
	view := &guide.View{Page: &schemas.Page{Url: "http://h/", Links: []*schemas.Link{{Url: "http://h/a"}, {Url: "http://h/b"}}}}
	files := map[string][]byte{httpmodel.LinksKind: asking.Marshal()}
	for _, kind := range pageguide.Kinds {
		if files[string(kind)], err = os.ReadFile("../pageguide/testdata/v1-" + string(kind) + ".guide"); err != nil {
			t.Fatal(err)
		}
	}
	for kind, file := range files {
		if modelfile.Kind(file) != kind {
			t.Errorf("a file of kind %s has %s", kind, modelfile.Kind(file))
		}
		g, err := Open(file, httpmodel.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(crawlfile.Guides, Ranker(g)) {
			t.Errorf("a guide of kind %s is the ranker %q, which crawl files do not accept", kind, Ranker(g))
		}
		result, err := g.Guide(t.Context(), view)
		if err != nil || guide.Check(result, 2) != nil || len(result.GetScores()) == 0 {
			t.Errorf("%s: %v, %v", kind, result, err)
		}
		if g, err := Open(file[:len(file)-1], httpmodel.Options{}); g != nil || !errors.Is(err, modelfile.ErrDamaged) {
			t.Errorf("%s cut short: %v, %v", kind, g, err)
		}
	}
	for name, b := range map[string][]byte{"nothing": nil, "a critic": modelfile.Seal("critic", 1, nil), "text": []byte("hello, world")} {
		if g, err := Open(b, httpmodel.Options{}); g != nil || !errors.Is(err, modelfile.ErrForeign) {
			t.Errorf("%s was opened as %v: %v", name, g, err)
		}
	}
}

func TestComparatorsAreRefused(t *testing.T) {
	for _, kind := range []string{"fish-search", "shark-search", "q-value"} {
		g, err := Open(modelfile.Seal(kind, 1, nil), httpmodel.Options{})
		if g != nil || !errors.Is(err, modelfile.ErrForeign) || !strings.Contains(err.Error(), "forager-lab experiment") {
			t.Errorf("%s: %v, %v", kind, g, err)
		}
	}
}
