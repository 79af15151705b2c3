package bayes

import "math"

// TemperLength is L of the tempered posterior: the number of words that a page counts for at most.
const TemperLength = 100

// Model scores documents. It is safe for concurrent use.
type Model struct {
	table       *Table
	prior       []float64 // log Pr(c); −∞ for a class without documents
	denominator []float64 // log(|T| + tokens of c)
	// levels are the gains log(1 + n(c,τ)) of the table's levels, that of n = 0 first.
	levels []float64
	// near are the first of them, for rows: an index below its length needs no check, which makes rows
	// twice as fast.
	near *[rowLevels]float64
}

// Model takes the logarithms. Without documents in any class, all classes are equally likely.
func (c *Counts) Model() *Model { return c.Table().Model() }

// Model takes the logarithms of a table, which must not be modified afterwards: one made by Counts, or accepted by
// Check.
func (t *Table) Model() *Model {
	m := &Model{
		table: t, prior: make([]float64, len(t.Documents)), denominator: make([]float64, len(t.Documents)),
		levels: make([]float64, 1, len(t.Levels)+1),
	}
	for _, n := range t.Levels {
		m.levels = append(m.levels, math.Log(1+float64(n)))
	}
	if len(t.Rows) > 0 {
		m.near = new([rowLevels]float64)
		copy(m.near[:], m.levels)
	}
	var documents uint64
	for _, n := range t.Documents {
		documents += n
	}
	vocabulary := t.vocabulary()
	for k, n := range t.Documents {
		if documents > 0 {
			m.prior[k] = math.Log(float64(n) / float64(documents))
		}
		// An empty vocabulary never meets a known word; its denominator is never used.
		m.denominator[k] = math.Log(max(1, float64(vocabulary)+float64(t.Tokens[k])))
	}
	return m
}

// Table returns the model's table, which must not be modified.
func (m *Model) Table() *Table { return m.table }

// Classes returns the number of classes.
func (m *Model) Classes() int { return len(m.prior) }

// LogPrior returns log Pr(c), −∞ for a class without documents.
func (m *Model) LogPrior(class int) float64 { return m.prior[class] }

// Known reports whether a feature occurs in training.
func (m *Model) Known(feature uint32) bool {
	t := m.table
	return int(feature) < t.Features() && t.Start[feature] < t.Start[feature+1]
}

// place is where the cells of a feature are, and the number of its row from 1; 0 = it has none.
type place struct{ lo, hi, row uint32 }

// LogLikelihood sets dst, one number a class, to Σ_τ n(τ)·log θ(c,τ) over the features that occur in training, and
// returns Σ_τ n(τ) over them.
func (m *Model) LogLikelihood(dst []float64, document *Bag) (known uint64) {
	clear(dst)
	t := m.table
	rows := waiting{levels: m.near}
	// The places of some features are looked up before any is used, and then their cells: the processor waits for
	// memory once for all of them.
	var places [32]place
	for from := 0; from < len(document.Features); from += len(places) {
		features := document.Features[from:min(from+len(places), len(document.Features))]
		for i, f := range features {
			places[i] = place{}
			if int(f) < len(t.Row) {
				places[i] = place{t.Start[f], t.Start[f+1], t.Row[f]}
			}
		}
		for _, p := range places[:len(features)] {
			if p.row > 0 {
				rows.near |= t.Rows[int(p.row-1)*len(dst)]
			} else if p.lo < p.hi {
				rows.near |= uint16(t.Cells[p.lo] | t.Cells[p.lo+(p.hi-p.lo)/2] | t.Cells[p.hi-1])
			}
		}
		for i, p := range places[:len(features)] {
			if p.lo == p.hi {
				continue
			}
			known += uint64(document.Counts[from+i])
			n := float64(document.Counts[from+i])
			if p.row > 0 {
				rows.add(dst, t.Rows[int(p.row-1)*len(dst):int(p.row)*len(dst)], n)
			} else {
				m.pick(dst, p, n)
			}
		}
	}
	rows.flush(dst)
	for k := range dst {
		dst[k] -= float64(float64(known) * m.denominator[k])
	}
	return known
}

// pick adds the gains of a feature without a row, multiplied by times.
func (m *Model) pick(dst []float64, p place, times float64) {
	for j, x := range m.table.Cells[p.lo:p.hi] {
		level := x >> 16
		gain := m.levels[level]
		if level == 0 {
			gain = math.Log(1 + float64(m.table.Beyond[int(p.lo)+j]))
		}
		dst[uint16(x)] += float64(times * gain) // the conversion forbids fusing: same bits on every machine
	}
}

// lineLevels is the number of levels in a cache line of the processor (64 bytes).
const lineLevels = 32

// waiting are rows that are added together, so that each sum is read and written once for several of them.
// Features that occur once, as most do, need no product and are kept separately.
type waiting struct {
	levels *[rowLevels]float64
	once   [8][]uint16
	often  [4][]uint16
	times  [4]float64 // of the rows of often
	n      struct{ once, often int }
	// near has no meaning: it depends on what was read of the rows, so that the compiler keeps the reads, which
	// bring them into the nearest cache.
	near uint16
}

// add adds a row, multiplied by times, to dst: at once or together with the next ones.
func (w *waiting) add(dst []float64, row []uint16, times float64) {
	if times == 1 {
		w.once[w.n.once] = row
		if w.n.once++; w.n.once == len(w.once) {
			w.addOnce(dst)
		}
		return
	}
	w.often[w.n.often], w.times[w.n.often] = row, times
	if w.n.often++; w.n.often == len(w.often) {
		w.addOften(dst)
	}
}

// addOnce adds the rows of once, when it is full.
func (w *waiting) addOnce(dst []float64) {
	w.n.once = 0
	of := w.levels
	a, b, c, d := w.once[0][:len(dst)], w.once[1][:len(dst)], w.once[2][:len(dst)], w.once[3][:len(dst)]
	e, f, g, h := w.once[4][:len(dst)], w.once[5][:len(dst)], w.once[6][:len(dst)], w.once[7][:len(dst)]
	for k := 0; k < len(dst); k += lineLevels {
		w.near |= a[k] | b[k] | c[k] | d[k] | e[k] | f[k] | g[k] | h[k]
	}
	for k := range dst {
		dst[k] += of[a[k]%rowLevels] + of[b[k]%rowLevels] + of[c[k]%rowLevels] + of[d[k]%rowLevels] +
			of[e[k]%rowLevels] + of[f[k]%rowLevels] + of[g[k]%rowLevels] + of[h[k]%rowLevels]
	}
}

// addOften adds the rows of often, when it is full.
func (w *waiting) addOften(dst []float64) {
	w.n.often = 0
	of := w.levels
	a, b, c, d := w.often[0][:len(dst)], w.often[1][:len(dst)], w.often[2][:len(dst)], w.often[3][:len(dst)]
	ta, tb, tc, td := w.times[0], w.times[1], w.times[2], w.times[3]
	for k := 0; k < len(dst); k += lineLevels {
		w.near |= a[k] | b[k] | c[k] | d[k]
	}
	for k := range dst { // conversions as in pick
		dst[k] = dst[k] + float64(ta*of[a[k]%rowLevels]) +
			float64(tb*of[b[k]%rowLevels]) + float64(tc*of[c[k]%rowLevels]) + float64(td*of[d[k]%rowLevels])
	}
}

// flush adds the remaining rows.
func (w *waiting) flush(dst []float64) {
	for _, row := range w.once[:w.n.once] {
		for k, level := range row[:len(dst)] {
			dst[k] += w.levels[level%rowLevels]
		}
	}
	for i, row := range w.often[:w.n.often] {
		for k, level := range row[:len(dst)] {
			dst[k] += float64(w.times[i] * w.levels[level%rowLevels])
		}
	}
	w.n.once, w.n.often = 0, 0
}

// Temper returns the divisor of the log likelihood of a document with the given number of known words.
func Temper(known uint64) float64 { return max(1, float64(known)/TemperLength) }

// Posterior sets dst to Pr(c|u), which sums to 1, given the log likelihood of u and its
// divisor: 1 for the raw posterior, Temper(known) for the tempered one. dst and likelihood may
// be the same slice.
func (m *Model) Posterior(dst, likelihood []float64, divisor float64) {
	m.Joint(dst, likelihood, divisor)
	Normalise(dst, dst)
}

// Joint sets dst to log Pr(c) + likelihood/divisor: the logarithm of Posterior up to a constant.
func (m *Model) Joint(dst, likelihood []float64, divisor float64) {
	for k, l := range likelihood {
		dst[k] = m.prior[k] + l/divisor
	}
}

// Normalise sets dst to the probabilities with the given logarithms, up to a constant. The two may be the same
// slice.
func Normalise(dst, logs []float64) { Divide(dst, dst, Exponentials(dst, logs)) }

// Exponentials sets dst to the probabilities with the given logarithms, up to a constant, each as a multiple of
// the highest, and returns their sum. The two may be the same slice.
func Exponentials(dst, logs []float64) (sum float64) {
	top := math.Inf(-1)
	for _, l := range logs {
		top = max(top, l)
	}
	for k, l := range logs {
		dst[k] = math.Exp(l - top)
		sum += dst[k]
	}
	return sum
}

// Divide sets dst to the numbers divided by their sum. The two may be the same slice.
func Divide(dst, numbers []float64, sum float64) {
	for k, x := range numbers {
		dst[k] = x / sum
	}
}
