package apprentice

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"forager/schemas"
)

// Proximal is the setting of FTRL-proximal.
type Proximal struct {
	// Rate is α: the learning rate of a coordinate is Rate / (1 + √Σg²). In (0,10].
	Rate float64
	// L1 is λ1 and L2 is λ2, 0 to 1,000.
	L1, L2 float64
}

// The default settings, and the bounds.
var defaultProximal = Proximal{Rate: .1, L1: 0, L2: 1}

const (
	mostRate, mostPenalty = 10, 1000
	// beta is β of the paper.
	beta = 1
	// mostWeight bounds the weights of a model, so that their sums are exact.
	mostWeight = 64
)

func proximalOf(l *schemas.Logistic) (Proximal, error) {
	if l == nil {
		return defaultProximal, nil
	}
	p := Proximal{Rate: cmp.Or(l.GetRate(), defaultProximal.Rate), L1: l.GetL1(), L2: l.GetL2()}
	return p, p.check()
}

func (p Proximal) check() error {
	switch {
	case !(p.Rate > 0 && p.Rate <= mostRate):
		return fmt.Errorf("learning.logistic.rate is %v; it must be above 0 and at most %d", p.Rate, mostRate)
	case !(p.L1 >= 0 && p.L1 <= mostPenalty):
		return fmt.Errorf("learning.logistic.l1 is %v; it must lie between 0 and %d", p.L1, mostPenalty)
	case !(p.L2 >= 0 && p.L2 <= mostPenalty):
		return fmt.Errorf("learning.logistic.l2 is %v; it must lie between 0 and %d", p.L2, mostPenalty)
	}
	return nil
}

// Logistic is logistic regression trained on one leap after another by FTRL-proximal (McMahan
// et al., "Ad Click Prediction: a View from the Trenches", 2013, algorithm 1):
//
//	w_i = 0 if |z_i| ≤ λ1, else −(z_i − sgn(z_i) λ1) / ((β + √n_i)/α + λ2)
//	p = 1 / (1 + exp −Σ w_i x_i);  g_i = (p − y) x_i;  σ_i = (√(n_i + g_i²) − √n_i)/α
//	z_i += g_i − σ_i w_i;  n_i += g_i²
//
// x_i is the count of a feature (Settings.Count), y = 1 for high, β = 1; a bias, x = 1, has no λ. The same leaps in the
// same order give the same bits, however they come in batches and whatever is stored and read between them. Logistic is not
// safe for concurrent use.
type Logistic struct {
	relevances
	settings Settings
	bias     coordinate
	terms    terms[coordinates]
	// held are the leaps added before the cut is fixed.
	held held

	// Scratch of learn: a feature's slot, its count x_i, and its weight.
	found   []int
	values  []float64
	weights []float64
}

// coordinate is a feature's state, and how often it occurred in leaps to low and high targets.
type coordinate struct {
	z, n      float64
	low, high uint32 // at most 2³²−1
}

func (c *coordinate) seen() bool { return c.low > 0 || c.high > 0 }

// count adds n occurrences in a leap.
func (c *coordinate) count(n uint32, high bool) {
	at := &c.low
	if high {
		at = &c.high
	}
	*at = uint32(min(math.MaxUint32, uint64(*at)+uint64(n)))
}

// weight is w_i.
func (c *coordinate) weight(s *Proximal, l1, l2 float64) float64 {
	if math.Abs(c.z) <= l1 {
		return 0
	}
	return -(c.z - math.Copysign(l1, c.z)) / ((beta+math.Sqrt(c.n))/s.Rate + l2)
}

// update applies the gradient g at the weight w.
func (c *coordinate) update(s *Proximal, g, w float64) {
	n := c.n + float64(g*g)
	sigma := (math.Sqrt(n) - math.Sqrt(c.n)) / s.Rate
	c.z += g - float64(sigma*w)
	c.n = n
}

// coordinates are those of a term: first that at schemas.NoOffset, then those of its offsets from, from+1, ….
type coordinates struct {
	all  []coordinate
	from int32
}

// at returns the coordinate at an offset, and adds it if there is none.
func (c *coordinates) at(offset int32) *coordinate {
	if len(c.all) == 0 {
		c.all = make([]coordinate, 1, 2)
	}
	if offset == schemas.NoOffset {
		return &c.all[0]
	}
	n := int32(len(c.all)) - 1
	switch {
	case n == 0:
		c.from = offset
		c.all = append(c.all, coordinate{})
	case offset < c.from:
		c.all = slices.Insert(c.all, 1, make([]coordinate, c.from-offset)...)
		c.from = offset
	case offset >= c.from+n:
		c.all = append(c.all, make([]coordinate, offset-c.from-n+1)...)
	}
	return &c.all[1+offset-c.from]
}

// offset returns that of coordinate i.
func (c *coordinates) offset(i int) int32 {
	if i == 0 {
		return schemas.NoOffset
	}
	return c.from + int32(i) - 1
}

func (c *coordinates) reach() (from, to int32) {
	return c.from, c.from + int32(len(c.all)) - 2
}

// Settings returns the settings of the learner.
func (c *Logistic) Settings() Settings { return c.settings }

// Add takes one leap, which is learned at once, or held until the cut is fixed.
func (c *Logistic) Add(features []*schemas.Feature, relevance float64) error {
	if err := check(features, relevance); err != nil {
		return err
	}
	bin := c.note(relevance)
	if c.cut == 0 {
		c.held.add(features, bin)
	} else {
		c.learn(features, bin)
	}
	return nil
}

// FixCut sets the cut by the leaps there are, and learns those that were held.
func (c *Logistic) FixCut() {
	c.relevances.FixCut()
	c.learnHeld()
}

// SetCut sets the cut, which cannot change once leaps were learned.
func (c *Logistic) SetCut(cut float64) error {
	if learnt := c.cut; learnt != 0 {
		if int(math.Round(cut*256)) == learnt {
			return nil
		}
		return fmt.Errorf("cut %v: logistic regression has learnt with a cut of %v, train from nothing", cut, float64(learnt)/256)
	}
	if err := c.relevances.SetCut(cut); err != nil {
		return err
	}
	c.learnHeld()
	return nil
}

func (c *Logistic) learnHeld() {
	if c.cut == 0 {
		return
	}
	c.held.each(c.learn)
	c.held = held{}
}

// learn makes one step of the gradient. Products are rounded before they are added, here and in update, so that processors
// that fuse the two give the same bits.
func (c *Logistic) learn(features []*schemas.Feature, bin int) {
	set := &c.settings.Logistic
	features = c.settings.counted(features, c.cut)
	c.values = c.settings.values(features, c.values)
	c.found = c.terms.seek(features, c.found)
	high := bin >= c.cut
	for _, slot := range c.found {
		if slot >= 0 {
			c.terms.touched += uint64(c.terms.slots[slot].learnt.all[0].low)
		}
	}
	w := c.bias.weight(set, 0, 0)
	sum := w
	c.weights = c.weights[:0]
	for i, f := range features {
		if c.values[i] == 0 {
			c.weights = append(c.weights, 0)
			continue
		}
		at := c.terms.at(&c.found[i], f.Term).learnt.at(f.Offset)
		c.weights = append(c.weights, at.weight(set, set.L1, set.L2))
		sum += float64(c.values[i] * c.weights[i])
	}
	g := sigmoid(sum)
	if high {
		g--
	}
	c.bias.update(set, g, w)
	for i, f := range features {
		if c.values[i] == 0 {
			continue
		}
		at := c.terms.slots[c.found[i]].learnt.at(f.Offset)
		at.update(set, g*c.values[i], c.weights[i])
		at.count(f.Count, high)
	}
}

// Model makes a model of what was learned so far, and fixes the cut.
func (c *Logistic) Model() *Model {
	c.FixCut()
	set := &c.settings.Logistic
	m := &Model{facts: c.facts(), prior: c.bias.weight(set, 0, 0), settings: c.settings, cut: c.cut}
	layOut(m, &c.terms, (*coordinates).reach)
	for t := range c.terms.all {
		r := m.weightsOf(hash(t.string()))
		for i := range t.learnt.all {
			x := &t.learnt.all[i]
			if !x.seen() {
				continue
			}
			m.facts.Features++
			at, _ := r.slot(t.learnt.offset(i))
			w := m.weights[at] + x.weight(set, set.L1, set.L2) // two terms of one hash add up
			m.weights[at] = round(max(-mostWeight, min(mostWeight, w)))
			m.see(at)
		}
	}
	return m
}

// held is a compact list of leaps, in their order.
type held struct {
	number   map[string]uint32
	names    []string
	features []heldFeature
	leaps    []heldLeap
}

type heldFeature struct {
	term, count uint32
	offset      int16
}

// heldLeap is the bin of a leap and the end of its features.
type heldLeap struct{ bin, end int }

func (h *held) add(features []*schemas.Feature, bin int) {
	if h.number == nil {
		h.number = make(map[string]uint32)
	}
	for _, f := range features {
		n, ok := h.number[f.GetTerm()]
		if !ok {
			n = uint32(len(h.names))
			h.number[f.GetTerm()] = n
			h.names = append(h.names, f.GetTerm())
		}
		h.features = append(h.features, heldFeature{term: n, count: f.GetCount(), offset: int16(f.GetOffset())})
	}
	h.leaps = append(h.leaps, heldLeap{bin, len(h.features)})
}

// each calls f with the leaps in their order; the features are valid until f returns.
func (h *held) each(f func(features []*schemas.Feature, bin int)) {
	var block []schemas.Feature
	var features []*schemas.Feature
	begin := 0
	for _, l := range h.leaps {
		of := h.features[begin:l.end]
		for len(block) < len(of) {
			block = make([]schemas.Feature, 2*len(of))
		}
		features = features[:0]
		for i, x := range of {
			at := &block[i]
			at.Term, at.Offset, at.Count = h.names[x.term], int32(x.offset), x.count
			features = append(features, at)
		}
		f(features, l.bin)
		begin = l.end
	}
}
