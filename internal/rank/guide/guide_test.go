package guide

import (
	"math"
	"testing"

	"forager/schemas"
)

func TestOneForAllOrOneEach(t *testing.T) {
	for _, c := range []struct {
		scores []float64
		states [][]byte
		score  float64
		ok     bool
		state  string
	}{
		{},
		{scores: []float64{.5}, score: .5, ok: true},
		{scores: []float64{.1, .2, .3}, states: [][]byte{[]byte("s")}, score: .2, ok: true, state: "s"},
		{states: [][]byte{nil, []byte("b"), nil}, state: "b"},
	} {
		g := &schemas.Guidance{Scores: c.scores, States: c.states}
		if err := Check(g, 3); err != nil {
			t.Fatal(err)
		}
		score, ok := Score(g, 1)
		if score != c.score || ok != c.ok || string(State(g, 1)) != c.state {
			t.Errorf("%v: score %v %v, state %q", g, score, ok, State(g, 1))
		}
	}
}

func TestCheckRefuses(t *testing.T) {
	for name, g := range map[string]*schemas.Guidance{
		"two scores for three links": {Scores: []float64{1, 2}},
		"four states":                {States: make([][]byte, 4)},
		"NaN":                        {Scores: []float64{math.NaN()}},
		"an infinity":                {Scores: []float64{0, 1, math.Inf(-1)}},
		"a long state":               {States: [][]byte{make([]byte, maxState+1)}},
	} {
		if Check(g, 3) == nil {
			t.Errorf("%s was taken", name)
		}
	}
}
