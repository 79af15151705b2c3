package critic

import (
	"fmt"
	"github.com/cespare/xxhash/v2"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	"pgregory.net/rapid"

	"google.golang.org/protobuf/proto"

	"forager/internal/classify/taxonomy"
	"forager/internal/page/text"
	"forager/schemas"
)

// page makes a parsed page of a text, one leaf.
func page(url, s string) *schemas.Page {
	p := &schemas.Page{Url: url}
	for _, word := range text.Tokens(nil, s) {
		i := slices.Index(p.Terms, word)
		if i < 0 {
			i = len(p.Terms)
			p.Terms = append(p.Terms, word)
		}
		p.Tokens = append(p.Tokens, uint32(i))
	}
	p.LeafLengths = []uint32{uint32(len(p.Tokens))}
	return p
}

type labelled struct{ url, topic, text string }

// sentences makes n examples a topic, whose words lean towards those of the topic.
func sentences(n int, topics ...string) []labelled {
	r := rand.New(rand.NewPCG(1, 2))
	var all []labelled
	for _, topic := range topics {
		words := strings.Split(strings.ToLower(topic)+"/page/link/the/of", "/")
		for i := range n {
			var s strings.Builder
			for range 3 + r.IntN(30) {
				fmt.Fprint(&s, words[r.IntN(len(words))], " ")
			}
			all = append(all, labelled{fmt.Sprintf("http://h/%s/%d", topic, i), topic, s.String()})
		}
	}
	return all
}

func examples(t testing.TB, all []labelled) *Examples {
	t.Helper()
	return examplesBy(t, text.Settings{}, all)
}

// examplesBy is examples, whose words are cut by s.
func examplesBy(t testing.TB, s text.Settings, all []labelled) *Examples {
	t.Helper()
	e := NewExamples(s)
	for _, x := range all {
		if err := e.AddText(x.url, []string{x.topic}, x.text); err != nil {
			t.Fatal(err)
		}
	}
	return e
}

func train(t testing.TB, all []labelled, s Settings) (*Model, *Report) {
	t.Helper()
	m, r, err := Train(t.Context(), examples(t, all), s)
	if err != nil {
		t.Fatal(err)
	}
	return m, r
}

func TestJudgeTextIsJudge(t *testing.T) {
	m, _ := train(t, sentences(40, "A/B", "A/C", "D"), Settings{})
	r := rand.New(rand.NewPCG(5, 6))
	words := []string{"a", "b", "c", "d", "page", "link", "the", "of", "unknown", "The", "Ünder"}
	for range 200 {
		var s strings.Builder
		for range r.IntN(300) {
			s.WriteString(words[r.IntN(len(words))] + " ")
		}
		want, err := m.Judge(page("http://new/", s.String()), []string{"A/C"})
		if err != nil {
			t.Fatal(err)
		}
		got, err := m.JudgeText(s.String(), []string{"A/C"})
		if err != nil {
			t.Fatal(err)
		}
		if !proto.Equal(got, want) {
			t.Fatalf("%q: %v, as a page %v", s.String(), got, want)
		}
	}
	if _, err := m.JudgeText("a", []string{"nowhere"}); err == nil {
		t.Error("an unknown focus was taken")
	}
}

// TestPublishedExample is example 13.1 of Manning, Raghavan, Schütze.
func TestPublishedExample(t *testing.T) {
	m, _ := train(t, []labelled{
		{"http://h/1", "China", "Chinese Beijing Chinese"},
		{"http://h/2", "China", "Chinese, Chinese: Shanghai"},
		{"http://h/3", "China", "Chinese Macao"},
		{"http://h/4", "Japan", "Tokyo Japan Chinese"},
	}, Settings{})
	j, err := m.Judge(page("http://h/5", "Chinese Chinese Chinese Tokyo Japan Kyoto"), []string{"China"})
	if err != nil {
		t.Fatal(err)
	}
	china, japan := 3./4*math.Pow(3./7, 3)/14/14, 1./4*math.Pow(2./9, 5)
	want := china / (china + japan)
	if math.Abs(j.Raw-want) > 1e-12 || math.Abs(j.Tempered-want) > 1e-12 || j.KnownTokens != 5 || !j.BestIsFocus {
		t.Errorf("%v, want R = %v of 5 known words", j, want)
	}
	if len(j.Topics) != 2 || j.Topics[0].Topic != "China" || j.Topics[1].Topic != "Japan" || math.Abs(j.Topics[1].Tempered-(1-want)) > 1e-12 {
		t.Errorf("topics %v", j.Topics)
	}
}

func TestFocusIsTheSumBelow(t *testing.T) {
	m, _ := train(t, sentences(8, "Science/Chemistry", "Science/Physics", "Science", "Arts/Dance", "Sports"), Settings{Minimum: 4})
	if diff := cmp.Diff([]string{"Arts/Dance", "Science/Chemistry", "Science/Other", "Science/Physics", "Sports"}, m.Classes()); diff != "" {
		t.Fatal(diff)
	}
	p := page("http://new/", "the page of chemistry and science dance")
	raw, tempered, err := m.Posteriors(p)
	if err != nil {
		t.Fatal(err)
	}
	j, err := m.Judge(p, []string{"Science", "Sports"})
	if err != nil {
		t.Fatal(err)
	}
	if want := raw[1] + raw[2] + raw[3] + raw[4]; math.Abs(j.Raw-want) > 1e-15 {
		t.Errorf("raw %v, want %v", j.Raw, want)
	}
	if want := tempered[1] + tempered[2] + tempered[3] + tempered[4]; math.Abs(j.Tempered-want) > 1e-15 {
		t.Errorf("tempered %v, want %v", j.Tempered, want)
	}
	if !j.BestIsFocus || j.Topics[0].Topic != "Science/Chemistry" || len(j.Topics) != 5 {
		t.Errorf("best is focus: %v, topics %v", j.BestIsFocus, j.Topics)
	}
	if j, err = m.Judge(p, []string{"Sports"}); err != nil || j.BestIsFocus {
		t.Errorf("best is focus: %v, %v", j, err)
	}
	if _, err := m.Judge(p, []string{"Science", "Science/Physics"}); err == nil || focusOn(m, []string{"Science", "Science/Physics"}) == nil {
		t.Error("a focus topic below another: no error")
	}
}

func TestPrunedFocusNamesTheAncestor(t *testing.T) {
	all := slices.Concat(sentences(5, "Science/Chemistry", "Arts"), sentences(2, "Science/Chemistry/Acids"))
	m, r := train(t, all, Settings{Minimum: 4})
	for _, m := range []*Model{m, reread(t, m)} {
		if err := focusOn(m, []string{"Science/Chemistry/Acids"}); err == nil || !strings.Contains(err.Error(), `2 examples are fewer than the minimum, and topic "Science/Chemistry" took them`) {
			t.Errorf("error %v", err)
		}
	}
	if len(r.Pruned) != 1 || r.Pruned[0].Examples != 2 {
		t.Errorf("report: pruned: %v", r.Pruned)
	}
}

func TestNothingKnownGivesThePrior(t *testing.T) {
	m, _ := train(t, slices.Concat(sentences(6, "A"), sentences(2, "B")), Settings{})
	for _, p := range []*schemas.Page{{Url: "http://empty/"}, page("http://x/", "qwerty uiop"), nil} {
		j, err := m.Judge(p, []string{"B"})
		if err != nil || math.Abs(j.Raw-.25) > 1e-12 || math.Abs(j.Tempered-.25) > 1e-12 || j.KnownTokens != 0 || j.BestIsFocus {
			t.Errorf("%v: %v, %v", p, j, err)
		}
	}
}

func TestPageThatContradictsItself(t *testing.T) {
	m, _ := train(t, sentences(3, "A", "B"), Settings{})
	if _, err := m.Judge(&schemas.Page{Url: "http://bad/", Terms: []string{"a"}, Tokens: []uint32{0, 1}}, []string{"A"}); err == nil || !strings.Contains(err.Error(), "http://bad/") {
		t.Errorf("error %v", err)
	}
}

// TestTrainedPagesAreJudgedUnseen compares Judge on each training page with a critic that was
// trained, from the start, on the pages of the other folds.
func TestTrainedPagesAreJudgedUnseen(t *testing.T) {
	for _, method := range Methods {
		t.Run(string(method), func(t *testing.T) { judgedUnseen(t, Settings{Method: method, Features: 4}) })
	}
}

func judgedUnseen(t *testing.T, s Settings) {
	all := sentences(12, "A/B", "A/C", "D")
	m, r := train(t, all, s)
	right := 0
	var urls []string
	var classes []int
	for _, x := range all {
		urls, classes = append(urls, x.url), append(classes, slices.Index(m.Classes(), x.topic))
	}
	folds := FoldsOf(urls, classes)
	for fold := range Folds {
		var others []labelled
		for i, x := range all {
			if folds[i] != fold {
				others = append(others, x)
			}
		}
		without, _ := train(t, others, s)
		for i, x := range all {
			if folds[i] != fold {
				continue
			}
			p := page(x.url, x.text)
			want, err := without.Judge(p, []string{"A"})
			if err != nil {
				t.Fatal(err)
			}
			got, err := m.Judge(p, []string{"A"})
			if err != nil {
				t.Fatal(err)
			}
			if math.Abs(got.Raw-want.Raw) > 1e-11 || math.Abs(got.Tempered-want.Tempered) > 1e-11 || got.BestIsFocus != want.BestIsFocus {
				t.Errorf("%s: %v, unseen %v", x.url, got, want)
			}
			raw, _, err := without.Posteriors(p)
			if err != nil {
				t.Fatal(err)
			}
			if without.Classes()[top(raw, 1)[0]] == x.topic {
				right++
			}
		}
	}
	if m.HeldOut() != len(all) {
		t.Errorf("%d pages held out of %d", m.HeldOut(), len(all))
	}
	if want := float64(right) / float64(len(all)); math.Abs(r.Raw.Accuracy-want) > 1e-12 {
		t.Errorf("accuracy %v, want %v", r.Raw.Accuracy, want)
	}
}

func TestCanonicalURLOfAnExample(t *testing.T) {
	all := append(sentences(6, "A", "B"), labelled{"HTTP://H.example:80/x/../y#z", "A", "page of a"}, labelled{"ftp_//odd name", "B", "of b"})
	m, _ := train(t, all, Settings{})
	for _, url := range []string{"http://h.example/y", "ftp_//odd name"} {
		if !m.unseen.find(NewPrediction(len(m.classes)), url) {
			t.Errorf("%s is not known as trained", url)
		}
	}
}

func TestRepeatedURLAddsItsTopics(t *testing.T) {
	e := examples(t, sentences(3, "A", "B"))
	if err := e.AddText("http://h/A/0", []string{"B", "/A/"}, "another text"); err != nil {
		t.Fatal(err)
	}
	m, r, err := Train(t.Context(), e, Settings{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Examples != 7 || r.Repeated != 1 || r.Classes[0].Examples != 3 || r.Classes[1].Examples != 4 || m.HeldOut() != 6 {
		t.Errorf("report %+v", r)
	}
	if m.words.lookup(xxhash.Sum64String("another")) > 0 {
		t.Error("the second text was counted")
	}
}

func TestExactClasses(t *testing.T) {
	all := slices.Concat(sentences(2, "A"), sentences(1, "A/B", "C/Other"))
	m, r := train(t, all, Settings{Exact: true, Minimum: 300, Cap: 1})
	if diff := cmp.Diff([]string{"A", "A/B", "C/Other"}, m.Classes()); diff != "" {
		t.Error(diff)
	}
	if r.Classes[0].Examples != 1 || r.Classes[0].Cut != 1 {
		t.Errorf("report %+v", r.Classes)
	}
}

// TestReportCountsRightly gives every class a word of its own, so that all pages with a word are classified
// correctly.
func TestReportCountsRightly(t *testing.T) {
	var all []labelled
	for i := range 10 {
		all = append(all, labelled{fmt.Sprint("http://h/a", i), "A", "apple apple"}, labelled{fmt.Sprint("http://h/b", i), "B", "banana banana"})
	}
	all = append(all, labelled{"http://h/b", "B", "apple apple"})
	_, r := train(t, all, Settings{})
	if r.Words != 2 || r.Tokens != 42 || math.Abs(r.Raw.Accuracy-20./21) > 1e-12 {
		t.Errorf("report %+v", r)
	}
	a, b := r.Classes[0], r.Classes[1]
	if a.Recall != 1 || math.Abs(a.Precision-10./11) > 1e-12 || math.Abs(b.Recall-10./11) > 1e-12 || b.Precision != 1 {
		t.Errorf("classes %+v", r.Classes)
	}
}

func reread(t testing.TB, m *Model) *Model {
	t.Helper()
	again, err := Unmarshal(m.Marshal())
	if err != nil {
		t.Fatal(err)
	}
	return again
}

func TestFileKeepsEverything(t *testing.T) {
	for _, method := range Methods {
		t.Run(string(method), func(t *testing.T) { keepsEverything(t, method) })
	}
}

func keepsEverything(t *testing.T, method Method) {
	all := slices.Concat(sentences(7, "A/B", "A/C", "D", "E"), sentences(1, "A/C/F", "G"))
	s := Settings{Method: method, Features: 9, Minimum: 3, Cap: 6, Seed: 5, Provenance: map[string]string{"examples": "x.jsonl", "digest": "sha256:0"}}
	m, _ := train(t, all, s)
	again := reread(t, m)
	if string(again.Marshal()) != string(m.Marshal()) {
		t.Error("a second turn gives other bytes")
	}
	if diff := cmp.Diff(m.Settings(), again.Settings()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(m.Measured(), again.Measured()); diff != "" {
		t.Error(diff)
	}
	for _, x := range append(all, labelled{"http://new/", "", "of e and a page"}) {
		p := page(x.url, x.text)
		want, err := m.Judge(p, []string{"A"})
		if err != nil {
			t.Fatal(err)
		}
		got, err := again.Judge(p, []string{"A"})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
			t.Errorf("%s: %s", x.url, diff)
		}
	}
}

func TestOrderOfExamplesChangesNoByte(t *testing.T) {
	all := sentences(6, "A/B", "A/C", "D")
	s := Settings{Minimum: 2, Cap: 5, Seed: 1}
	m, _ := train(t, all, s)
	want := string(m.Marshal())
	rapid.Check(t, func(t *rapid.T) {
		e := new(Examples)
		for _, x := range rapid.Permutation(all).Draw(t, "order") {
			var err error
			if rapid.Bool().Draw(t, "as page") {
				err = e.AddPage(x.url, []string{x.topic}, page(x.url, x.text))
			} else {
				err = e.AddText(x.url, []string{x.topic}, x.text)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		m, _, err := Train(t.Context(), e, s)
		if err != nil {
			t.Fatal(err)
		}
		if string(m.Marshal()) != want {
			t.Fatal("other bytes")
		}
	})
}

func TestTrainRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		all      []labelled
		s        Settings
		expected string
	}{
		"one class":        {sentences(3, "A"), Settings{Exact: true}, "1 class is left"},
		"all pruned":       {sentences(3, "A", "B"), Settings{Minimum: 4}, "minimum of 4"},
		"negative minimum": {sentences(3, "A", "B"), Settings{Minimum: -1}, "minimum is -1"},
		"nothing":          {nil, Settings{}, "0 examples"},
	} {
		if _, _, err := Train(t.Context(), examples(t, c.all), c.s); err == nil || !strings.Contains(err.Error(), c.expected) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestJudgeFromManyGoroutines(t *testing.T) {
	all := sentences(5, "A", "B", "C")
	m, _ := train(t, all, Settings{})
	p := page("http://new/", "a page of a the link b")
	want, err := m.Judge(p, []string{"A"})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 200 {
				m.Judge(page("http://other/", all[i%len(all)].text), []string{"B"})
				if got, err := m.Judge(p, []string{"A"}); err != nil || got.Raw != want.Raw || got.Tempered != want.Tempered {
					t.Errorf("%v, %v, want %v", got, err, want)
					return
				}
			}
		})
	}
	wg.Wait()
}

func TestTop(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) float64 { return float64(rapid.IntRange(0, 4).Draw(t, "p")) / 4 }), 1, 12).Draw(t, "posteriors")
		want := make([]int, len(p))
		for k := range p {
			want[k] = k
		}
		slices.SortStableFunc(want, func(a, b int) int {
			switch {
			case p[a] > p[b]:
				return -1
			case p[a] < p[b]:
				return 1
			}
			return 0
		})
		if diff := cmp.Diff(want[:min(5, len(p))], top(p, 5)); diff != "" {
			t.Fatal(diff)
		}
	})
}

// focusOn reports whether a model can focus on these topics.
func focusOn(m *Model, names []string) error {
	_, err := Weigh(m, taxonomy.Marking{Good: names})
	return err
}
