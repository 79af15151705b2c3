package apprentice

import (
	"flag"
	"math"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"forager/schemas"
)

var update = flag.Bool("update", false, "write the stored file of a format version that has none yet")

// TestStoredFile decodes a file that was written once, with the first release of its format
// version. Stored files are never written again.
func TestStoredFile(t *testing.T) {
	const path = "testdata/v1.model"
	c := count(t,
		leap{features("chess", -1, 1, "home", 0, 2), 0},
		leap{features("home", 0, 1, "c:/games", schemas.NoOffset, 1), .25},
		leap{features("chess", -1, 2, "go", 0, 1), .75},
		leap{features("chess", 0, 1), 1},
	)
	want := c.Model()
	if _, err := os.Stat(path); os.IsNotExist(err) && *update {
		if err := os.WriteFile(path, c.Marshal(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	m, err := Unmarshal(b)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.Facts(), m.Facts()); diff != "" {
		t.Error(diff)
	}
	for _, f := range [][]*schemas.Feature{features("chess", -1, 1), features("go", 0, 1, "home", 0, 3), features("c:/games", schemas.NoOffset, 1)} {
		if got, want := m.Score(f), want.Score(f); math.Abs(got-want) > 1e-12 {
			t.Errorf("%v: %v, want %v", f, got, want)
		}
	}
}
