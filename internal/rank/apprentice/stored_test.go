package apprentice

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"forager/internal/platform/modelfile/modelfiletest"
	"forager/schemas"
)

// TestStoredFiles decodes files that were written once, with the first release of each format
// version. Stored files are never written again.
func TestStoredFiles(t *testing.T) {
	stored(t, "testdata/v1.model", NewCounts())
	stored(t, "testdata/logistic-v1.model", newLogistic(defaultProximal))
	for path, l := range map[string]*schemas.Learning{
		"testdata/v3.model":          {Count: schemas.Counting_COUNTING_NORMALISED, Smooth: 2},
		"testdata/logistic-v3.model": {Count: schemas.Counting_COUNTING_BINARY, Learner: schemas.Learner_LEARNER_LOGISTIC},
	} {
		s, err := SettingsOf(l)
		if err != nil {
			t.Fatal(err)
		}
		stored(t, path, New(s))
	}
}

func stored(t *testing.T, path string, c Learner) {
	learnt(t, c,
		leap{features("chess", -1, 1, "home", 0, 2), 0},
		leap{features("home", 0, 1, "c:/games", schemas.NoOffset, 1), .25},
		leap{features("chess", -1, 2, "go", 0, 1), .75},
		leap{features("chess", 0, 1), 1},
	)
	want := c.Model()
	m, err := Unmarshal(modelfiletest.Stored(t, path, c.Marshal()))
	if err != nil {
		t.Fatal(err)
	}
	if m.settings != c.Settings() {
		t.Errorf("%s: learnt by %v, want %v", path, m.settings, c.Settings())
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
