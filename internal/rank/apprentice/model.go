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
	// weights are what a feature adds to the log odds of high: log θ(high,τ)/θ(low,τ) of naive Bayes.
	// They are multiples of 1/weightScale, 0 for features not seen.
	weights []float64
	// seen says which weights are of features seen, where a link's length is that of those; else nil.
	seen []bool
	// settings of the learner; cut tells low from high in co-citation features.
	settings Settings
	cut      int
}

// key is the number that a term is known by: of R(w) of a sibling, that of low or high.
func (m *Model) key(term string) uint64 {
	if m.settings.Families.Cocitation() {
		term = linkfeature.JudgedTerm(term, m.cut)
	}
	return hash(term)
}

// row is the place of a term's weights under its hash. A free slot has none.
type row struct {
	key uint64
	weightsOf
}

// weightsOf says where the n weights of a term are: the first is that at schemas.NoOffset, the
// others are those of its offsets from, from+1, …. A term that was not seen has none.
type weightsOf struct {
	at   uint32
	from int16
	n    uint16
}

// slot returns where the weight at an offset is; ok is false where there is none.
func (w *weightsOf) slot(offset int32) (at uint32, ok bool) {
	if offset == schemas.NoOffset {
		return w.at, w.n > 0
	}
	i := offset - int32(w.from) + 1
	return w.at + uint32(i), i > 0 && i < int32(w.n)
}

const weightScale = 1 << 38

// Facts are what there is to say of a model.
type Facts struct {
	// Leaps it was trained on, and how many of them are low and high.
	Leaps, Low, High uint64
	// Features is |T|, the number of distinct ⟨t, d⟩ seen, those among them that only smoothing has brought counts.
	Features int
	// Cut: high ⇔ R(v) ≥ Cut; 0 while nothing was learnt.
	Cut float64
	// MedianLow and MedianHigh of R(v); 0 and 1 where there is no such leap.
	MedianLow, MedianHigh float64
}

// Model makes a model of what was learnt so far. The first call with at least one leap fixes
// the cut, which Marshal then writes too. Later Adds do not change the model.
func (c *Counts) Model() *Model {
	c.FixCut()
	m := &Model{facts: c.facts(), settings: c.settings, cut: c.cut}
	m.prior = math.Log(float64(m.facts.High+1)) - math.Log(float64(m.facts.Low+1))
	m.weigh(c, layOut(m, &c.terms, (*cells).reach))
	return m
}

// layOut makes room for the weights of all terms, which reach from one offset to another;
// from > to for terms of no offset. Smoothing makes them reach farther. It returns where the rows of the terms are, in the order
// of terms.all.
func layOut[L any](m *Model, all *terms[L], reach func(*L) (from, to int32)) (places []uint32) {
	m.rows = make([]row, 1<<bits.Len(uint(all.used)*3/2))
	places = make([]uint32, 0, all.used)
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
		places = append(places, place)
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

// see notes that the feature of a weight was seen.
func (m *Model) see(at uint32) {
	if m.seen != nil {
		m.seen[at] = true
	}
}

// round makes a weight a multiple of 1/weightScale.
func round(w float64) float64 { return math.RoundToEven(w*weightScale) / weightScale }

// weigh sets the weights of naive Bayes; places are what layOut returned.
func (m *Model) weigh(c *Counts, places []uint32) {
	pairs := make([]pair, len(m.weights))
	var tokens pair
	unit := c.finest()
	var name []byte
	n := 0
	for t := range c.terms.all {
		name = t.append(name[:0])
		r, times := &m.rows[places[n]], unit/unitOf(c.settings, name)
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
	// What is counted in parts of one: so many make the 1 that θ adds to each feature.
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

// finest is the unit that all counts can be brought to.
func (c *Counts) finest() uint64 {
	unit := unitOf(c.settings, "")
	var name []byte
	for t := range c.terms.all {
		name = t.append(name[:0])
		unit = max(unit, unitOf(c.settings, name))
	}
	return unit
}

// logs are the logarithms of most counts.
var logs = sync.OnceValue(func() []float64 {
	logs := make([]float64, 1<<10)
	for n := range logs {
		logs[n] = math.Log(float64(n))
	}
	return logs
})

// smooth spreads what was counted over the offsets of each term, and returns how much larger all counts are then.
func (m *Model) smooth(pairs []pair) (scale uint64) {
	times := m.settings.Smooth
	if times == 0 {
		return 1
	}
	scale = 1 << (2 * times)
	for _, r := range m.rows {
		if r.n > 0 {
			whole := &pairs[r.at] // it has no neighbours
			whole.low, whole.high = whole.low*scale, whole.high*scale
			spread(pairs[r.at+1:r.at+uint32(r.n)], times)
		}
	}
	return scale
}

// Facts returns what there is to say of the model.
func (m *Model) Facts() Facts { return m.facts }

// Trained reports whether the model has learnt anything; if not, all its scores are equal.
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

// amount is what a feature of a weight adds by its count in parts of a unit: rounded as weights are where it is a
// fraction, so that sums stay exact.
func amount(weight float64, count, unit uint32) float64 {
	if unit == 1 {
		return float64(count) * weight
	}
	return round(float64(count) / float64(unit) * weight)
}

// weightsOf returns none for a term that was not seen.
func (m *Model) weightsOf(key uint64) weightsOf { return m.rows[m.slot(key)].weightsOf }

// slot returns where the row of a term is, or the free slot where it would be.
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

// Value is the R(v) to expect where Pr(high) is p: the medians of low and high, weighted (2002
// §2.3). It orders links as p does and is on the scale of R.
func (m *Model) Value(p float64) float64 {
	return (1-p)*m.facts.MedianLow + p*m.facts.MedianHigh
}

// Page scores the links of one page after another; of a page with several it looks each term
// up once. The zero Page wants Turn first. It is not safe for concurrent use.
type Page struct {
	model *Model
	table *linkfeature.Table
	dMax  int
	base  float64 // weights of the terms of the page
	// far is what each term weighs farther than d_max, where the model has such.
	far  []float64
	name []byte // scratch
	// weights of each term of the table at the offsets −dMax to dMax.
	weights []float64
	// found are the weights of the terms that were looked up since the page was turned to: those whose element of turned is turn.
	found  []weightsOf
	turned []uint32
	turn   uint32
	keys   []uint64 // scratch
	// looked counts tokens added up one by one; all: weights holds those of every term.
	looked int
	all    bool
}

// Turn takes another page, or another model.
func (p *Page) Turn(m *Model, t *linkfeature.Table, dMax int) {
	*p = Page{model: m, table: t, dMax: dMax, weights: p.weights, keys: p.keys, found: p.found, turned: p.turned, turn: p.turn + 1, far: p.far[:0], name: p.name}
	if n := t.PageTerms(); n > len(p.turned) || p.turn == 0 {
		p.found, p.turned, p.turn = make([]weightsOf, max(n, len(p.turned))), make([]uint32, max(n, len(p.turned))), 1
	}
	if !p.byToken() {
		return
	}
	for term := t.PageTerms(); term < t.Terms(); term++ {
		name := t.Term(uint32(term))
		p.base += amount(m.withoutOffset(name), t.PageCount(uint32(term)), linkfeature.Unit(name))
	}
	if m.settings.Families.Far() {
		p.turnFar()
	}
}

// The weights of all terms of a page at all offsets are laid out once a tenth as many links as it has terms are to be scored, or
// once so many tokens were added up for each term: adding them up is quicker then.
const (
	termsPerLink  = 10
	tokensPerTerm = 4
)

// Expect says that so many links of the page will be scored; it changes nothing but time.
func (p *Page) Expect(links int) {
	if links*termsPerLink >= p.table.PageTerms() && p.byToken() && !p.all {
		p.seekAll()
		p.all = true
	}
}

// turnFar looks up what the terms of the page weigh where they are far from a link, and adds up all its tokens as if they were.
func (p *Page) turnFar() {
	for term := range p.table.PageTerms() {
		p.name = linkfeature.AppendFar(p.name[:0], p.table.Term(uint32(term)))
		p.far = append(p.far, p.model.withoutOffset(p.name))
	}
	for term := range p.table.Tokens(&everywhere, 0) {
		p.base += p.far[term]
	}
}

// byToken says that the tokens of a link can be added up one by one: each of a feature counts as much as the others, however
// many there are.
func (p *Page) byToken() bool { return p.model.settings.Count == schemas.Counting_COUNTING_RAW }

// everywhere is a link that no leaf is far from.
var everywhere = schemas.Link{LastLeaf: math.MaxUint32}

// Score returns what Model.Score returns for the link's features, to the bit, without making
// them.
func (p *Page) Score(l *schemas.Link) float64 { return p.ScoreWith(l, nil) }

// ScoreWith is Score for a link that has features beside those of the page: co-citation features.
func (p *Page) ScoreWith(l *schemas.Link, beside []*schemas.Feature) float64 {
	if !p.byToken() {
		return p.model.Score(linkfeature.Merge(p.table.FeaturesOf(l, p.dMax, p.model.settings.Families), beside))
	}
	base := p.base
	for _, f := range beside {
		w := p.model.weightsOf(p.model.key(f.GetTerm()))
		if at, ok := w.slot(f.GetOffset()); ok {
			base += float64(f.GetCount()) * p.model.weights[at]
		}
	}
	if p.model.settings.Families.Far() {
		for term := range p.table.Tokens(l, p.dMax) { // they are near
			base -= p.far[term]
		}
	}
	for term := range p.table.LinkTerms(l) {
		base += p.model.withoutOffset(p.table.Term(term))
	}
	if !p.all && p.looked <= tokensPerTerm*p.table.PageTerms() {
		return sigmoid(p.model.prior + (base + p.one(l)))
	}
	if !p.all { // who has scored some links will score most
		p.seekAll()
		p.all = true
	}
	return sigmoid(p.model.prior + (base + p.table.Sum(l, p.dMax, p.weights)))
}

// withoutOffset is the weight of a term at schemas.NoOffset.
func (m *Model) withoutOffset(term []byte) float64 {
	if w := m.weightsOf(hashBytes(term)); w.n > 0 {
		return m.weights[w.at]
	}
	return 0
}

// lookUp returns the weights of a term, which it looks up once.
func (p *Page) lookUp(term uint32) *weightsOf {
	w := &p.found[term]
	if p.turned[term] != p.turn {
		p.turned[term] = p.turn
		*w = p.model.weightsOf(p.table.Hash(term))
	}
	return w
}

// one adds up the weights of a link's tokens without looking at other terms. A token counts at its
// offset and, for models that learnt so, without one; weights of what was not learnt are 0.
func (p *Page) one(l *schemas.Link) (sum float64) {
	for term, offset := range p.table.Tokens(l, p.dMax) {
		p.looked++
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

// seekAll looks up all terms, in steps, so that the cache misses of a step run side by side.
func (p *Page) seekAll() {
	n := p.table.PageTerms()
	p.keys = slices.Grow(p.keys[:0], n)[:n]
	p.weights = slices.Grow(p.weights[:0], n*(2*p.dMax+1))[:n*(2*p.dMax+1)]
	for term := range p.keys {
		p.keys[term] = p.table.Hash(uint32(term))
	}
	for term, key := range p.keys {
		p.found[term] = p.model.weightsOf(key)
	}
	for term, w := range p.found[:n] {
		p.take(term, w)
	}
}

// take copies the weights of a term, that without an offset added to each.
func (p *Page) take(term int, w weightsOf) {
	width := 2*p.dMax + 1
	to := p.weights[term*width:][:width]
	// begin is the column of the term's first offset, which may lie before the first column.
	begin := int(w.from) + p.dMax
	low, high := max(0, begin), min(width, begin+int(w.n)-1)
	clear(to)
	if w.n == 0 {
		return
	}
	if low < high {
		copy(to[low:high], p.model.weights[int(w.at)+1+low-begin:])
	}
	if near := p.model.weights[w.at]; near != 0 {
		for i := range to {
			to[i] += near
		}
	}
}
