package operate

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestPortions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOf(rapid.StringN(0, 6, 6)).Draw(t, "list")
		most := rapid.IntRange(0, 12).Draw(t, "most")
		runs := portions(list, most)
		if !slices.Equal(slices.Concat(runs...), list) || len(runs) == 0 {
			t.Fatalf("%q", runs)
		}
		for i, run := range runs {
			if len(strings.Join(run, "")) > most && len(run) > 1 || len(run) == 0 && len(list) > 0 {
				t.Fatalf("run %d is %q", i, run)
			}
		}
	})
}
