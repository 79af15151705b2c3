package critic

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"forager/schemas"
)

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-7*(1+math.Abs(a)+math.Abs(b)) }

// TestExplain computes the decrease of the log-odds without each term, by judging the page without it.
func TestExplain(t *testing.T) {
	all := sentences(60, "A/B", "A/C", "D", "E")
	for _, method := range Methods {
		m, _ := train(t, all, Settings{Method: method})
		prose := "b b c page link the d a unseen"
		for _, focus := range [][]string{{"A/B"}, {"A"}, {"A/B", "D"}} {
			x, err := m.Explain(page("http://new/", prose), focus)
			if err != nil {
				t.Fatal(err)
			}
			odds := func(prose string) float64 {
				j, err := m.JudgeText(prose, focus)
				if err != nil {
					t.Fatal(err)
				}
				if long, err := m.JudgeText(strings.Repeat(prose+" ", 500), focus); err != nil || math.Abs(long.GetLogOdds()) > schemas.MostLogOdds || method == Bayes && prose != "" && math.Abs(long.GetLogOdds()) < 40 {
					t.Errorf("%s, %v: a long text has the log-odds %v (%v)", method, focus, long.GetLogOdds(), err)
				}
				if want := math.Log(j.Raw / (1 - j.Raw)); !near(j.GetLogOdds(), want) {
					t.Errorf("%s, %v: a judgement has the log-odds %v, want %v", method, focus, j.GetLogOdds(), want)
				}
				return j.GetLogOdds()
			}
			whole := odds(prose)
			if !near(x.LogOdds, whole) || !near(x.Prior, odds("")) || x.Tokens != 9 || x.HeldOut {
				t.Errorf("%s, %v: log-odds %v and %v of %d tokens, judged %v and %v", method, focus, x.LogOdds, x.Prior, x.Tokens, whole, odds(""))
			}
			duel := func(prose string) float64 { // of the focus and the rival
				raw, _, err := m.Posteriors(page("http://new/", prose))
				if err != nil {
					t.Fatal(err)
				}
				var of, rival float64
				for k, class := range m.Classes() {
					if slices.ContainsFunc(focus, func(f string) bool { return class == f || strings.HasPrefix(class, f+"/") }) {
						of += raw[k]
					} else if class == x.Rival {
						rival = raw[k]
					}
				}
				return math.Log(of / rival)
			}
			for i, term := range x.Terms {
				without := strings.Join(slices.DeleteFunc(strings.Fields(prose), func(w string) bool { return w == term.Word }), " ")
				if !near(term.Focus, whole-odds(without)) {
					t.Errorf("%s, %v: %q counts %v, without it is %v less", method, focus, term.Word, term.Focus, whole-odds(without))
				}
				if want := duel(prose) - duel(without); !near(term.Rival, want) {
					t.Errorf("%s, %v: %q counts %v against %s, without it is %v less", method, focus, term.Word, term.Rival, x.Rival, want)
				}
				if i > 0 && math.Abs(term.Focus) > math.Abs(x.Terms[i-1].Focus) {
					t.Errorf("%s: %q follows a weaker word", method, term.Word)
				}
			}
			if len(x.Terms) != 7 {
				t.Errorf("%s: %d terms, the model has 7 words", method, len(x.Terms))
			}
			if len(x.Classes) != 4 || x.Rival == "" || slices.Contains(focus, x.Rival) {
				t.Errorf("%s: classes %v, rival %q", method, x.Classes, x.Rival)
			}
			for _, c := range x.Classes {
				if want := math.Log(c.Raw / (1 - c.Raw)); !near(c.LogOdds, want) {
					t.Errorf("%s: %s has log-odds %v, raw %v", method, c.Name, c.LogOdds, c.Raw)
				}
			}
			if (len(x.Nodes) > 0) != (method == BayesTree) {
				t.Errorf("%s: %d nodes", method, len(x.Nodes))
			}
		}
	}
}

func TestExplainDecisionsMultiply(t *testing.T) {
	m, _ := train(t, sentences(60, "A/B", "A/C", "D"), Settings{Method: BayesTree})
	x, err := m.Explain(page("http://new/", "b b c d page"), []string{"A/B"})
	if err != nil {
		t.Fatal(err)
	}
	chance := func(node, child string) float64 {
		for _, d := range x.Nodes {
			for _, c := range d.Children {
				if d.Node == node && c.Name == child {
					return c.Raw
				}
			}
		}
		t.Fatalf("no %q below %q in %+v", child, node, x.Nodes)
		return 0
	}
	if got := chance("", "A") * chance("A", "A/B"); !near(got, x.Judgement.Raw) {
		t.Errorf("the nodes make %v, it is %v", got, x.Judgement.Raw)
	}
	if c := x.Nodes[0].Children; len(x.Nodes) != 2 || len(c) != 2 || !c[0].Focus || c[1].Focus {
		t.Errorf("%+v", x.Nodes)
	}
}

func TestExplainHeldOut(t *testing.T) {
	all := sentences(40, "A", "B")
	m, _ := train(t, all, Settings{})
	p := page(all[0].url, all[0].text)
	x, err := m.Explain(p, []string{"A"})
	if err != nil {
		t.Fatal(err)
	}
	j, err := m.Judge(p, []string{"A"})
	if err != nil || !x.HeldOut || x.Judgement.Raw != j.Raw {
		t.Errorf("held out %v, raw %v, judged %v, %v", x.HeldOut, x.Judgement.Raw, j, err)
	}
	if _, err := m.Explain(p, []string{"C"}); err == nil || !strings.Contains(err.Error(), `"C"`) {
		t.Error(err)
	}
	if _, err := m.Explain(&schemas.Page{Url: "http://h/", Tokens: []uint32{1}}, []string{"A"}); err == nil {
		t.Error("a page that contradicts itself is explained")
	}
}

// TestExplainManyWords: in a page with more words than are left out one by one, the strongest are found.
func TestExplainManyWords(t *testing.T) {
	var a strings.Builder
	for i := range mostOccluded + 500 {
		a.WriteString(" x" + strings.Repeat("y", i%7) + string(rune('a'+i%26)) + strings.Repeat("z", i/182))
	}
	m, _ := train(t, []labelled{{"http://h/1", "A", a.String() + strings.Repeat(" strong", 50)}, {"http://h/2", "B", a.String() + " weak"}}, Settings{Exact: true})
	x, err := m.Explain(page("http://new/", a.String()+" strong"), []string{"A"})
	if err != nil {
		t.Fatal(err)
	}
	if len(x.Terms) != mostOccluded || x.Terms[0].Word != "strong" {
		t.Errorf("%d terms, the first is %+v", len(x.Terms), x.Terms[0])
	}
}

func TestDecidingWords(t *testing.T) {
	e := examples(t, sentences(60, "A", "B", "C"))
	for _, method := range Methods {
		m, r, held, err := Validate(t.Context(), e, Settings{Method: method})
		if err != nil {
			t.Fatal(err)
		}
		if len(held) != e.Len() || len(r.Classes) != 3 {
			t.Fatalf("%d of %d examples held out, %d classes", len(held), e.Len(), len(r.Classes))
		}
		words, err := m.DecidingWords(e, held, 2)
		if err != nil {
			t.Fatal(err)
		}
		for k, name := range []string{"a", "b", "c"} {
			w := words[k]
			if w.Topic != strings.ToUpper(name) || len(w.For) == 0 || len(w.For) > 2 || w.For[0].Word != name || w.For[0].LogOdds <= 0 || w.For[0].Share < .5 {
				t.Errorf("%s: words of %s are %+v", method, name, w)
			}
			if len(w.Against) == 0 || w.Against[0].LogOdds >= 0 || w.Against[0].Word == name {
				t.Errorf("%s: words against %s are %+v", method, name, w.Against)
			}
		}
	}
}

// TestValidateIsTrain: the same model and report, and predictions that agree with its measures.
func TestValidateIsTrain(t *testing.T) {
	e := examples(t, sentences(30, "A", "B/C", "B/D"))
	for _, method := range Methods {
		_, r, held, err := Validate(t.Context(), e, Settings{Method: method})
		if err != nil {
			t.Fatal(err)
		}
		_, want, err := Train(t.Context(), e, Settings{Method: method})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, r); diff != "" {
			t.Errorf("%s: %s", method, diff)
		}
		var loss [3]float64
		for _, h := range held {
			for i, p := range [][]float64{h.Raw, h.Tempered, h.Calibrated} {
				loss[i] -= math.Log(max(p[h.Classes[0]], leastLikely)) / float64(len(held))
			}
		}
		for i, want := range []Measures{r.Raw, r.Tempered, r.Calibrated} {
			if !near(loss[i], want.LogLoss) {
				t.Errorf("%s: log loss %d is %v, reported %v", method, i, loss[i], want.LogLoss)
			}
		}
	}
}
