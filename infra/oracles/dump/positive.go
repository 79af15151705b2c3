package main

import (
	"context"
	"math"
	"math/rand/v2"

	"forager/internal/classify/pulearning"
)

// positiveCase is a dense sample of positive–unlabelled learning, and the model trained on it.
type positiveCase struct {
	Positives  [][]float64 `json:"positives"`
	Unlabelled [][]float64 `json:"unlabelled"`
	Negatives  [][]float64 `json:"negatives"`
	L2         float64     `json:"l2"`
	Rounds     int         `json:"rounds"`

	Prior   float64           `json:"prior"`
	Weights []float64         `json:"weights"`
	Bias    float64           `json:"bias"`
	HeldOut pulearning.Scores `json:"held_out"`
	Curve   pulearning.Curve  `json:"curve"`
	Brier   float64           `json:"brier"`
}

// dumpPositive trains on generated pages.
func dumpPositive([]string) error {
	const features = 30
	random := rand.New(rand.NewPCG(2026, 21))
	draw := func(n int, share float64) (dense [][]float64, rows []pulearning.Row) {
		for i := range n {
			x, on := make([]float64, features), float64(i) < share*float64(n)
			square := 0.
			for range 10 {
				f := random.IntN(20)
				if on {
					f += 10
				}
				x[f]++
			}
			for _, v := range x {
				square += v * v
			}
			var r pulearning.Row
			for f, v := range x {
				if v > 0 {
					v32 := float32(v / math.Sqrt(square))
					x[f] = float64(v32)
					r.Features, r.Values = append(r.Features, uint32(f)), append(r.Values, v32)
				}
			}
			dense, rows = append(dense, x), append(rows, r)
		}
		random.Shuffle(n, func(i, j int) { dense[i], dense[j], rows[i], rows[j] = dense[j], dense[i], rows[j], rows[i] })
		return dense, rows
	}
	var cases []positiveCase
	for _, shape := range []struct {
		positives, unlabelled, negatives, rounds int
		share, l2                                float64
	}{{10, 60, 0, 1, .3, .01}, {40, 200, 0, 5, .2, .001}, {50, 300, 20, 3, .5, .003}, {200, 400, 0, 5, .1, .001}, {7, 40, 5, 2, 0, .02}} {
		var s pulearning.Sample
		var c positiveCase
		c.Positives, s.Positives = draw(shape.positives, 1)
		c.Unlabelled, s.Unlabelled = draw(shape.unlabelled, shape.share)
		c.Negatives, s.Negatives = draw(shape.negatives, 0)
		c.L2, c.Rounds = shape.l2, shape.rounds
		m, err := pulearning.Learn(context.Background(), &s, pulearning.Settings{Features: features, L2: shape.l2, Rounds: shape.rounds})
		if err != nil {
			return err
		}
		c.Prior, c.Weights, c.Bias, c.HeldOut, c.Curve = m.Prior, m.Weights, m.Bias, m.HeldOut, m.Curve
		probabilities := func(scores []float64) (p []float64) {
			for _, z := range scores {
				p = append(p, m.Probability(z))
			}
			return p
		}
		c.Brier = pulearning.Brier(probabilities(m.HeldOut.Positives), probabilities(m.HeldOut.Unlabelled), m.Prior)
		cases = append(cases, c)
	}
	return writeJSON(cases)
}
