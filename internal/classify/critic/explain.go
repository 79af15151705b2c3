package critic

import (
	"cmp"
	"context"
	"math"
	"runtime"
	"slices"
	"strings"

	"forager/internal/classify/bayes"
	"forager/internal/classify/logistic"
	"forager/internal/classify/taxonomy"
	"forager/schemas"
)

// Explanation attributes the relevance of a page to its words.
type Explanation struct {
	Judgement *schemas.Judgement `json:"judgement"`
	// HeldOut: the page was trained on, and the judgement is that of a model which has not seen it; the terms are
	// those of the final model.
	HeldOut bool `json:"held_out"`
	// Tokens of the page, after the settings of words.
	Tokens uint64 `json:"tokens"`
	// Classes by the raw log-odds of each against all others, best first.
	Classes []ClassOdds `json:"classes"`
	// Rival is the best class that is not of the focus, empty where there is none.
	Rival string `json:"rival"`
	// LogOdds of the focus against all other classes, in nats, and those of a page without words.
	LogOdds float64 `json:"log_odds"`
	Prior   float64 `json:"prior_log_odds"`
	// Terms are the words of the page that are in the model, the most important first.
	Terms []Term `json:"terms"`
	// Nodes are the decisions down the tree to the best class of the focus and to its rival, for a hierarchical
	// model.
	Nodes []Decision `json:"nodes"`
}

// ClassOdds is a class with the log-odds of its raw posterior, nats, and its three posteriors.
type ClassOdds struct {
	Name       string  `json:"name"`
	LogOdds    float64 `json:"log_odds"`
	Raw        float64 `json:"raw"`
	Tempered   float64 `json:"tempered"`
	Calibrated float64 `json:"calibrated"`
	Focus      bool    `json:"focus"`
}

// Term is a word of a page.
type Term struct {
	Word  string `json:"word"`
	Count uint32 `json:"count"`
	// Focus is the decrease of the log-odds of the focus against all other classes without the word; Rival the
	// same against the rival alone. In nats.
	Focus float64 `json:"focus"`
	Rival float64 `json:"rival"`
}

// Decision is a node of the tree of a hierarchical model with the children that compete there.
type Decision struct {
	Node     string  `json:"node"` // "" = the root
	Children []Child `json:"children"`
}

// Child is a child of a node with Pr(child|node, u), raw.
type Child struct {
	Name  string  `json:"name"`
	Raw   float64 `json:"raw"`
	Focus bool    `json:"focus"` // its classes are of the focus, some or all
}

// Explain explains the relevance of a page to the focus topics. Errors are those of Judge.
func (m *Model) Explain(p *schemas.Page, focus []string) (*Explanation, error) {
	j, err := m.Judge(p, focus)
	if err != nil {
		return nil, err
	}
	in, err := taxonomy.Focus(m.classes, m.pruned, focus)
	if err != nil {
		return nil, err
	}
	s := m.scratch.Get().(*scratch)
	defer m.scratch.Put(s)
	defer runtime.KeepAlive(m) // and with it the mapped file
	x := &Explanation{Judgement: j}
	_, x.HeldOut = m.unseen.place(p.GetUrl())
	if err := begin(s.reader, p); err != nil {
		return nil, err
	}
	for s.reader.Next() {
		x.Tokens += uint64(s.reader.Count())
	}
	if err := begin(s.reader, p); err != nil {
		return nil, err
	}
	m.fill(s)
	bag := ascending(&s.bag)
	if err := m.explainClasses(x, p, bag, in); err != nil {
		return nil, err
	}
	m.explainTerms(x, bag, in)
	if t, ok := m.judge.(*tree); ok {
		x.Nodes = t.decisions(bag, m.classes, in, x.Rival)
	}
	return x, nil
}

// explainClasses sets Classes and Rival, and the log-odds of the focus.
func (m *Model) explainClasses(x *Explanation, p *schemas.Page, bag *bayes.Bag, in []bool) error {
	o := NewPrediction(len(m.classes))
	if err := m.Predict(context.Background(), o, p); err != nil {
		return err
	}
	joint, odds := make([]float64, len(m.classes)), make([]float64, len(m.classes))
	m.judge.joint(joint, &bayes.Bag{})
	x.Prior = oddsOf(joint, in)
	m.judge.joint(joint, bag)
	x.LogOdds = oddsOf(joint, in)
	logOdds(odds, joint)
	for k, name := range m.classes {
		x.Classes = append(x.Classes, ClassOdds{name, odds[k], o.Raw[k], o.Tempered[k], o.Calibrated[k], in[k]})
	}
	slices.SortStableFunc(x.Classes, func(a, b ClassOdds) int { return cmp.Compare(b.LogOdds, a.LogOdds) })
	for _, c := range x.Classes {
		if !c.Focus {
			x.Rival = c.Name
			break
		}
	}
	return nil
}

// mostOccluded is the largest number of words that are left out one by one.
const mostOccluded = 2048

// explainTerms sets Terms: the page is judged again without each of its words.
func (m *Model) explainTerms(x *Explanation, bag *bayes.Bag, in []bool) {
	rival := slices.Index(m.classes, x.Rival)
	joint := make([]float64, len(m.classes))
	against := func() float64 { return oddsOf(joint, in) }
	duel := func() float64 {
		if rival < 0 {
			return 0
		}
		return focusOf(joint, in) - joint[rival]
	}
	chosen := make([]int, len(bag.Features))
	for i := range chosen {
		chosen[i] = i
	}
	m.judge.joint(joint, bag)
	whole, wholeDuel := against(), duel()
	if len(chosen) > mostOccluded { // those with the largest effect alone
		alone := make([]float64, len(bag.Features))
		for i := range alone {
			m.judge.joint(joint, &bayes.Bag{Features: bag.Features[i : i+1], Counts: bag.Counts[i : i+1]})
			alone[i] = math.Abs(against() - x.Prior)
		}
		slices.SortStableFunc(chosen, func(a, b int) int { return cmp.Compare(alone[b], alone[a]) })
		chosen = chosen[:mostOccluded]
	}
	without := &bayes.Bag{Features: make([]uint32, len(bag.Features)), Counts: make([]uint32, len(bag.Features))}
	for _, i := range chosen {
		without.Features = append(append(without.Features[:0], bag.Features[:i]...), bag.Features[i+1:]...)
		without.Counts = append(append(without.Counts[:0], bag.Counts[:i]...), bag.Counts[i+1:]...)
		m.judge.joint(joint, without)
		x.Terms = append(x.Terms, Term{m.words.word(bag.Features[i]), bag.Counts[i], whole - against(), wholeDuel - duel()})
	}
	slices.SortFunc(x.Terms, func(a, b Term) int {
		return cmp.Or(cmp.Compare(math.Abs(b.Focus), math.Abs(a.Focus)), cmp.Compare(a.Word, b.Word))
	})
}

// oddsOf returns the log odds of some classes against all others, given log probabilities up to a constant; 0
// where there are no others.
func oddsOf(joint []float64, in []bool) float64 {
	var rest []float64
	for k, x := range joint {
		if !in[k] {
			rest = append(rest, x)
		}
	}
	if len(rest) == 0 {
		return 0
	}
	return focusOf(joint, in) - logSum(rest)
}

func focusOf(joint []float64, in []bool) float64 {
	var of []float64
	for k, x := range joint {
		if in[k] {
			of = append(of, x)
		}
	}
	return logSum(of)
}

func (f *flat) joint(dst []float64, bag *bayes.Bag) {
	f.model.LogLikelihood(dst, bag)
	f.model.Joint(dst, dst, 1)
}

func (h *hashed) joint(dst []float64, bag *bayes.Bag) {
	var r logistic.Row
	h.row(&r, bag)
	h.model.Scores(dst, &r)
}

func (x *tree) joint(dst []float64, bag *bayes.Bag) {
	clear(dst)
	x.descend(bag, func(n *node, raw []float64) {
		for i, b := range n.branches {
			for _, k := range b.classes {
				dst[k] += raw[i]
			}
		}
	})
}

// descend calls visit with log Pr(child|node, u), raw, of every node, parents first.
func (x *tree) descend(bag *bayes.Bag, visit func(n *node, raw []float64)) {
	bags := x.project(bag)
	for at, n := range x.nodes {
		raw := make([]float64, len(n.branches))
		n.model.LogLikelihood(raw, &bags[at])
		n.model.Joint(raw, raw, 1)
		sum := logSum(raw)
		for i := range raw {
			raw[i] -= sum
		}
		visit(n, raw)
	}
}

// decisions returns those at the nodes above two classes: the best of the focus and the best other one.
func (x *tree) decisions(bag *bayes.Bag, names []string, in []bool, rival string) []Decision {
	joint := make([]float64, len(names))
	x.joint(joint, bag)
	best := -1
	for k := range joint {
		if in[k] && (best < 0 || joint[k] > joint[best]) {
			best = k
		}
	}
	other := slices.Index(names, rival)
	var all []Decision
	x.descend(bag, func(n *node, raw []float64) {
		var d Decision
		var below []int
		above := false
		for i, b := range n.branches {
			below = append(below, b.classes...)
			above = above || slices.Contains(b.classes, best) || slices.Contains(b.classes, other)
			focus := slices.ContainsFunc(b.classes, func(k int) bool { return in[k] })
			d.Children = append(d.Children, Child{topicOf(names, b.classes), math.Exp(raw[i]), focus})
		}
		if !above {
			return
		}
		d.Node = topicOf(names, below)
		slices.SortStableFunc(d.Children, func(a, b Child) int { return cmp.Compare(b.Raw, a.Raw) })
		all = append(all, d)
	})
	return all
}

// topicOf returns the deepest topic at or above all of some classes.
func topicOf(names []string, classes []int) string {
	common := strings.Split(names[classes[0]], "/")
	for _, k := range classes[1:] {
		parts := strings.Split(names[k], "/")
		n := 0
		for n < min(len(common), len(parts)) && common[n] == parts[n] {
			n++
		}
		common = common[:n]
	}
	return strings.Join(common, "/")
}
