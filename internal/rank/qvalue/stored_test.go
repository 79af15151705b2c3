package qvalue

import (
	"testing"

	"forager/internal/platform/modelfile/modelfiletest"
	"forager/internal/rank/guide"
	"forager/internal/rank/guide/guidetest"
)

// TestStoredFile decodes a file that was written once, with the first release of its format version. Stored
// files are never written again.
func TestStoredFile(t *testing.T) {
	m, err := Train(lessons(t), Default)
	if err != nil {
		t.Fatal(err)
	}
	old, err := Unmarshal(modelfiletest.Stored(t, "testdata/v1.guide", m.Marshal()))
	if err != nil {
		t.Fatal(err)
	}
	guidetest.Same(t, old, m, &guide.View{Page: lessons(t)[0].Page})
}
