package shark

import (
	"testing"

	"forager/internal/platform/modelfile/modelfiletest"
	"forager/internal/rank/guide"
	"forager/internal/rank/guide/guidetest"
)

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
	oldFish, err := UnmarshalFish(modelfiletest.Stored(t, "testdata/v1-"+FishKind+".guide", fish.Marshal()))
	if err != nil {
		t.Fatal(err)
	}
	oldShark, err := UnmarshalShark(modelfiletest.Stored(t, "testdata/v1-"+SharkKind+".guide", shark.Marshal()))
	if err != nil {
		t.Fatal(err)
	}
	guidetest.Same(t, oldFish, fish, &guide.View{Page: page, State: []byte{2}})
	guidetest.Same(t, oldShark, shark, &guide.View{Page: page, State: float(.5)})
}
