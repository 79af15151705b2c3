package crawls

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"forager/schemas"
)

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
