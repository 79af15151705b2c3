package papers

import (
	"fmt"
	"math"
	"strings"

	"forager/schemas"
)

// perceptron is the linear unit that the authors of 2002 tried first (§2.3): y = b + Σ w_i x_i, x_i being the count of a
// feature of a link. The delta rule, gradient descent on (t − y)²/2 with t = 1 for high and 0 for low, takes one step for
// each instance.
type perceptron struct {
	bias    float64
	weights map[pair]float64
	rate    float64
}

func (p *perceptron) output(features []*schemas.Feature) float64 {
	y := p.bias
	for _, f := range features {
		y += float64(float64(f.GetCount()) * p.weights[pair{f.GetTerm(), f.GetOffset()}])
	}
	return y
}

// step trains on one instance.
func (p *perceptron) step(features []*schemas.Feature, high bool) {
	t := 0.
	if high {
		t = 1
	}
	move := p.rate * (t - p.output(features))
	p.bias += move
	for _, f := range features {
		p.weights[pair{f.GetTerm(), f.GetOffset()}] += float64(move * float64(f.GetCount()))
	}
}

// The perceptron's rates, and the numbers of passes over its instances after which it is tested.
var (
	rates  = [...]float64{.0003, .001, .003, .01, .03}
	passes = [...]int{1, 3, 10, 30}
)

// perceptrons are accuracies by rate and passes.
type perceptrons [len(rates)][len(passes)]float64

// add adds the accuracies of the cross-validation of validate, with offsets up to 5.
func (m *perceptrons) add(all []instance) {
	near := within(5)
	seen, fold := make([][]*schemas.Feature, len(all)), make([]int, len(all))
	for i := range all {
		seen[i], fold[i] = near(all[i].features), int(foldings[0].of(&all[i])%folds)
	}
	for r, rate := range rates {
		for test := range folds {
			p := &perceptron{weights: make(map[pair]float64), rate: rate}
			pass := func() {
				for i := range all {
					if fold[i] != test {
						p.step(seen[i], all[i].high)
					}
				}
			}
			right := func() (n int) {
				for i := range all {
					// An output of NaN, of steps too long, is low.
					if fold[i] == test && (p.output(seen[i]) >= .5) == all[i].high {
						n++
					}
				}
				return n
			}
			done := 0
			for at, n := range passes {
				for ; done < n; done++ {
					pass()
				}
				m[r][at] += float64(right()) / float64(len(all))
			}
		}
	}
}

// best returns the rate and the number of passes, as indices, with the highest accuracy: of equal ones the fewest passes,
// then the smallest rate.
func (m *perceptrons) best() (rate, pass int) {
	for at := range passes {
		for r := range rates {
			if m[r][at] > m[rate][pass] {
				rate, pass = r, at
			}
		}
	}
	return rate, pass
}

// spread returns the difference between the best and the worst rate after the last pass.
func (m *perceptrons) spread() float64 {
	best, worst := 0., math.Inf(1)
	for r := range rates {
		best, worst = max(best, m[r][len(passes)-1]), min(worst, m[r][len(passes)-1])
	}
	return best - worst
}

// perceptron compares the linear perceptron with naive Bayes.
func (s *session) perceptron(m *measured) {
	bayes := m.accuracies[0][5].average
	t := Table{Columns: []string{"learner, offsets up to 5"}}
	for _, n := range passes {
		t.Columns = append(t.Columns, fmt.Sprintf("passes: %d", n))
	}
	for r, rate := range rates {
		cells := []string{fmt.Sprintf("linear perceptron, rate %v", rate)}
		for at := range passes {
			cells = append(cells, num(m.perceptrons[r][at]))
		}
		t.row(cells...)
	}
	t.row("naive Bayes", num(bayes), "", "", "")
	r, at := m.perceptrons.best()
	best, spread := m.perceptrons[r][at], m.perceptrons.spread()
	slow, unstable := at > 0, spread > .05
	p := Part{Tables: []Table{t}}
	p.Found = fmt.Sprintf("with folds by v the perceptron's accuracy is %.3f at best (rate %v, %d passes), that of naive Bayes %.3f with one pass; behind %d passes it lies %.3f apart between the rates.",
		best, rates[r], passes[at], bayes, passes[len(passes)-1], spread)
	var why []string
	if best >= bayes {
		why = append(why, "Naive Bayes takes words that come together for as many witnesses, which a linear unit does not; the best of the rates was chosen by the accuracy that is shown.")
	}
	if !slow {
		why = append(why, "A small closed web has few instances, and a rate that suits them was looked for.")
	}
	if !unstable {
		why = append(why, "A linear unit has no local optima: what is unstable is a rate that is too high.")
	}
	p.Why = strings.Join(why, " ")
	s.add("2002", "§2.3", p)
}
