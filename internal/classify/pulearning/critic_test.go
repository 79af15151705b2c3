package pulearning

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"forager/internal/classify/critic"
	"forager/internal/classify/taxonomy"
	"forager/internal/page/dom"
	"forager/internal/platform/modelfile"
	"forager/schemas"
)

// prose is a page of some words, of a topic or of none.
func prose(random *rand.Rand, on bool) string {
	var b strings.Builder
	for range 40 {
		kind, n := "common", random.IntN(200)
		if random.IntN(3) > 0 {
			if kind = "else"; on {
				kind = "topic"
			}
			n = random.IntN(30)
		}
		fmt.Fprintf(&b, "%s%d ", kind, n)
	}
	return b.String()
}

func examples(seed uint64, liked, background int, share float64) *Examples {
	random := rand.New(rand.NewPCG(8, seed))
	e := new(Examples)
	for i := range liked {
		e.Liked = append(e.Liked, Read(fmt.Sprintf("http://liked.test/%d", i), prose(random, true)))
	}
	for i := range background {
		e.Background = append(e.Background, Read(fmt.Sprintf("http://met.test/%d", i), prose(random, float64(i) < share*float64(background))))
	}
	return e
}

func parsed(t testing.TB, url, text string) *schemas.Page {
	t.Helper()
	p, err := dom.Parse([]byte("<title>x</title><p>"+text), "text/html; charset=utf-8", url, dom.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestCriticJudgesPages(t *testing.T) {
	c, r, err := Train(t.Context(), "science/chemistry", examples(1, 10, 200, .2), map[string]string{"from": "a test"})
	if err != nil {
		t.Fatal(err)
	}
	// The slack of 10 positives is .52: this estimate is much closer. As it is lowered, so is the recall.
	if r.Liked != 10 || r.Background != 200 || r.Prior < .1 || r.Prior > .45 || r.Recall < .5 || r.Brier > r.Prior*(1-r.Prior)/1.5 {
		t.Errorf("report %+v", r)
	}
	for _, w := range r.For {
		if !strings.HasPrefix(w, "topic") {
			t.Errorf("%q is a word for the topic", w)
		}
	}
	weights, err := critic.Weigh(c, taxonomy.Marking{Good: []string{"science/chemistry"}})
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(9, 9))
	right := 0
	for i := range 200 {
		on := i%2 == 0
		page := parsed(t, fmt.Sprintf("http://new.test/%d", i), prose(random, on))
		j, err := critic.Judge(context.Background(), c, page, weights)
		if err != nil {
			t.Fatal(err)
		}
		if (j.GetRaw() > .5) == on && j.GetBestIsFocus() == on {
			right++
		}
		if j.GetCalibrated() != j.GetRaw() || j.GetKnownTokens() == 0 {
			t.Fatalf("judgement %v", j)
		}
	}
	if right < 180 {
		t.Errorf("%d of 200 pages judged rightly", right)
	}
	if _, err := critic.Weigh(c, taxonomy.Marking{Good: []string{"physics"}}); err == nil {
		t.Error("a topic that it does not know")
	}
}

func TestAPageOfTheExamplesIsJudgedByOthers(t *testing.T) {
	e := examples(2, 10, 100, .2)
	e.Wrong = examples(7, 6, 0, 0).Liked
	for i := range e.Wrong {
		e.Wrong[i].URL += "/wrong"
	}
	c, _, err := Train(t.Context(), "like", e, nil)
	if err != nil {
		t.Fatal(err)
	}
	o := critic.NewPrediction(2)
	different := 0
	for _, d := range slices.Concat(e.Liked, e.Background, e.Wrong) {
		if err := c.Predict(context.Background(), o, &schemas.Page{Url: d.URL}); err != nil {
			t.Fatal(err)
		}
		at := slices.Index(c.Classes(), "like")
		if o.Raw[at] != c.heldOut[d.URL] || o.Raw[at]+o.Raw[1-at] != 1 {
			t.Fatalf("%s: %g, held out %g", d.URL, o.Raw[at], c.heldOut[d.URL])
		}
		if o.Raw[at] != c.probability(&d) {
			different++
		}
	}
	if different < 100 || c.HeldOut() != 116 {
		t.Errorf("%d of %d pages are judged by a model that has not seen them", different, c.HeldOut())
	}
}

func TestTheSameExamplesGiveTheSameBytes(t *testing.T) {
	e := examples(3, 8, 60, .3)
	e.Background = append(e.Background, e.Liked[0]) // a liked page that the crawl has fetched
	first, _, err := Train(t.Context(), "like", e, nil)
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(e.Liked)
	slices.Reverse(e.Background)
	second, r, err := Train(t.Context(), "like", e, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first.Marshal(), second.Marshal()) {
		t.Error("the order of the examples changed the critic")
	}
	if r.Background != 60 {
		t.Errorf("%d pages of background: the like among them counts as like", r.Background)
	}
	e.Wrong = e.Liked[:1]
	if _, _, err := Train(t.Context(), "like", e, nil); err == nil || !strings.Contains(err.Error(), e.Liked[0].URL) {
		t.Errorf("a page that is right and wrong: %v", err)
	}
}

func TestTrainRefuses(t *testing.T) {
	whole := examples(4, 6, 30, .3)
	for topic, e := range map[string]*Examples{
		"": whole, "Other": whole, "a//b": whole,
		"few": {Liked: whole.Liked[:4], Background: whole.Background}, "nothing": {Liked: whole.Liked},
	} {
		if _, _, err := Train(t.Context(), topic, e, nil); err == nil {
			t.Errorf("topic %q was learnt from %d and %d pages", topic, len(e.Liked), len(e.Background))
		}
	}
}

func TestPagesAreUnitVectors(t *testing.T) {
	e := examples(9, 6, 40, .3)
	v := newVocabulary(e)
	for i, r := range v.rows(slices.Concat(e.Liked, e.Background)) {
		square := 0.
		for _, x := range r.Values {
			square += float64(x) * float64(x)
		}
		if math.Abs(square-1) > 1e-5 || !slices.IsSorted(r.Features) {
			t.Errorf("page %d has the length √%g", i, square)
		}
	}
}

func TestFileComesBack(t *testing.T) {
	e := examples(5, 6, 40, .3)
	for _, d := range slices.Concat(e.Liked, e.Background) {
		d.words["everywhere"] = 3 // a word without information
	}
	c, _, err := Train(t.Context(), "like", e, map[string]string{"b": "2", "a": "1"})
	if err != nil {
		t.Fatal(err)
	}
	data := c.Marshal()
	back, err := Unmarshal(data)
	if err != nil {
		t.Fatal(err)
	}
	d := Read("http://new.test/", "topic1 topic2 else7 common5")
	if !bytes.Equal(back.Marshal(), data) || back.probability(&d) != c.probability(&d) || back.Topic() != "like" || back.Provenance()["a"] != "1" {
		t.Error("another critic came back")
	}
	for at := range data {
		if _, err := Unmarshal(data[:at]); err == nil {
			t.Fatalf("cut at %d: no error", at)
		}
	}
}

// FuzzUnmarshal: with any content of an intact envelope, a critic that is read can judge, and is written again as
// the same bytes.
func FuzzUnmarshal(f *testing.F) {
	c := &Critic{
		topic: "like", provenance: map[string]string{"a": "1"}, heldOut: map[string]float64{"http://a.test/": .5},
		vocabulary: &vocabulary{words: []string{"else2", "topic1"}, weight: []float64{1, 2}},
		model:      &Model{Linear: Linear{Weights: []float64{-1, 3}, Bias: .1}, Curve: Curve{2, -1}, Prior: .2},
	}
	_, body, err := modelfile.Open(c.Marshal(), FileKind, fileVersion)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(body)
	f.Add(body[:len(body)/2])
	f.Fuzz(func(t *testing.T, body []byte) {
		c, err := Unmarshal(modelfile.Seal(FileKind, fileVersion, body))
		if err != nil {
			return
		}
		d := Read("http://new.test/", "topic1 else2")
		if p := c.probability(&d); !(p >= 0 && p <= 1) {
			t.Errorf("probability %g", p)
		}
		again, err := Unmarshal(c.Marshal())
		if err != nil || !bytes.Equal(again.Marshal(), c.Marshal()) {
			t.Errorf("what was read cannot be read again: %v", err)
		}
	})
}

// BenchmarkTrain trains on 10 liked pages and 1,000 of background, of 300 words each.
func BenchmarkTrain(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	e := new(Examples)
	for i := range 1010 {
		var text strings.Builder
		for range 300 {
			// Words as rare as in prose: rank r has a share of 1/r.
			fmt.Fprintf(&text, "w%d ", int(math.Exp(random.Float64()*math.Log(60_000))))
		}
		text.WriteString(prose(random, i < 10 || i%7 == 0))
		d := Read(fmt.Sprintf("http://x.test/%d", i), text.String())
		if i < 10 {
			e.Liked = append(e.Liked, d)
		} else {
			e.Background = append(e.Background, d)
		}
	}
	for b.Loop() {
		if _, _, err := Train(b.Context(), "like", e, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// probability returns the probability that a document is on topic, by a model that may have seen it.
func (c *Critic) probability(d *Document) float64 {
	row := c.vocabulary.rows([]Document{*d})[0]
	return c.model.Probability(c.model.Score(&row))
}
