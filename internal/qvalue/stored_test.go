package qvalue

import (
	"flag"
	"math"
	"os"
	"testing"

	"forager/internal/guide"
)

var update = flag.Bool("update", false, "write the stored file of a format version that has none yet")

// TestStoredFile decodes a file that was written once, with the first release of its format version. Stored
// files are never written again.
func TestStoredFile(t *testing.T) {
	const path = "testdata/v1.guide"
	m, err := Train(lessons(t), Default)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); os.IsNotExist(err) && *update {
		if err := os.WriteFile(path, m.Marshal(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	old, err := Unmarshal(b)
	if err != nil {
		t.Fatal(err)
	}
	v := &guide.View{Page: lessons(t)[0].Page}
	want, err := m.Guide(t.Context(), v)
	if err != nil {
		t.Fatal(err)
	}
	got, err := old.Guide(t.Context(), v)
	if err != nil {
		t.Fatal(err)
	}
	for i := range want.Scores {
		if math.Abs(got.Scores[i]-want.Scores[i]) > 1e-12 {
			t.Errorf("link %d scores %v, want %v", i, got.Scores[i], want.Scores[i])
		}
	}
}
