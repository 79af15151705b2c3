package papers

import (
	"math"
	"testing"

	"forager/schemas"
)

// TestTheDeltaRuleByHand follows two steps of a linear unit.
func TestTheDeltaRuleByHand(t *testing.T) {
	chess := []*schemas.Feature{{Term: "chess", Offset: -1, Count: 2}}
	both := append(chess, &schemas.Feature{Term: "chess", Offset: 1, Count: 1})
	p := &perceptron{weights: make(map[pair]float64), rate: .1}
	p.step(chess, true) // y = 0: b = .1, w = .2
	if y := p.output(chess); math.Abs(y-.5) > 1e-12 {
		t.Errorf("behind a step %v, want .5", y)
	}
	p.step(both, false) // y = .5: b = .05, w = .1 and −.05
	if y := p.output(both); math.Abs(y-.2) > 1e-12 {
		t.Errorf("behind two steps %v, want .2", y)
	}
}

func TestTheBestPerceptronTakesTheFewestPasses(t *testing.T) {
	var m perceptrons
	m[3][1], m[1][1], m[0][2] = .7, .7, .7
	if rate, pass := m.best(); rate != 1 || pass != 1 || m.spread() != 0 {
		t.Errorf("rate %d, pass %d, spread %v", rate, pass, m.spread())
	}
}
