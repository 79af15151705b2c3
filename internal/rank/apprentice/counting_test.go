package apprentice

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"forager/internal/rank/linkfeature"
	"forager/schemas"
)

// everyCounting are the settings of a crawl with each way to count, and with smoothing where there can be some.
func everyCounting(t interface{ Fatal(...any) }, l *schemas.Learning) (all []Settings) {
	for _, l.Count = range []schemas.Counting{schemas.Counting_COUNTING_RAW, schemas.Counting_COUNTING_NORMALISED, schemas.Counting_COUNTING_BINARY} {
		for _, l.Smooth = range []uint32{0, 2} {
			s, err := SettingsOf(l)
			switch {
			case err == nil:
				all = append(all, s)
			case l.Smooth == 0:
				t.Fatal(err)
			}
		}
	}
	return all
}

// place of a feature in the plain learner below.
type at struct {
	term   string
	offset int32
}

// plainBayes is naive Bayes by the formulas of doc.go, in floating point: what a leap's features count, what smoothing
// makes of it, θ, and Pr(high) of a link.
type plainBayes struct {
	s      Settings
	counts [2]map[at]float64
	tokens [2]float64
	leaps  [2]float64
}

// amount is what a feature counts: of a probability the fraction.
func (b *plainBayes) amount(f *schemas.Feature) float64 {
	if strings.HasPrefix(f.Term, "p:") {
		return float64(f.Count) / 256
	}
	if b.s.Count == schemas.Counting_COUNTING_BINARY {
		return 1
	}
	return float64(f.Count)
}

func (b *plainBayes) learn(l leap, cut float64) {
	c := 0
	if l.r >= cut {
		c = 1
	}
	b.leaps[c]++
	length := 0.
	for _, f := range l.features {
		length += b.amount(f)
	}
	for _, f := range l.features {
		x := b.amount(f)
		if b.s.Count == schemas.Counting_COUNTING_NORMALISED {
			x = max(1, math.Floor(256*32*x/length+.5)) / 256
		}
		b.tokens[c] += x
		n := int32(b.s.Smooth)
		if f.Offset == schemas.NoOffset {
			n = 0
		}
		share := math.Pow(.25, float64(n)) // binomial coefficients of 2n, of 4ⁿ
		for j := -n; j <= n; j++ {
			b.counts[c][at{f.Term, f.Offset + j}] += x * share
			share *= float64(n-j) / float64(n+j+1)
		}
	}
}

func (b *plainBayes) score(features []*schemas.Feature) float64 {
	known := make(map[at]bool)
	for _, counts := range b.counts {
		for x := range counts {
			known[x] = true
		}
	}
	odds, sum, length := math.Log(b.leaps[1]+1)-math.Log(b.leaps[0]+1), 0., 0.
	for _, f := range features {
		x := at{f.Term, f.Offset}
		if !known[x] {
			continue
		}
		var theta [2]float64
		for c := range theta {
			theta[c] = (1 + b.counts[c][x]) / (float64(len(known)) + b.tokens[c])
		}
		n := b.amount(f)
		sum, length = sum+n*math.Log(theta[1]/theta[0]), length+n
	}
	if b.s.Count == schemas.Counting_COUNTING_NORMALISED && length > 0 {
		sum *= 32 / length
	}
	return 1 / (1 + math.Exp(-odds-sum))
}

// genFractions draws leaps with posteriors of topics among their features.
var genFractions = rapid.Custom(func(t *rapid.T) leap {
	l := genLeap.Draw(t, "leap")
	for _, term := range []string{"p:/", "p:/A", "p:/A/B"} {
		if n := rapid.IntRange(0, 256).Draw(t, term); n > 0 {
			l.features = append(l.features, features(term, schemas.NoOffset, n)...)
		}
	}
	slices.SortStableFunc(l.features, func(a, b *schemas.Feature) int { return strings.Compare(a.Term, b.Term) })
	return l
})

// TestCountingIsAsDefined, whatever the order of leaps and what is stored between them.
func TestCountingIsAsDefined(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.SampledFrom(everyCounting(t, new(schemas.Learning))).Draw(t, "settings")
		s.Smooth = min(s.Smooth, 1) * rapid.Uint32Range(1, mostSmooth).Draw(t, "smoothed")
		leaps := rapid.SliceOfN(rapid.SampledFrom([]*rapid.Generator[leap]{genLeap, genFractions}).Draw(t, "kind"), 1, 12).Draw(t, "leaps")
		c := New(s)
		learnt(t, c, leaps...)
		m := c.Model()
		want := plainBayes{s: s, counts: [2]map[at]float64{{}, {}}}
		for _, l := range leaps {
			want.learn(l, m.Facts().Cut)
		}
		stored, err := OpenFor(c.Marshal(), s)
		if err != nil {
			t.Fatal(err)
		}
		again := New(s)
		if err := again.SetCut(m.Facts().Cut); err != nil {
			t.Fatal(err)
		}
		learnt(t, again, rapid.Permutation(leaps).Draw(t, "another order")...)
		if !bytes.Equal(again.Marshal(), c.Marshal()) {
			t.Fatal("in another order, other bytes")
		}
		for _, l := range append(leaps, genFractions.Draw(t, "link")) {
			got := m.Score(l.features)
			if math.Abs(got-want.score(l.features)) > 1e-8 {
				t.Fatalf("%v: score %v, want %v", s, got, want.score(l.features))
			}
			if x := stored.Model().Score(l.features); x != got {
				t.Fatalf("score %v, stored and read %v", got, x)
			}
		}
	})
}

// TestNormalisedAndBinaryCountsOfLogisticRegression: twice as much of everything is the same to the one, as much as
// there is of anything to the other, which learns as if each feature came once.
func TestNormalisedAndBinaryCountsOfLogisticRegression(t *testing.T) {
	raw := DefaultLogistic()
	normalised, binary := raw, raw
	normalised.Count, binary.Count = schemas.Counting_COUNTING_NORMALISED, schemas.Counting_COUNTING_BINARY
	times := func(l leap, change func(uint32) uint32) leap {
		other := leap{r: l.r}
		for _, f := range l.features {
			other.features = append(other.features, features(f.Term, int(f.Offset), int(change(f.Count)))...)
		}
		return other
	}
	twice, once := func(n uint32) uint32 { return 2 * n }, func(uint32) uint32 { return 1 }
	rapid.Check(t, func(t *rapid.T) {
		leaps := rapid.SliceOfN(genLeap, 1, 12).Draw(t, "leaps")
		link := genLeap.Draw(t, "link")
		for _, x := range []struct {
			one, other Settings
			change     func(uint32) uint32
		}{{normalised, normalised, twice}, {binary, binary, twice}, {binary, raw, once}} {
			one, other := New(x.one), New(x.other)
			for _, l := range leaps {
				learnt(t, one, l)
				learnt(t, other, times(l, x.change))
			}
			got, want := one.Model().Score(link.features), other.Model().Score(times(link, x.change).features)
			if got != want {
				t.Fatalf("%v: score %v, want %v of %v", x.one, got, want, x.other)
			}
		}
		// A link of 32 words counts as it is.
		whole := func(l leap) leap {
			n := uint32(normalLength) - uint32(lengthOf(l.features)/linkfeature.Parts)
			return leap{append(slices.Clone(l.features), &schemas.Feature{Term: "~", Count: n}), l.r}
		}
		one, other := New(normalised), New(raw)
		for _, l := range leaps {
			learnt(t, one, whole(l))
			learnt(t, other, whole(l))
		}
		for _, l := range leaps {
			if got, want := one.Model().Score(whole(l).features), other.Model().Score(whole(l).features); got != want {
				t.Fatalf("of 32 words: score %v, want %v", got, want)
			}
		}
	})
}

// TestFractionsOfLogisticRegression: a probability of 1 is a word that occurs, and one of a half moves its weight half as far.
func TestFractionsOfLogisticRegression(t *testing.T) {
	for _, count := range []schemas.Counting{schemas.Counting_COUNTING_RAW, schemas.Counting_COUNTING_NORMALISED, schemas.Counting_COUNTING_BINARY} {
		s := DefaultLogistic()
		s.Count = count
		one, other := New(s), New(s)
		learnt(t, one, leap{features("a", 0, 1, "p:/A", schemas.NoOffset, 256), 1}, leap{features("a", 0, 1), 0})
		learnt(t, other, leap{features("a", 0, 1, "q:/A", schemas.NoOffset, 1), 1}, leap{features("a", 0, 1), 0})
		got, want := one.Model().Score(features("p:/A", schemas.NoOffset, 256)), other.Model().Score(features("q:/A", schemas.NoOffset, 1))
		if got != want || got <= .5 {
			t.Errorf("%v: score %v, of a word %v", count, got, want)
		}
		if tally := one.Strongest(0, 0); !slices.ContainsFunc(tally, func(x Tally) bool { return x.Term == "p:/A" && x.High == 1 && x.Low == 0 }) {
			t.Errorf("%v: %v", count, tally)
		}
	}
	s := DefaultLogistic()
	s.Logistic.L2 = 0
	half := New(s)
	if err := half.SetCut(.5); err != nil {
		t.Fatal(err)
	}
	learnt(t, half, leap{features("p:/A", schemas.NoOffset, 128), 1})
	// g = (.5 − 1)/2, z = g, n = g²; the weight is −z rate/(1 + √n).
	if got, want := half.Strongest(0, 0)[0].Weight, .25*s.Logistic.Rate/(1+.25); math.Abs(got-want) > 1e-12 {
		t.Errorf("weight %v, want %v", got, want)
	}
}

func TestCountingRefuses(t *testing.T) {
	for expected, l := range map[string]*schemas.Learning{
		"learning.count":                       {Count: 4},
		"learning.count is":                    {Count: -1},
		"learning.smooth is 5":                 {Smooth: 5},
		"only naive Bayes":                     {Smooth: 1, Learner: schemas.Learner_LEARNER_LOGISTIC},
		"it smooths over the offsets":          {Smooth: 1, Features: []schemas.FeatureFamily{schemas.FeatureFamily_FEATURE_FAMILY_ANCHOR}},
		"learning.learner is 7, which is unkn": {Learner: 7},
	} {
		if _, err := SettingsOf(l); err == nil || !strings.Contains(err.Error(), expected) {
			t.Errorf("%v: %v, want %q", l, err, expected)
		}
	}
	by := everyCounting(t, new(schemas.Learning))
	for _, s := range by {
		for _, other := range by {
			if _, err := OpenFor(New(s).Marshal(), other); (err == nil) != (s == other) {
				t.Errorf("learnt by %v, wanted %v: %v", s, other, err)
			}
		}
	}
}

// TestLengthsAreOfWhatWasSeen: words that were not seen, at an offset between two that were or without one, make no
// link longer, and a word among ever so many is seen.
func TestLengthsAreOfWhatWasSeen(t *testing.T) {
	s, err := SettingsOf(&schemas.Learning{Count: schemas.Counting_COUNTING_NORMALISED})
	if err != nil {
		t.Fatal(err)
	}
	c := New(s)
	learnt(t, c, leap{features("chess", -1, 1, "chess", 1, 1), 1}, leap{features("go", 0, 1, "home", 0, 1_000_000), 0})
	m := c.Model()
	if n := m.Facts().Features; n != 4 {
		t.Errorf("%d features were seen, want 4", n)
	}
	want := m.Score(features("chess", -1, 1))
	for _, nearby := range [][]*schemas.Feature{features("chess", 0, 9), features("chess", schemas.NoOffset, 9), features("draughts", 0, 9)} {
		if got := m.Score(append(features("chess", -1, 1), nearby...)); got != want {
			t.Errorf("with %v: score %v, want %v", nearby, got, want)
		}
	}
	if want <= .5 {
		t.Errorf("chess scores %v", want)
	}
}
