package apprentice

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"forager/internal/classify/bayes"
	"forager/internal/platform/modelfile"
	"forager/internal/rank/linkfeature"
	"forager/schemas"
)

type leap struct {
	features []*schemas.Feature
	r        float64
}

func features(f ...any) []*schemas.Feature {
	var all []*schemas.Feature
	for i := 0; i < len(f); i += 3 {
		all = append(all, &schemas.Feature{Term: f[i].(string), Offset: int32(f[i+1].(int)), Count: uint32(f[i+2].(int))})
	}
	return all
}

func count(t interface{ Fatal(...any) }, leaps ...leap) *Counts {
	c := NewCounts()
	learnt(t, c, leaps...)
	return c
}

func learnt(t interface{ Fatal(...any) }, l Learner, leaps ...leap) {
	for _, x := range leaps {
		if err := l.Add(x.features, x.r); err != nil {
			t.Fatal(err)
		}
	}
}

// TestByHand computes the formula by hand: R = 0, .25, .75, 1, so the median is .5.
// low: {chess −1: 1, home 0: 2}, {home 0: 1}; high: {chess −1: 2, go 0: 1}, {chess 0: 1}; |T| = 4.
func TestByHand(t *testing.T) {
	c := count(t,
		leap{features("chess", -1, 1, "home", 0, 2), 0},
		leap{features("home", 0, 1), .25},
		leap{features("chess", -1, 2, "go", 0, 1), .75},
		leap{features("chess", 0, 1), 1},
	)
	m := c.Model()
	want := Facts{Leaps: 4, Low: 2, High: 2, Features: 4, Cut: .5, MedianLow: (.5/256 + 64.5/256) / 2, MedianHigh: (192.5/256 + 1) / 2}
	// Middle bins 64 and 192: their mean is 128, a cut of .5.
	if diff := cmp.Diff(want, m.Facts()); diff != "" {
		t.Error(diff)
	}
	for _, x := range []struct {
		features []*schemas.Feature
		low, hi  float64
	}{
		{nil, 1, 1},
		{features("chess", -1, 1), 2. / 8, 3. / 8},
		{features("chess", 0, 1), 1. / 8, 2. / 8},
		{features("home", 0, 2), 4. / 8 * 4 / 8, 1. / 8 * 1 / 8},
		{features("chess", -1, 1, "chess", 1, 9, "go", 0, 1, "unknown", 0, 5), 2. / 8 * 1 / 8, 3. / 8 * 2 / 8},
		{features("chess", -2, 1, "chess", 2, 1, "go", -100, 1, "go", schemas.NoOffset, 1), 1, 1},
	} {
		if got, want := m.Score(x.features), x.hi/(x.hi+x.low); math.Abs(got-want) > 1e-10 {
			t.Errorf("%v: %v, want %v", x.features, got, want)
		}
	}
	if got, want := m.Value(.25), .75*want.MedianLow+.25*want.MedianHigh; got != want {
		t.Errorf("value %v, want %v", got, want)
	}
}

func TestNothingLearnt(t *testing.T) {
	c := NewCounts()
	m := c.Model()
	again, err := Unmarshal(c.Marshal())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []*Model{m, again} {
		if m.Trained() || m.Score(features("a", 0, 1)) != .5 || m.Score(nil) != .5 {
			t.Errorf("trained %v, score %v", m.Trained(), m.Score(features("a", 0, 1)))
		}
		if diff := cmp.Diff(Facts{MedianHigh: 1}, m.Facts()); diff != "" {
			t.Error(diff)
		}
	}
	// The cut waits for the first leap.
	learnt(t, c, leap{features("a", 0, 1), .5})
	if m := c.Model(); !m.Trained() || m.Facts().Cut != .5 {
		t.Errorf("facts %+v", m.Facts())
	}
}

func TestOneSidedTraining(t *testing.T) {
	m := count(t, leap{features("a", 0, 1), 0}, leap{features("a", 0, 1), 0}).Model()
	if f := m.Facts(); f.Cut != 26./256 || f.High != 0 || f.MedianHigh != 1 || f.MedianLow != .5/256 {
		t.Errorf("facts %+v", f)
	}
	// Pr(high) = 1/4 a priori; θ(high) = 1/1, θ(low) = 3/3.
	if got := m.Score(features("a", 0, 1)); math.Abs(got-.25) > 1e-10 {
		t.Errorf("score %v, want 1/4", got)
	}
}

func TestCutIsTheClippedMedian(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rs := rapid.SliceOfN(rapid.OneOf(rapid.Float64Range(0, 1), rapid.SampledFrom([]float64{0, 1e-12, .1, .5, 1})), 1, 30).Draw(t, "R")
		c := NewCounts()
		for _, r := range rs {
			learnt(t, c, leap{nil, r})
		}
		m := c.Model()
		sort.Float64s(rs)
		median := (rs[(len(rs)-1)/2] + rs[len(rs)/2]) / 2
		f := m.Facts()
		if f.Cut < .1 || f.Cut > .9 || f.Cut*256 != math.Trunc(f.Cut*256) {
			t.Fatalf("cut %v", f.Cut)
		}
		if want := min(max(median, .1), .9); math.Abs(f.Cut-want) > 1.5/256 {
			t.Fatalf("cut %v, median %v", f.Cut, median)
		}
		var low, high []float64
		for _, r := range rs {
			if r >= f.Cut {
				high = append(high, r)
			} else {
				low = append(low, r)
			}
		}
		if int(f.Low) != len(low) || int(f.High) != len(high) {
			t.Fatalf("%d low and %d high, want %d and %d", f.Low, f.High, len(low), len(high))
		}
		for _, x := range []struct {
			name string
			r    []float64
			got  float64
		}{{"low", low, f.MedianLow}, {"high", high, f.MedianHigh}} {
			if n := len(x.r); n > 0 && math.Abs(x.got-(x.r[(n-1)/2]+x.r[n/2])/2) > 1./256 {
				t.Fatalf("median of %s is %v, leaps %v", x.name, x.got, x.r)
			}
		}
	})
}

// genLeap draws leaps with co-citation features among theirs, which learners of other families take for words.
var genLeap = rapid.Custom(func(t *rapid.T) leap {
	l := leap{r: rapid.OneOf(rapid.Float64Range(0, 1), rapid.SampledFrom([]float64{0, .1, .5, 1})).Draw(t, "R")}
	type key struct {
		term   string
		offset int
	}
	seen := make(map[key]bool)
	for range rapid.IntRange(0, 8).Draw(t, "features") {
		k := key{rapid.SampledFrom([]string{"a", "b", "c", "d", "c:/x", "w:000", "w:128", "w:256", "internationalization", "internationalizations"}).Draw(t, "term"), rapid.IntRange(-3, 3).Draw(t, "offset")}
		if k.term == "c:/x" {
			k.offset = schemas.NoOffset
		}
		if !seen[k] {
			seen[k] = true
			l.features = append(l.features, features(k.term, k.offset, rapid.IntRange(1, 3).Draw(t, "count"))...)
		}
	}
	slices.SortFunc(l.features, func(a, b *schemas.Feature) int {
		return 2*strings.Compare(a.Term, b.Term) + int(math.Copysign(1, float64(a.Offset-b.Offset)))
	})
	return l
})

// TestIncrementalIsFromScratch: with the cut of the first model, whatever the batches and their
// order within them, the same bytes and the same scores.
func TestIncrementalIsFromScratch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first := rapid.SliceOfN(genLeap, 1, 10).Draw(t, "first training set")
		rest := rapid.SliceOfN(genLeap, 0, 20).Draw(t, "the rest")
		all := count(t, first...)
		all.Model()
		learnt(t, all, rest...)

		c := count(t, rapid.Permutation(first).Draw(t, "order of the first")...)
		c.Model()
		for _, l := range rapid.Permutation(rest).Draw(t, "order of the rest") {
			learnt(t, c, l)
			switch rapid.IntRange(0, 3).Draw(t, "then") {
			case 0:
				c.Model() // a model in between
			case 1:
				var err error
				if c, err = UnmarshalCounts(c.Marshal()); err != nil {
					t.Fatal(err)
				}
			}
		}
		if string(c.Marshal()) != string(all.Marshal()) {
			t.Fatal("other bytes")
		}
		a, b := all.Model(), c.Model()
		again, err := Unmarshal(c.Marshal())
		if err != nil {
			t.Fatal(err)
		}
		for range 5 {
			l := genLeap.Draw(t, "link")
			if x, y, z := a.Score(l.features), b.Score(l.features), again.Score(l.features); x != y || x != z {
				t.Fatalf("scores %v, %v, %v", x, y, z)
			}
		}
	})
}

func TestLaterLeapsDoNotChangeAModel(t *testing.T) {
	c := count(t, leap{features("a", 0, 1), 1}, leap{features("b", 0, 1), 0})
	m := c.Model()
	before := m.Score(features("a", 0, 1, "z", 0, 1))
	learnt(t, c, leap{features("a", 0, 1, "z", 0, 4), 0}, leap{features("a", -5, 1), 0})
	if after := m.Score(features("a", 0, 1, "z", 0, 1)); after != before {
		t.Errorf("score was %v, is %v", before, after)
	}
	if c.Model().Score(features("a", 0, 1)) >= before {
		t.Error("a new model has learnt nothing")
	}
}

// TestScoreIsNaiveBayes compares with package bayes on the same features.
func TestScoreIsNaiveBayes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		leaps := rapid.SliceOfN(genLeap, 1, 20).Draw(t, "leaps")
		c := count(t, leaps...)
		m := c.Model()
		number := make(map[string]uint32)
		bag := func(features []*schemas.Feature) *bayes.Bag {
			b := new(bayes.Bag)
			for _, f := range features {
				k := fmt.Sprint(f.Term, f.Offset)
				if _, ok := number[k]; !ok {
					number[k] = uint32(len(number))
				}
				b.Features, b.Counts = append(b.Features, number[k]), append(b.Counts, f.Count)
			}
			return b
		}
		classes := make([][]*bayes.Bag, 2)
		for _, l := range leaps {
			k := 0
			if l.r >= m.Facts().Cut {
				k = 1
			}
			classes[k] = append(classes[k], bag(l.features))
		}
		counts, err := bayes.Count(len(number), classes)
		if err != nil {
			t.Fatal(err)
		}
		vocabulary, model := 0, counts.Model()
		for _, f := range number {
			if model.Known(f) {
				vocabulary++
			}
		}
		if vocabulary != m.Facts().Features {
			t.Fatalf("|T| = %d, want %d", m.Facts().Features, vocabulary)
		}
		for range 5 {
			l := genLeap.Draw(t, "link")
			p := make([]float64, 2)
			counts.Model().LogLikelihood(p, bag(l.features))
			odds := p[1] - p[0] + math.Log(float64(len(classes[1])+1)/float64(len(classes[0])+1))
			if got, want := m.Score(l.features), 1/(1+math.Exp(-odds)); math.Abs(got-want) > 1e-9 {
				t.Fatalf("score %v, want %v", got, want)
			}
		}
	})
}

// TestPageScoresAsFeaturesDo compares, to the bit, the scorer of a page's links with features
// made one by one.
func TestPageScoresAsFeaturesDo(t *testing.T) {
	for _, names := range []string{"offsets", "near-text", "offsets+near-text+anchor", "offsets+co-citation", "offsets+far", "near-text+far+rel", "anchor+position+same-site+url-ngrams+url-tokens+rel"} {
		for _, learner := range []schemas.Learner{schemas.Learner_LEARNER_BAYES, schemas.Learner_LEARNER_LOGISTIC} {
			families, err := linkfeature.FamiliesNamed(strings.Split(names, "+"))
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range everyCounting(t, &schemas.Learning{Learner: learner, Features: families.List()}) {
				t.Run(s.String(), func(t *testing.T) { pageScoresAsFeaturesDo(t, s) })
			}
		}
	}
}

func pageScoresAsFeaturesDo(t *testing.T, s Settings) {
	r := rand.New(rand.NewPCG(7, 7))
	words := strings.Fields("a b c d e f g h i j")
	p := &schemas.Page{Url: "http://h/", Terms: words}
	for i := range uint32(60) {
		n := uint32(r.IntN(5))
		p.LeafLengths = append(p.LeafLengths, n)
		for range n {
			p.Tokens = append(p.Tokens, uint32(r.IntN(len(words))))
		}
		if i%4 == 0 {
			p.Links = append(p.Links, &schemas.Link{
				Url: fmt.Sprintf("http://h/a%d/b%d", r.IntN(9), r.IntN(9)), FirstLeaf: i, LastLeaf: i + uint32(r.IntN(3)), Position: i,
			})
		}
	}
	j := &schemas.Judgement{Topics: []*schemas.TopicScore{{Topic: "A/B"}}, Posteriors: []*schemas.TopicScore{{Topic: "A/B", Tempered: .61}, {Topic: "A/C", Tempered: .27}}}
	for _, topics := range []schemas.TopicFeatures{schemas.TopicFeatures_TOPIC_FEATURES_TOP2, schemas.TopicFeatures_TOPIC_FEATURES_ALL} {
		pageScores(t, s, p, j, topics)
	}
}

func pageScores(t *testing.T, s Settings, p *schemas.Page, j *schemas.Judgement, topics schemas.TopicFeatures) {
	const dMax = 4
	table, links, _, err := linkfeature.Extract(p, j, linkfeature.Settings{DMax: dMax, Topics: topics, Families: s.Families})
	if err != nil {
		t.Fatal(err)
	}
	open, err := linkfeature.Open(table)
	if err != nil {
		t.Fatal(err)
	}
	c := New(s)
	for i, l := range links[:9] {
		learnt(t, c, leap{open.FeaturesOf(l, dMax, s.Families), float64(i%2) * .9})
	}
	siblings := []linkfeature.Sibling{{First: 9, Last: 11, Relevance: .2}, {First: 20, Last: 21, Relevance: .9}, {First: 33, Last: 33, Relevance: .4}}
	nearby := func(l *schemas.Link) []*schemas.Feature {
		if !s.Families.Cocitation() {
			return nil
		}
		return linkfeature.Cocited(l, siblings, dMax)
	}
	for i, l := range links[9:] {
		learnt(t, c, leap{linkfeature.Merge(open.FeaturesOf(l, dMax, s.Families), nearby(l)), float64(i%3) * .4})
	}
	c.FixCut()
	m, err := Unmarshal(c.Marshal())
	if err != nil {
		t.Fatal(err)
	}
	var page Page
	page.Turn(m, open, dMax)
	distinct := make(map[float64]bool)
	for _, l := range links {
		want := m.Score(linkfeature.Merge(open.FeaturesOf(l, dMax, s.Families), nearby(l)))
		distinct[want] = true
		if got := page.ScoreWith(l, nearby(l)); got != want {
			t.Errorf("leaf %d: %v, want %v", l.FirstLeaf, got, want)
		}
	}
	if len(distinct) < 9 {
		t.Errorf("%d distinct scores of %d links", len(distinct), len(links))
	}
	if n := testing.AllocsPerRun(50, func() { page.Score(links[3]) }); n != 0 && page.byToken() {
		t.Errorf("scoring a link allocates %v times", n)
	}
}

func TestAddRefuses(t *testing.T) {
	c := count(t, leap{features("a", 0, 1), .5})
	before := string(c.Marshal())
	for name, l := range map[string]leap{
		"R below 0":         {nil, -1e-9},
		"R above 1":         {nil, 1.0000001},
		"R is no number":    {nil, math.NaN()},
		"an empty term":     {features("b", 0, 1, "", 0, 1), .5},
		"an offset too far": {features("b", 0, 1, "b", 128, 1), .5},
	} {
		if err := c.Add(l.features, l.r); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if err := c.AddFeatures(features("a", 0, 1), .75); err == nil {
		t.Error("features of no leap: no error")
	}
	if string(c.Marshal()) != before {
		t.Error("something was learnt from what was refused")
	}
	learnt(t, c, leap{features("a", 0, 0, "z", 0, 0, "z", 1, 1), .5})
	if f := c.Model().Facts(); f.Features != 2 || f.Leaps != 2 {
		t.Errorf("a feature that occurs 0 times counts: %+v", f)
	}
}

func TestUnmarshalRefuses(t *testing.T) {
	whole := count(t, leap{features("a", 0, 1, "b", 1, 1), .5}).Marshal()
	for name, c := range map[string]struct {
		b        []byte
		want     error
		expected string
	}{
		"empty":        {nil, modelfile.ErrDamaged, "apprentice model: damaged"},
		"half written": {whole[:len(whole)-20], modelfile.ErrDamaged, "cut short"},
		"a critic":     {modelfile.Seal("critic", 1, nil), modelfile.ErrForeign, "critic"},
		"newer":        {modelfile.Seal(fileKind, 9, nil), modelfile.ErrNewer, "version 9"},
		"empty body":   {modelfile.Seal(fileKind, 1, nil), modelfile.ErrDamaged, "cut"},
	} {
		if _, err := Unmarshal(c.b); !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.expected) {
			t.Errorf("%s: %v, want %v with %q", name, err, c.want, c.expected)
		}
	}
}

// FuzzUnmarshal seals its input, so that damage after the checksum is tested too.
func FuzzUnmarshal(f *testing.F) { fuzzFiles(f, fileKind, NewCounts()) }

// fuzzFiles gives bodies of files of a kind, those of a learner first, to Open.
func fuzzFiles(f *testing.F, kind string, l Learner) {
	learnt(f, l, leap{features("a", 0, 1, "ab", -3, 2, "c:/", schemas.NoOffset, 1), .7}, leap{features("a", 0, 1), 0}, leap{nil, 1})
	for range 2 {
		_, body, err := modelfile.Open(l.Marshal(), kind, fileVersion)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(uint8(0), body)
		f.Add(uint8(2), slices.Concat([]byte{1 << schemas.FeatureFamily_FEATURE_FAMILY_OFFSETS, byte(schemas.Counting_COUNTING_NORMALISED), 0}, body))
		l.Model() // now with a cut
	}
	f.Fuzz(func(t *testing.T, version uint8, body []byte) {
		l, err := Open(modelfile.Seal(kind, 1+uint32(version)%fileVersion, body))
		if err != nil {
			if !errors.Is(err, modelfile.ErrDamaged) {
				t.Errorf("an error without a class: %v", err)
			}
			return
		}
		before := string(l.Marshal())
		if again, err := Open([]byte(before)); err != nil || string(again.Marshal()) != before {
			t.Errorf("does not come back: %v", err)
		}
		if p := l.Model().Score(features("a", 0, 1)); !(p >= 0 && p <= 1) {
			t.Errorf("score %v", p)
		}
		learnt(t, l, leap{features("a", 0, 1), 1})
	})
}
