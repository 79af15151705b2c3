package pulearning

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestDrawnPagesGiveThePrior: answers about pages that a crawl has selected by their scores correct an estimate from positives that is
// wrong, to the share of the unlabelled pages and not to that of the selected ones. The truth is the log odds 2s + log(π/(1−π)).
func TestDrawnPagesGiveThePrior(t *testing.T) {
	const share, wrong, worlds = .1, .6, 20
	for _, answers := range []int{20, 50, 2000} {
		var prior, off, selected float64
		for world := range uint64(worlds) {
			random := rand.New(rand.NewPCG(world, 7))
			unlabelled := mixture(random, 400, share, 2)
			var drawn []answer
			for len(drawn) < answers {
				on := random.Float64() < share
				s := random.NormFloat64() - 1
				if on {
					s += 2
				}
				if random.Float64() < logistic(3*s) { // the crawl prefers high scores
					drawn = append(drawn, answer{s, 1, on})
				}
			}
			for _, a := range drawn {
				if a.on {
					selected += 1 / float64(answers) / worlds
				}
			}
			_, got, err := calibrateDrawn(t.Context(), normal(random, 10, 1), unlabelled, drawn, wrong)
			if err != nil {
				t.Fatal(err)
			}
			prior += got / worlds
			off += math.Abs(got-share) / worlds
		}
		t.Logf("%d answers, %.2f of them on topic: prior %.3f, off by %.3f on average", answers, selected, prior, off)
		if selected < .28 {
			t.Errorf("the selection should hold more pages on topic than %.2f", selected)
		}
		if most := map[int]float64{20: .2, 50: .12, 2000: .04}[answers]; off > most {
			t.Errorf("%d answers: the prior is off by %.3f on average, at most %.2f is expected", answers, off, most)
		}
	}
}

// TestEqualScoresLeaveABeta: without scores that differ the prior is the mean of the beta distribution with the answers added.
func TestEqualScoresLeaveABeta(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		estimate := rapid.Float64Range(.01, .99).Draw(t, "estimate")
		on, off := rapid.IntRange(0, 9).Draw(t, "on"), rapid.IntRange(0, 9).Draw(t, "off")
		drawn := append(slices.Repeat([]answer{{0, 2, true}}, on), slices.Repeat([]answer{{0, 2, false}}, off)...)
		c, prior, err := calibrateDrawn(t.Context(), []float64{0}, []float64{0, 0}, drawn, estimate)
		want := (5*estimate + 2*float64(on)) / (5 + 2*float64(on+off))
		if err != nil || math.Abs(prior-want) > 1e-12 || math.Abs(c.Probability(3)-want) > 1e-12 || c.Slope != 0 {
			t.Fatalf("%+v, prior %g, %v; want %g", c, prior, err, want)
		}
	})
}

// TestSlopeOfTheLikelihoodWithAnswers compares the gradient with differences.
func TestSlopeOfTheLikelihoodWithAnswers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		score := rapid.Float64Range(-3, 3)
		page := rapid.Custom(func(t *rapid.T) answer {
			return answer{score.Draw(t, "score"), rapid.Float64Range(.1, 4).Draw(t, "weight"), rapid.Bool().Draw(t, "on")}
		})
		l := joint{presenceLikelihood{
			rapid.SliceOfN(score, 1, 9).Draw(t, "positives"), rapid.SliceOfN(score, 1, 9).Draw(t, "unlabelled"),
			rapid.Float64Range(.05, .95).Draw(t, "estimate"), .3, 1.5,
		}, rapid.SliceOfN(page, 0, 9).Draw(t, "drawn")}
		x := []float64{rapid.Float64Range(-2, 1.5).Draw(t, "slope"), score.Draw(t, "intercept")}
		slopeByDifferences(t, l.value, l.slope, x, func(want float64) float64 { return 1e-5 * max(1, math.Abs(want)) })
	})
}

// TestAnswersCorrectTheClaim: on a site with one template, whose background ten likes do not distinguish from the topic, thirty answers bring
// the mean probability of pages not seen near the share on topic. The same pages marked, but not drawn, leave it too high.
func TestAnswersCorrectTheClaim(t *testing.T) {
	const sites, share = 2, .1
	var claimed [2]float64
	for site := range uint64(sites) {
		for kind, weight := range []float64{0, 1} {
			random := rand.New(rand.NewPCG(site, 21))
			e := new(Examples)
			for i := range 10 {
				e.Liked = append(e.Liked, Read(fmt.Sprintf("http://site.test/liked/%d", i), templated(random, true)))
			}
			for i := range 70 {
				d := Read(fmt.Sprintf("http://site.test/met/%d", i), templated(random, i%10 == 0))
				switch {
				case i >= 30:
					e.Background = append(e.Background, d)
				case i%10 == 0:
					d.Drawn = weight
					e.Liked = append(e.Liked, d)
				default:
					d.Drawn = weight
					e.Wrong = append(e.Wrong, d)
				}
			}
			c, r, err := Train(t.Context(), "like", e, nil)
			if err != nil {
				t.Fatal(err)
			}
			if r.Drawn != 30*kind || r.Most < r.Prior || kind == 1 && r.Most > .5 {
				t.Errorf("%d pages are drawn, want %d; the prior is %g, at most %g", r.Drawn, 30*kind, r.Prior, r.Most)
			}
			for i := range 100 {
				d := Read(fmt.Sprintf("http://site.test/new/%d", i), templated(random, float64(i) < share*100))
				claimed[kind] += c.probability(&d) / 100 / sites
			}
		}
	}
	t.Logf("mean probability %.3f by marks, %.3f by drawn marks; %g of the pages are on topic", claimed[0], claimed[1], share)
	if math.Abs(claimed[1]-share) > .12 || claimed[0]-share < .2 {
		t.Errorf("mean probability %.3f by marks, %.3f by drawn marks; %g of the pages are on topic", claimed[0], claimed[1], share)
	}
}
