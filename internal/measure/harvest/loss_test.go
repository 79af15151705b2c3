package harvest

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func near(a, b float64) bool { return math.Abs(a-b) < 1e-12 }

func TestLossCutByHand(t *testing.T) {
	for _, c := range []struct{ loss, base, cut float64 }{{.5, 1, .5}, {1.5, 2.5, .4}, {1, .5, -1}, {0, 2, 1}} {
		if cut, ok := LossCut(c.loss, c.base); !ok || !near(cut, c.cut) {
			t.Errorf("a loss of %v cuts %v by %v, %v; want %v", c.loss, c.base, cut, ok, c.cut)
		}
	}
	if cut, ok := LossCut(.5, 0); ok {
		t.Errorf("a baseline without loss is cut by %v", cut)
	}
}

func TestMovingAverage(t *testing.T) {
	if got := MovingAverage([]float64{1, 2, 6, 0, 3}, 2); !near(got[0], 1) || !near(got[1], 1.5) || !near(got[2], 4) || !near(got[3], 3) || !near(got[4], 1.5) {
		t.Errorf("by hand: %v", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOf(rapid.Float64Range(0, 1)).Draw(t, "values")
		window := rapid.IntRange(1, 20).Draw(t, "window")
		got := MovingAverage(values, window)
		for i := range values {
			sum, n := 0.0, 0
			for j := max(0, i-window+1); j <= i; j++ {
				sum, n = sum+values[j], n+1
			}
			if math.Abs(got[i]-sum/float64(n)) > 1e-9 {
				t.Fatalf("window %d at %d of %v: %v", window, i, values, got[i])
			}
		}
	})
}
