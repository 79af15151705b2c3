package harvest

import (
	"math"
	"math/rand/v2"
	"testing"
)

// covered counts how often an interval contains the truth.
type covered struct{ held, of int }

func (c *covered) note(x Share, truth float64) {
	c.of++
	if x.Low-1e-9 <= truth && truth <= x.High+1e-9 {
		c.held++
	}
}

func (c *covered) share() float64 { return float64(c.held) / float64(c.of) }

// draw is the number of successes among n.
func draw(random *rand.Rand, n int, p float64) (k int) {
	for range n {
		if random.Float64() < p {
			k++
		}
	}
	return k
}

// TestSampledCoversTheTruth: critics with drawn error rates judge pages, and a person looks at some of each
// verdict. The interval contains the truth as often as it should, over all crawls and in each kind of them.
func TestSampledCoversTheTruth(t *testing.T) {
	random := rand.New(rand.NewPCG(14, 10))
	var all covered
	for range 60 {
		pages, share := 30+random.IntN(2000), random.Float64()*random.Float64()
		hit, miss := .3+.7*random.Float64(), .8*random.Float64()
		asked := 6 + random.IntN(60)
		var kind covered
		for range 400 {
			var strata [2][]bool
			on := 0
			for range pages {
				topical := random.Float64() < share
				rate := miss
				if topical {
					on++
					rate = hit
				}
				verdict := 0
				if random.Float64() < rate {
					verdict = 1
				}
				strata[verdict] = append(strata[verdict], topical)
			}
			var drawn []Stratum
			for _, of := range strata {
				s := Stratum{Pages: len(of), Drawn: min(len(of), asked/2)}
				for _, i := range random.Perm(len(of))[:s.Drawn] {
					if of[i] {
						s.On++
					}
				}
				drawn = append(drawn, s)
			}
			kind.note(Sampled(drawn...), float64(on)/float64(pages))
		}
		if got := kind.share(); got < .88 {
			t.Errorf("%d pages, %.3f on topic, of which the critic takes %.3f and %.3f of the others, %d asked about: the interval holds the truth in %.3f", pages, share, hit, miss, asked, got)
		}
		all.held, all.of = all.held+kind.held, all.of+kind.of
	}
	t.Logf("the interval holds the truth in %.3f", all.share())
	if got := all.share(); got < .94 {
		t.Errorf("the interval holds the truth in %.3f", got)
	}
}

// TestCorrectedCoversTheTruth: the same of a critic whose error rates are known from pages that it has not seen.
func TestCorrectedCoversTheTruth(t *testing.T) {
	random := rand.New(rand.NewPCG(14, 11))
	var all covered
	for range 60 {
		hit, miss := .6+.4*random.Float64(), .4*random.Float64()
		share := random.Float64()
		pages, likes, background := 50+random.IntN(1000), 10+random.IntN(60), 30+random.IntN(300)
		var kind covered
		for range 2000 {
			taken := draw(random, pages, share*hit+(1-share)*miss)
			x := Corrected(Counted{float64(pages), float64(taken)}, Counted{float64(likes), float64(draw(random, likes, hit))},
				Counted{float64(background), float64(draw(random, background, miss))})
			if x.Low > x.Share || x.Share > x.High || x.Low < 0 || x.High > 1 {
				t.Fatalf("%+v", x)
			}
			kind.note(x, share)
		}
		if got := kind.share(); got < .9 {
			t.Errorf("%d pages, %.3f on topic, %d likes, %d others, of which the critic takes %.3f and %.3f: the interval holds the truth in %.3f", pages, share, likes, background, hit, miss, got)
		}
		all.held, all.of = all.held+kind.held, all.of+kind.of
	}
	t.Logf("the interval holds the truth in %.3f", all.share())
	if got := all.share(); got < .94 {
		t.Errorf("the interval holds the truth in %.3f", got)
	}
}

// TestShareAtItsLimits: nothing drawn, everything drawn, a critic without information.
func TestShareAtItsLimits(t *testing.T) {
	for name, c := range map[string]struct{ got, want Share }{
		"nothing drawn":           {Sampled(Stratum{Pages: 50}), Share{.5, 0, 1}},
		"all drawn":               {Sampled(Stratum{20, 20, 5}, Stratum{}), Share{.25, .25, .25}},
		"both strata drawn whole": {Sampled(Stratum{20, 20, 20}, Stratum{60, 60, 0}), Share{.25, .25, .25}},
		"by chance":               {Corrected(Counted{100, 50}, Counted{10, 5}, Counted{100, 50}), Share{.5, 0, 1}},
		"without anything":        {Corrected(Counted{}, Counted{}, Counted{}), Share{.5, 0, 1}},
	} {
		if math.Abs(c.got.Share-c.want.Share)+math.Abs(c.got.Low-c.want.Low)+math.Abs(c.got.High-c.want.High) > 1e-9 {
			t.Errorf("%s: %+v, want %+v", name, c.got, c.want)
		}
	}
}
