package crawls

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"forager/schemas"
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

func TestEndOfRedirects(t *testing.T) {
	to := func(u string) outcome {
		return outcome{Outcome: schemas.OutcomeName(schemas.Outcome_OUTCOME_REDIRECTED), Redirect: u}
	}
	answers := outcomes{"a": to("b"), "b": to("c"), "c": {Outcome: "delivered"}, "x": to("y"), "y": to("x"), "lost": to("nowhere")}
	for from, want := range map[string]string{"a": "c delivered", "c": "c delivered", "x": "bad-redirect", "lost": "nowhere refused"} {
		if at, a := answers.End(from); !strings.HasSuffix(at+" "+a.Outcome, want) {
			t.Errorf("%s ends at %s %s, want %s (of %v)", from, at, a.Outcome, want, slices.Sorted(maps.Keys(answers)))
		}
	}
}
