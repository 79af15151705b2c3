package shark

import (
	"bytes"
	"flag"
	"os"
	"testing"

	"forager/internal/guide"
)

var update = flag.Bool("update", false, "write the stored file of a format version that has none yet")

// TestStoredFiles decodes files that were written once, with the first release of each format version. Stored
// files are never written again.
func TestStoredFiles(t *testing.T) {
	fish, err := NewFish(pets(t), FishSettings{Depth: 4, Width: 5, Least: 1})
	if err != nil {
		t.Fatal(err)
	}
	shark, err := NewShark(pets(t), Settings{Decay: .25, Inherited: .5, Anchor: .75, Reach: 3})
	if err != nil {
		t.Fatal(err)
	}
	page := parse(t, "<p>dog<p><a href=/1>cow</a><p>the<p><a href=/2>cat</a>")
	stored(t, "testdata/v1-"+FishKind+".guide", fish, fish.Marshal(), func(b []byte) (guide.Guide, error) { return UnmarshalFish(b) }, &guide.View{Page: page, State: []byte{2}})
	stored(t, "testdata/v1-"+SharkKind+".guide", shark, shark.Marshal(), func(b []byte) (guide.Guide, error) { return UnmarshalShark(b) }, &guide.View{Page: page, State: float(.5)})
}

func stored(t *testing.T, path string, by guide.Guide, file []byte, read func([]byte) (guide.Guide, error), v *guide.View) {
	t.Helper()
	if _, err := os.Stat(path); os.IsNotExist(err) && *update {
		if err := os.WriteFile(path, file, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	old, err := read(b)
	if err != nil {
		t.Fatal(err)
	}
	want, err := by.Guide(t.Context(), v)
	if err != nil {
		t.Fatal(err)
	}
	got, err := old.Guide(t.Context(), v)
	if err != nil {
		t.Fatal(err)
	}
	for i := range v.Page.Links {
		a, _ := guide.Score(got, i)
		b, _ := guide.Score(want, i)
		if !close(a, b) || !bytes.Equal(guide.State(got, i), guide.State(want, i)) {
			t.Errorf("%s: link %d scores %v, want %v", path, i, a, b)
		}
	}
}
