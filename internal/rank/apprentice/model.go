package apprentice

import (
	"math"
	"math/bits"
	"slices"
	"sync"

	"forager/internal/rank/linkfeature"
	"forager/schemas"
)

// Model scores links. It is safe for concurrent use.
type Model struct {
	facts Facts
	prior float64 // log odds of high
	// rows by term, open-addressed with linear probing; a power of two of them.
	rows []row
	// weights are the terms of the log odds of high by feature: log θ(high,τ)/θ(low,τ) of naive Bayes. They are multiples
	// of 1/weightScale, 0 for features not seen.
	weights []float64
	// seen marks the weights of features seen, where a link's length counts only those; else nil.
	seen []bool
	// settings of the learner; cut separates low from high in co-citation features.
	settings Settings
	cut      int
}

// key returns the hash of a term in the rows; R(w) of a sibling is mapped to low or high first.
func (m *Model) key(term string) uint64 {
	if m.settings.Families.Cocitation() {
		term = linkfeature.JudgedTerm(term, m.cut)
	}
	return hash(term)
}

// row is the location of a term's weights under its hash. A free slot has none.
type row struct {
	key uint64
	weightsOf
}

// weightsOf is the location of the n weights of a term: the first is that at schemas.NoOffset, the others are those of its
// offsets from, from+1, …. A term that was not seen has none.
type weightsOf struct {
	at   uint32
	from int16
	n    uint16
}

// slot returns the index of the weight at an offset; ok is false if there is none.
func (w *weightsOf) slot(offset int32) (at uint32, ok bool) {
	if offset == schemas.NoOffset {
		return w.at, w.n > 0
	}
	i := offset - int32(w.from) + 1
	return w.at + uint32(i), i > 0 && i < int32(w.n)
}

const weightScale = 1 << 38

// Facts describe a model.
type Facts struct {
	// Leaps that it was trained on, and how many of them are low and high.
	Leaps, Low, High uint64
	// Features is |T|, the number of distinct ⟨t, d⟩ seen, including those with counts from smoothing only.
	Features int
	// Cut: high ⇔ R(v) ≥ Cut; 0 while nothing was learned.
	Cut float64
	// MedianLow and MedianHigh are medians of R(v); 0 and 1 if there is no such leap.
	MedianLow, MedianHigh float64
}

// Model makes a model of what was learned so far. The first call with at least one leap fixes the cut, which Marshal then
// writes too. Later Adds do not change the model.
func (c *Counts) Model() *Model {
	c.FixCut()
	m := &Model{facts: c.facts(), settings: c.settings, cut: c.cut}
	m.prior = math.Log(float64(m.facts.High+1)) - math.Log(float64(m.facts.Low+1))
	m.weigh(c, layOut(m, &c.terms, (*cells).reach))
	return m
}

// laidOut is the index of a term's row, and the unit of its counts.
type laidOut struct{ row, unit uint32 }

// layOut allocates the weights of all terms. reach returns the range of a term's offsets, from > to for a term without
// offsets; smoothing widens it. The result is in the order of terms.all.
func layOut[L any](m *Model, all *terms[L], reach func(*L) (from, to int32)) (places []laidOut) {
	m.rows = make([]row, 1<<bits.Len(uint(all.used)*3/2))
	places = make([]laidOut, 0, all.used)
	var name []byte
	for t := range all.all {
		name = t.append(name[:0])
		var key uint64
		if m.settings.Families.Cocitation() {
			key = m.key(string(name))
		} else {
			key = hashBytes(name)
		}
		from, to := reach(&t.learnt)
		if farther := int32(m.settings.Smooth); from <= to {
			from, to = max(minOffset+1, from-farther), min(maxOffset, to+farther)
		}
		place := m.slot(key)
		places = append(places, laidOut{place, uint32(unitOf(m.settings, name))})
		r := &m.rows[place]
		if r.n > 1 { // two terms of one hash
			from, to = min(from, int32(r.from)), max(to, int32(r.from)+int32(r.n)-2)
		}
		r.key, r.from, r.n = key, int16(from), uint16(1+max(0, to-from+1))
	}
	at := uint32(0)
	for i := range m.rows {
		m.rows[i].at = at
		at += uint32(m.rows[i].n)
	}
	m.weights = make([]float64, at)
	if m.settings.Count == schemas.Counting_COUNTING_NORMALISED {
		m.seen = make([]bool, at)
	}
	return places
}

// see marks the feature of a weight as seen.
func (m *Model) see(at uint32) {
	if m.seen != nil {
		m.seen[at] = true
	}
}

// round rounds a weight to a multiple of 1/weightScale.
func round(w float64) float64 { return math.RoundToEven(w*weightScale) / weightScale }

// weigh sets the weights of naive Bayes; places is the result of layOut.
func (m *Model) weigh(c *Counts, places []laidOut) {
	c.pairs = slices.Grow(c.pairs[:0], len(m.weights))[:len(m.weights)]
	pairs := c.pairs
	clear(pairs)
	var tokens pair
	unit := unitOf(c.settings, "") // the smallest, to which all counts can be converted
	for _, at := range places {
		unit = max(unit, uint64(at.unit))
	}
	n := 0
	for t := range c.terms.all {
		r, times := &m.rows[places[n].row], unit/uint64(places[n].unit)
		n++
		for x := range t.learnt.all {
			at, _ := r.slot(x.place().offset())
			p, n := &pairs[at], x.count()*times
			if x.place().bin() < c.cut {
				p.low += n
				tokens.low += n
			} else {
				p.high += n
				tokens.high += n
			}
		}
	}
	scale := m.smooth(pairs)
	for _, p := range pairs {
		if p != (pair{}) {
			m.facts.Features++
		}
	}
	// Counts are in parts of 1, so the 1 that θ adds to each feature is that many parts.
	one := unit * scale
	vocabulary, all := float64(one)*float64(m.facts.Features), float64(scale)
	denominators := math.Log(vocabulary+all*float64(tokens.low)) - math.Log(vocabulary+all*float64(tokens.high))
	known := logs()
	log := func(n uint64) float64 {
		if n < uint64(len(known)) {
			return known[n]
		}
		return math.Log(float64(n))
	}
	for i, p := range pairs {
		if p != (pair{}) {
			m.weights[i] = round(log(p.high+one) - log(p.low+one) + denominators)
			m.see(uint32(i))
		}
	}
}

// logs returns a table of the logarithms of small counts.
var logs = sync.OnceValue(func() []float64 {
	logs := make([]float64, 1<<10)
	for n := range logs {
		logs[n] = math.Log(float64(n))
	}
	return logs
})

// smooth spreads the counts over the offsets of each term, and returns the factor by which all counts have grown.
func (m *Model) smooth(pairs []pair) (scale uint64) {
	times := m.settings.Smooth
	if times == 0 {
		return 1
	}
	scale = 1 << (2 * times)
	for _, r := range m.rows {
		if r.n > 0 {
			whole := &pairs[r.at] // no neighbours
			whole.low, whole.high = whole.low*scale, whole.high*scale
			spread(pairs[r.at+1:r.at+uint32(r.n)], times)
		}
	}
	return scale
}

// Facts returns the facts of the model.
func (m *Model) Facts() Facts { return m.facts }

// Trained reports whether the model has learned from any leap; if not, all its scores are equal.
func (m *Model) Trained() bool { return m.facts.Leaps > 0 }

// Score returns Pr(high | u,v) of a link with these features.
func (m *Model) Score(features []*schemas.Feature) float64 {
	var sum float64
	var r weightsOf
	var length float64
	once := m.settings.Count == schemas.Counting_COUNTING_BINARY
	for i, f := range features {
		if i == 0 || f.GetTerm() != features[i-1].GetTerm() {
			r = m.weightsOf(m.key(f.GetTerm()))
		}
		if at, ok := r.slot(f.GetOffset()); ok {
			n, unit := f.GetCount(), linkfeature.Unit(f.GetTerm())
			if once {
				n = min(n, unit)
			}
			sum += amount(m.weights[at], n, unit)
			if m.seen != nil && m.seen[at] {
				length += float64(n) / float64(unit)
			}
		}
	}
	if length > 0 {
		sum *= normalLength / length
	}
	return sigmoid(m.prior + sum)
}

// amount returns the contribution of a feature of a weight with a count in parts of a unit. A fraction is rounded as
// weights are, so that sums stay exact.
func amount(weight float64, count, unit uint32) float64 {
	if unit == 1 {
		return float64(count) * weight
	}
	return round(float64(count) / float64(unit) * weight)
}

// weightsOf returns the zero value for a term that was not seen.
func (m *Model) weightsOf(key uint64) weightsOf { return m.rows[m.slot(key)].weightsOf }

// slot returns the index of a term's row, or of the free slot where it would be.
func (m *Model) slot(key uint64) uint32 {
	mask := uint32(len(m.rows) - 1)
	i := uint32(key) & mask
	for m.rows[i].n > 0 && m.rows[i].key != key {
		i = (i + 1) & mask
	}
	return i
}

func sigmoid(x float64) float64 {
	if x >= 0 {
		return 1 / (1 + math.Exp(-x))
	}
	e := math.Exp(x)
	return e / (1 + e)
}

// Value is the expected R(v) where Pr(high) is p: the medians of low and high, weighted (2002, §2.3). It orders links as p
// does and is on the scale of R.
func (m *Model) Value(p float64) float64 {
	return (1-p)*m.facts.MedianLow + p*m.facts.MedianHigh
}

// Page scores the links of one page after another; it looks each term of a page up once. Turn must be called before the
// first score. It is not safe for concurrent use.
type Page struct {
	model *Model
	table *linkfeature.Table
	dMax  int
	base  float64 // weights of the terms of the page
	// far are the weights of the terms farther than d_max, where the model has such features.
	far  []float64
	name []byte // scratch
	// found are the weights of the terms looked up; those with this turn were since Turn.
	found []lookedUp
	turn  uint32
}

type lookedUp struct {
	weightsOf
	turn uint32
}

// Turn sets the page, and the model.
func (p *Page) Turn(m *Model, t *linkfeature.Table, dMax int) {
	*p = Page{model: m, table: t, dMax: dMax, found: p.found, turn: p.turn + 1, far: p.far[:0], name: p.name}
	if n := t.PageTerms(); n > len(p.found) || p.turn == 0 {
		p.found, p.turn = make([]lookedUp, max(n, len(p.found))), 1
	}
	if !p.byToken() {
		return
	}
	for term := t.PageTerms(); term < t.Terms(); term++ {
		name := t.Term(uint32(term))
		p.base += amount(m.withoutOffset(t.Hash(uint32(term))), t.PageCount(uint32(term)), linkfeature.Unit(name))
	}
	if m.settings.Families.Far() {
		p.turnFar()
	}
}

// turnFar looks up the weights of the terms of the page as far ones, and adds them up for all tokens.
func (p *Page) turnFar() {
	for term := range p.table.PageTerms() {
		p.name = linkfeature.AppendFar(p.name[:0], p.table.Term(uint32(term)))
		p.far = append(p.far, p.model.withoutOffset(hashBytes(p.name)))
	}
	for term := range p.table.Tokens(&everywhere, 0) {
		p.base += p.far[term]
	}
}

// byToken reports whether the tokens of a link can be added up one by one: with raw counts each occurrence of a feature has
// the same weight.
func (p *Page) byToken() bool { return p.model.settings.Count == schemas.Counting_COUNTING_RAW }

// everywhere is a link that spans all leaves, so that none is far from it.
var everywhere = schemas.Link{LastLeaf: math.MaxUint32}

// Score returns the result of Model.Score for the link's features, bit for bit, without making them.
func (p *Page) Score(l *schemas.Link) float64 { return p.ScoreWith(l, nil) }

// ScoreWith is Score for a link that also has features not read from the page: co-citation features.
func (p *Page) ScoreWith(l *schemas.Link, further []*schemas.Feature) float64 {
	if !p.byToken() {
		return p.model.Score(linkfeature.Merge(p.table.FeaturesOf(l, p.dMax, p.model.settings.Families), further))
	}
	base := p.base
	for _, f := range further {
		w := p.model.weightsOf(p.model.key(f.GetTerm()))
		if at, ok := w.slot(f.GetOffset()); ok {
			base += float64(f.GetCount()) * p.model.weights[at]
		}
	}
	if p.model.settings.Families.Far() {
		for term := range p.table.Tokens(l, p.dMax) { // these are near
			base -= p.far[term]
		}
	}
	for term := range p.table.LinkTerms(l) {
		base += p.model.withoutOffset(p.table.Hash(term))
	}
	return sigmoid(p.model.prior + (base + p.sum(l)))
}

// withoutOffset returns the weight of a term at schemas.NoOffset.
func (m *Model) withoutOffset(key uint64) float64 {
	if w := m.weightsOf(key); w.n > 0 {
		return m.weights[w.at]
	}
	return 0
}

// lookUp returns the weights of a term, which it looks up once a page.
func (p *Page) lookUp(term uint32) *weightsOf {
	w := &p.found[term]
	if w.turn != p.turn {
		*w = lookedUp{p.model.weightsOf(p.table.Hash(term)), p.turn}
	}
	return &w.weightsOf
}

// sum adds up the weights of a link's tokens. A token counts at its offset and, for models trained so, without one; weights of
// features not learned are 0.
func (p *Page) sum(l *schemas.Link) (sum float64) {
	for term, offset := range p.table.Tokens(l, p.dMax) {
		w := p.lookUp(term)
		if w.n == 0 {
			continue
		}
		sum += p.model.weights[w.at]
		if at, ok := w.slot(int32(offset)); ok {
			sum += p.model.weights[at]
		}
	}
	return sum
}
