package sharksearch

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"forager/internal/classify/critic"
	"forager/internal/lab/comparators/pagetest"
	"forager/internal/page/dom"
	"forager/internal/page/text"
	"forager/internal/rank/guide"
	"forager/schemas"
)

func parse(t testing.TB, body string) *schemas.Page {
	t.Helper()
	p, err := dom.Parse([]byte(body), "text/html; charset=utf-8", "http://h.test/", dom.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// pets is a query of norm 5.
func pets() *Query {
	return ask([]critic.QueryTerm{{Word: "cat", LogOdds: 3}, {Word: "dog", LogOdds: 4}}, text.Settings{})
}

func float(v float64) []byte { return binary.LittleEndian.AppendUint64(nil, math.Float64bits(v)) }

func close(a, b float64) bool { return math.Abs(a-b) < 1e-12 }

func TestSimilarityByHand(t *testing.T) {
	q := pets()
	damp := func(n float64) float64 { return 1 + math.Log(n) }
	for name, c := range map[string]struct {
		counts map[string]uint32
		want   float64
	}{
		"nothing":       {nil, 0},
		"another word":  {map[string]uint32{"cow": 3}, 0},
		"one word":      {map[string]uint32{"cat": 1}, 3. / 5},
		"often":         {map[string]uint32{"cat": 9}, 3. / 5},
		"both":          {map[string]uint32{"cat": 1, "dog": 1}, 7 / (5 * math.Sqrt2)},
		"as asked":      {map[string]uint32{"cat": 1, "cow": 1}, 3 / (5 * math.Sqrt2)},
		"among others":  {map[string]uint32{"dog": 2, "the": 4, "a": 1}, 4 * damp(2) / (5 * math.Sqrt(damp(2)*damp(2)+damp(4)*damp(4)+1))},
		"counted not 0": {map[string]uint32{"dog": 1, "a": 0}, 4. / 5},
	} {
		if got := q.Similarity(c.counts); !close(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	if n := q.Has(map[string]uint32{"cat": 2, "dog": 0, "cow": 1}); n != 1 {
		t.Errorf("it has %d words", n)
	}
}

// TestSharkByHand follows the formulas of 1998 on a page of three links.
func TestSharkByHand(t *testing.T) {
	shark := NewShark(pets())
	shark.Reach = 1
	// Leaves: "dog", "cow" (a link), "the", "cat" (a link), "an", "ox" (a link), "x".
	on := parse(t, "<p>dog<p><a href=/1>cow</a><p>the<p><a href=/2>cat</a><p>an<p><a href=/3>ox</a><p>x")
	off := parse(t, "<p>a<p><a href=/1>cow</a>")
	sim := 7 / (5 * math.Sqrt(7)) // seven words, once each
	for name, c := range map[string]struct {
		page      *schemas.Page
		state     []byte
		inherited float64
		near      []float64 // β·anchor + (1−β)·context of each link
	}{
		"a relevant seed":        {on, nil, sim / 2, []float64{.2 * 4 / (5 * math.Sqrt2), .8*3/5 + .2, 0}},
		"what it inherited":      {on, float(.9), sim / 2, []float64{.2 * 4 / (5 * math.Sqrt2), .8*3/5 + .2, 0}},
		"an irrelevant seed":     {off, nil, 0, []float64{0}},
		"it passes on a half":    {off, float(.9), .45, []float64{0}},
		"and a half of the half": {off, float(.45), .225, []float64{0}},
	} {
		g, err := shark.Guide(t.Context(), &guide.View{Page: c.page, State: c.state})
		if err != nil {
			t.Fatal(err)
		}
		if err := guide.Check(g, len(c.page.Links)); err != nil {
			t.Fatal(err)
		}
		for i, near := range c.near {
			if score, _ := guide.Score(g, i); !close(score, .5*c.inherited+.5*near) {
				t.Errorf("%s: link %d scores %v, want %v", name, i, score, .5*c.inherited+.5*near)
			}
			if got, err := inherited(guide.State(g, i)); err != nil || !close(got, c.inherited) {
				t.Errorf("%s: link %d hands on %v (%v), want %v", name, i, got, err, c.inherited)
			}
		}
	}
}

// TestFishByHand follows the algorithm of 1994 along paths.
func TestFishByHand(t *testing.T) {
	links := strings.Repeat("<p>", 1)
	for _, n := range []string{"1", "2", "3", "4"} {
		links += "<a href=/" + n + ">x</a>"
	}
	relevant, other := parse(t, "<p>a cat and a dog"+links), parse(t, "<p>a cat and a cow"+links)
	for name, c := range map[string]struct {
		least  int
		page   *schemas.Page
		state  []byte
		scores []float64
		depth  byte
	}{
		"a relevant seed":       {2, relevant, nil, []float64{1, 1, 1, 1}, 3},
		"one word is enough":    {1, other, nil, []float64{1, 1, 1, 1}, 3},
		"more than the query":   {9, relevant, nil, []float64{1, 1, 1, 1}, 3},
		"another seed":          {2, other, nil, []float64{.5, .5, .5, .5}, 2},
		"the first step away":   {2, other, []byte{3}, []float64{.5, .5, .5, .5}, 2},
		"the last step":         {2, other, []byte{1}, []float64{.5, .5, .5, .5}, 0},
		"food at the last step": {2, relevant, []byte{1}, []float64{1, 1, 1, 1}, 3},
		"starved":               {2, relevant, []byte{0}, []float64{-1, -1, -1, -1}, 0},
	} {
		fish := &Fish{pets(), 3, c.least}
		g, err := fish.Guide(t.Context(), &guide.View{Page: c.page, State: c.state})
		if err != nil {
			t.Fatal(err)
		}
		if err := guide.Check(g, len(c.page.Links)); err != nil {
			t.Fatal(err)
		}
		for i, want := range c.scores {
			if score, ok := guide.Score(g, i); !ok || score != want {
				t.Errorf("%s: link %d scores %v, want %v", name, i, score, want)
			}
			if state := guide.State(g, i); !bytes.Equal(state, []byte{c.depth}) {
				t.Errorf("%s: link %d has the state %x, want depth %d", name, i, state, c.depth)
			}
		}
	}
}

func TestForeignStatesAreRefused(t *testing.T) {
	fish, shark := NewFish(pets()), NewShark(pets())
	page := parse(t, "<a href=/1>cow</a>")
	for _, c := range []struct {
		by    guide.Guide
		state []byte
	}{
		{fish, []byte{}}, {fish, []byte{4}}, {fish, []byte{1, 1}}, {fish, float(1)},
		{shark, []byte{}}, {shark, []byte{1}}, {shark, float(-.1)}, {shark, float(1.1)}, {shark, float(math.NaN())}, {shark, float(math.Inf(1))},
	} {
		if g, err := c.by.Guide(t.Context(), &guide.View{Page: page, State: c.state}); err == nil {
			t.Errorf("%T takes the state %x: %v", c.by, c.state, g)
		}
		if c.by.ReadsURLs() {
			t.Errorf("%T reads URLs", c.by)
		}
	}
	torn := &schemas.Page{Url: "http://h/", Tokens: []uint32{7}, LeafLengths: []uint32{1}, Links: page.Links}
	for _, by := range []guide.Guide{fish, shark} {
		if _, err := by.Guide(t.Context(), &guide.View{Page: torn}); err == nil || !strings.Contains(err.Error(), "http://h/") {
			t.Errorf("%T reads a page that contradicts itself: %v", by, err)
		}
	}
}

// guides draws one of each kind.
func guides(t *rapid.T) (*Fish, *Shark) {
	var words []critic.QueryTerm
	for _, w := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"cat", "dog", "cow", "a", "世", ""}), 1, 5, rapid.ID).Draw(t, "words") {
		words = append(words, critic.QueryTerm{Word: w, LogOdds: rapid.Float64Range(1e-9, 1e9).Draw(t, "weight")})
	}
	share := rapid.Float64Range(0, 1)
	q := ask(words, text.Settings{StopWords: rapid.Bool().Draw(t, "stop"), Bigrams: rapid.Bool().Draw(t, "bigrams")})
	return &Fish{q, rapid.IntRange(1, 255).Draw(t, "depth"), rapid.IntRange(1, 6).Draw(t, "least")},
		&Shark{q, share.Draw(t, "decay"), share.Draw(t, "inherited"), share.Draw(t, "anchor"), rapid.IntRange(0, 9).Draw(t, "reach")}
}

// TestPathsGoOn: scores are finite and in their range, and a guide accepts its own states, step by step.
func TestPathsGoOn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fish, shark := guides(t)
		for _, by := range []guide.Guide{fish, shark} {
			var state []byte
			for range rapid.IntRange(1, 6).Draw(t, "steps") {
				p := pagetest.Page(t, 0, "cat", "dog", "cow", "a", "世", "the")
				g, err := by.Guide(t.Context(), &guide.View{Page: p, State: state})
				if err != nil {
					t.Fatal(err)
				}
				if err := guide.Check(g, len(p.Links)); err != nil {
					t.Fatal(err)
				}
				for i, s := range g.GetScores() {
					if s < -1 || s > 1 {
						t.Errorf("link %d scores %v", i, s)
					}
				}
				state = guide.State(g, max(0, len(p.Links)-1))
			}
		}
	})
}

// TestQueryOfACritic: the words are the critic's, and texts are cut as the critic cuts them.
func TestQueryOfACritic(t *testing.T) {
	e := critic.NewExamples(text.Settings{Numbers: text.NumbersDropped})
	for i, s := range []string{"cat dog cat 1", "cat cow 2", "cow grass 3", "grass cow the 4"} {
		if err := e.AddText("http://h/"+s, []string{[]string{"pets", "farm"}[i/2]}, s); err != nil {
			t.Fatal(err)
		}
	}
	m, _, err := critic.Train(t.Context(), e, critic.Settings{Exact: true})
	if err != nil {
		t.Fatal(err)
	}
	q, err := NewQuery(m, []string{"pets"})
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for _, w := range q.words {
		words = append(words, w.Word)
	}
	if !slices.Equal(words, []string{"cat", "dog"}) || q.cut.Numbers != text.NumbersDropped {
		t.Errorf("%v, cut by %v", q.words, q.cut)
	}
	if _, err := NewQuery(m, []string{"wolves"}); err == nil {
		t.Error("a focus that is none")
	}
}
