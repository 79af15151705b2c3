package critic

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"forager/internal/classify/taxonomy"
	"forager/schemas"
)

// TestLogOddsOfTopics: they are those of R where that has not rounded, and larger without the class that is a form.
func TestLogOddsOfTopics(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := NewPrediction(4)
		var of, all, topics float64
		scale := rapid.SampledFrom([]float64{1, 300}).Draw(t, "scale")
		for k := range o.logs {
			o.logs[k] = scale * rapid.Float64Range(-2, 2).Draw(t, "log")
		}
		weights := []float64{1, rapid.SampledFrom([]float64{0, .5, 1}).Draw(t, "weight"), 0, 0}
		for k, x := range o.logs {
			p := math.Exp(x / scale)
			of += weights[k] * p
			all += p
			if k != 2 {
				topics += p
			}
		}
		gotAll, gotTopics := o.logOdds(&taxonomy.Weights{Focus: weights, Form: []bool{false, false, true, false}})
		if gotTopics < gotAll {
			t.Fatalf("among topics they are %v, of all %v", gotTopics, gotAll)
		}
		if scale == 1 && (math.Abs(gotAll-math.Log(of/(all-of))) > 1e-9 || math.Abs(gotTopics-math.Log(of/(topics-of))) > 1e-9) {
			t.Fatalf("they are %v and %v", gotAll, gotTopics)
		}
	})
}

func TestOddsWithoutRivals(t *testing.T) {
	if got := oddsBetween([]float64{0}, nil); got != schemas.MostLogOdds {
		t.Error(got)
	}
	if got := oddsBetween([]float64{math.Inf(-1)}, []float64{0}); got != -schemas.MostLogOdds {
		t.Error(got)
	}
}
