package critic

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"forager/internal/classify/critic"
)

// TestCriticIsChosen: the finest classes that can be distinguished, and the best method on them; flags take precedence.
func TestCriticIsChosen(t *testing.T) {
	random := rand.New(rand.NewPCG(14, 3))
	var e critic.Examples
	// Pages of A and of B differ in their words, those of the six parts of A do not.
	for i := range 200 {
		topic, word := "B", "b"
		if i%4 != 0 {
			topic, word = fmt.Sprintf("A/%d", i%6), "a"
		}
		var page strings.Builder
		for range 30 {
			fmt.Fprintf(&page, "%s%d common%d ", word, random.IntN(40), random.IntN(300))
		}
		if err := e.AddText(fmt.Sprintf("http://examples.test/%d", i), []string{topic}, page.String()); err != nil {
			t.Fatal(err)
		}
	}
	twenty := 20
	for name, c := range map[string]struct {
		flags   learnFlags
		minimum int
		method  critic.Method
		notes   []string
	}{
		"nothing":          {learnFlags{Model: unset}, 40, "", []string{"--minimum 40", "--model "}},
		"the model":        {learnFlags{Model: critic.BayesTree}, 40, critic.BayesTree, []string{"--minimum 40"}},
		"the minimum":      {learnFlags{Model: unset, Minimum: &twenty}, 20, "", []string{"--model "}},
		"model and number": {learnFlags{Model: critic.Bayes, Minimum: &twenty}, 20, critic.Bayes, nil},
	} {
		got, err := c.flags.choose(t.Context(), &e, c.flags.tries(), false)
		if err != nil {
			t.Fatal(err)
		}
		if got.Minimum != c.minimum || c.method != "" && got.Method != c.method || len(got.notes) != len(c.notes) {
			t.Errorf("%s named: minimum %d, model %s, %q", name, got.Minimum, got.Method, got.notes)
			continue
		}
		for i, want := range c.notes {
			if !strings.HasPrefix(got.notes[i], want) {
				t.Errorf("%s named: %q, want %q", name, got.notes[i], want)
			}
		}
		if distinguished := distinguishes(got.report); distinguished != (c.minimum > 20) {
			t.Errorf("%s named: %+v", name, got.report)
		}
		if c.method != "" {
			continue
		}
		for _, method := range []critic.Method{critic.Bayes, critic.Logistic} {
			s := got.Settings
			s.Method = method
			if _, r, err := critic.Train(t.Context(), &e, s); err != nil || r.Calibrated.LogLoss < got.report.Calibrated.LogLoss {
				t.Errorf("%s named: %s was chosen, with a log loss of %.3f; %s has %.3f, %v", name, got.Method, got.report.Calibrated.LogLoss, method, r.Calibrated.LogLoss, err)
			}
		}
	}
}
