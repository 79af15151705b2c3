package critic

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"forager/internal/platform/modelfile/modelfiletest"
)

// TestStoredFile decodes a file that was written once, with the first release of its format
// version. Stored files are never written again.
func TestStoredFile(t *testing.T) {
	for _, method := range Methods {
		t.Run(string(method), func(t *testing.T) { stored(t, method, "testdata/v2-"+string(method)+".model") })
	}
}

func stored(t *testing.T, method Method, path string) {
	all := []labelled{
		{"http://h/1", "Games/Chess", "chess mate in two"}, {"http://h/2", "Games/Chess", "a game of chess"}, {"http://h/3", "Games/Go", "a game of go"},
		{"http://h/4", "Games/Go", "go stones"}, {"http://h/5", "Games/Go/Ladders", "go ladders"}, {"http://h/6", "Home", "soups at home"},
		{"http://h/7", "Home", "home page"}, {"http://h/8", "Home", "a page"},
	}
	want, _ := train(t, all, Settings{Method: method, Minimum: 2, Cap: 2, Seed: 9, Provenance: map[string]string{"examples": "by hand"}})
	m, err := Unmarshal(modelfiletest.Stored(t, path, want.Marshal()))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.Settings(), m.Settings()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"Games/Chess", "Games/Go", "Home"}, m.Classes()); diff != "" {
		t.Error(diff)
	}
	if err := focusOn(m, []string{"Games/Go/Ladders"}); err == nil {
		t.Error("the pruned topic is forgotten")
	}
	// The posteriors in the file were written next to it, by the same program.
	got := make(map[string][]float64)
	for _, x := range append(all, labelled{"http://new/", "", "a chess game at home"}) {
		j, err := m.Judge(page(x.url, x.text), []string{"Games"})
		if err != nil {
			t.Fatal(err)
		}
		got[x.url] = []float64{j.Raw, j.Tempered, j.Calibrated, float64(j.KnownTokens)}
	}
	answers, err := json.MarshalIndent(got, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	var result map[string][]float64
	if err := json.Unmarshal(modelfiletest.Stored(t, path+".json", answers), &result); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(result, got, cmpopts.EquateApprox(0, 1e-12)); diff != "" {
		t.Error(diff)
	}
}
