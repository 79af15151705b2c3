package critic

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"forager/internal/bayes"
	"forager/internal/calibrate"
	"forager/internal/modelfile"
	"forager/internal/taxonomy"
	"forager/internal/text"
	"forager/schemas"
)

const (
	fileKind    = "critic"
	fileVersion = 2
	oldest      = 2
	// countLimit bounds the counts of a file, so that their sums fit.
	countLimit = 1 << 31
)

// Marshal returns the model's file: the same model, the same bytes.
func (m *Model) Marshal() []byte {
	var e modelfile.Encoder
	e.String(m.cut.String())
	e.Uint(uint64(m.settings.Minimum))
	e.Uint(uint64(m.settings.Cap))
	e.Uint(m.settings.Seed)
	exact := uint64(0)
	if m.settings.Exact {
		exact = 1
	}
	e.Uint(exact)
	e.Uint(uint64(len(m.settings.Provenance)))
	for _, k := range slices.Sorted(maps.Keys(m.settings.Provenance)) {
		e.String(k)
		e.String(m.settings.Provenance[k])
	}

	counts := m.judge.(*flat).counts
	e.Uint(uint64(len(m.classes)))
	for k, name := range m.classes {
		e.String(name)
		e.Uint(counts.Documents[k])
	}
	e.Uint(uint64(len(m.pruned)))
	last := ""
	for _, p := range m.pruned {
		e.Prefixed(last, p.Topic)
		e.Uint(uint64(p.Examples))
		e.Uint(uint64(len(p.Into))) // it is the topic's beginning
		last = p.Topic
	}

	e.Uint(uint64(len(m.words)))
	last = ""
	for f, word := range m.words {
		e.Prefixed(last, word)
		last = word
		lo, hi := counts.Start[f], counts.Start[f+1]
		e.Uint(uint64(hi - lo))
		for i, class := range counts.Class[lo:hi] {
			e.Uint(uint64(class))
			e.Uint(counts.N[int(lo)+i])
		}
	}

	e.Uint(uint64(len(m.heldOut)))
	last = ""
	for _, url := range slices.Sorted(maps.Keys(m.heldOut)) {
		e.Prefixed(last, url)
		last = url
		for _, shares := range [][]share{m.heldOut[url].raw, m.heldOut[url].tempered, m.heldOut[url].calibrated} {
			e.Uint(uint64(len(shares)))
			for _, s := range shares {
				e.Uint(uint64(s.class))
				e.Float(s.p)
			}
		}
	}
	m.calibration.encode(&e)
	return modelfile.Seal(fileKind, fileVersion, e.Bytes())
}

// Unmarshal reads a model's file. Errors are those of package modelfile: bytes that are
// foreign, newer or damaged are told apart.
func Unmarshal(b []byte) (*Model, error) {
	version, body, err := modelfile.Open(b, fileKind, fileVersion)
	if err == nil && version < oldest {
		err = fmt.Errorf("%w: format version %d, this program reads %d; train it again", modelfile.ErrOlder, version, oldest)
	}
	if err != nil {
		return nil, fmt.Errorf("critic model: %w", err)
	}
	m, err := decode(body)
	if err != nil {
		return nil, fmt.Errorf("critic model: %w", err)
	}
	return m, nil
}

func decode(body []byte) (*Model, error) {
	d := modelfile.NewDecoder(body)
	cut, err := text.ParseSettings(d.String("words"))
	if err != nil {
		return nil, fmt.Errorf("%w: %w; train it again", modelfile.ErrForeign, err)
	}
	counts := new(bayes.Counts)
	m := &Model{cut: cut, heldOut: make(map[string]*heldOut)}
	m.settings.Minimum = int(d.Uint("minimum", countLimit))
	m.settings.Cap = int(d.Uint("cap", countLimit))
	m.settings.Seed = d.Uint("seed", math.MaxUint64)
	m.settings.Exact = d.Uint("exact", 1) == 1
	if n := d.Len("provenance", 2); n > 0 {
		m.settings.Provenance = make(map[string]string)
		for range n {
			k := d.String("provenance")
			m.settings.Provenance[k] = d.String("provenance")
		}
	}
	decodeClasses(d, m, counts)
	decodeCounts(d, m, counts)
	decodeHeldOut(d, m)
	m.calibration = decodeCalibration(d, len(m.classes))
	if err := d.End(); err != nil {
		return nil, err
	}
	m.judge = &flat{counts, counts.Model()}
	return newModel(m), nil
}

func decodeClasses(d *modelfile.Decoder, m *Model, counts *bayes.Counts) {
	n := d.Len("classes", 2)
	if n < 2 || n > bayes.MaxClasses {
		d.Fail("%d classes", n)
		return
	}
	for k := range n {
		m.classes = append(m.classes, d.String("class"))
		counts.Documents = append(counts.Documents, d.Uint("documents", countLimit))
		if k > 0 && m.classes[k] <= m.classes[k-1] {
			d.Fail("class %q behind %q", m.classes[k], m.classes[k-1])
		}
		if d.Err() != nil {
			return
		}
	}
	n, last := d.Len("pruned topics", 4), ""
	for range n {
		p := taxonomy.Pruned{Topic: d.Prefixed("pruned topic", last), Examples: int(d.Uint("examples", countLimit))}
		p.Into = p.Topic[:d.Uint("ancestor", uint64(len(p.Topic)))]
		if p.Topic <= last {
			d.Fail("pruned topic %q behind %q", p.Topic, last)
		}
		if d.Err() != nil {
			return
		}
		last = p.Topic
		m.pruned = append(m.pruned, p)
	}
}

func decodeCounts(d *modelfile.Decoder, m *Model, counts *bayes.Counts) {
	n, last := d.Len("words", 5), ""
	counts.Start = append(make([]uint32, 0, n+1), 0)
	m.words = make([]string, 0, n)
	for range n {
		word := d.Prefixed("word", last)
		if word <= last {
			d.Fail("word %q behind %q", word, last)
		}
		last = word
		pairs := d.Len("classes of a word", 2)
		if pairs == 0 {
			d.Fail("word %q never occurs", word)
		}
		for i := range pairs {
			class := uint16(d.Uint("class of a word", uint64(len(m.classes)-1)))
			count := d.Uint("count of a word", countLimit)
			if end := len(counts.Class); i > 0 && class <= counts.Class[end-1] || count == 0 {
				d.Fail("word %q: count %d in class %d", word, count, class)
			}
			if d.Err() != nil {
				return
			}
			counts.Class, counts.N = append(counts.Class, class), append(counts.N, count)
		}
		if d.Err() != nil {
			return
		}
		m.words = append(m.words, word)
		counts.Start = append(counts.Start, uint32(len(counts.Class)))
	}
}

func decodeHeldOut(d *modelfile.Decoder, m *Model) {
	n, last := d.Len("held-out pages", 4), ""
	for range n {
		url := d.Prefixed("held-out page", last)
		if url <= last {
			d.Fail("held-out page %q behind %q", url, last)
		}
		last = url
		h := &heldOut{raw: decodeShares(d, len(m.classes)), tempered: decodeShares(d, len(m.classes)), calibrated: decodeShares(d, len(m.classes))}
		if d.Err() != nil {
			return
		}
		m.heldOut[url] = h
	}
}

func decodeShares(d *modelfile.Decoder, classes int) []share {
	n := d.Len("posteriors", 9)
	if n > classes {
		d.Fail("%d posteriors of %d classes", n, classes)
		return nil
	}
	shares := make([]share, 0, n)
	for i := range n {
		s := share{uint16(d.Uint("class of a posterior", uint64(classes-1))), d.Float("posterior")}
		if !(s.p >= leastShare && s.p <= 1) || i > 0 && s.class <= shares[i-1].class {
			d.Fail("posterior %g of class %d", s.p, s.class)
		}
		if d.Err() != nil {
			return nil
		}
		shares = append(shares, s)
	}
	return shares
}

func (c *calibration) encode(e *modelfile.Encoder) {
	e.Uint(uint64(c.takes))
	if c.takes != schemas.Posterior_POSTERIOR_CALIBRATED {
		return
	}
	for _, curve := range c.classes {
		encodeCurve(e, curve)
	}
	if c.best == nil {
		e.Uint(0)
		return
	}
	e.Uint(1)
	encodeCurve(e, c.best)
}

func encodeCurve(e *modelfile.Encoder, c *calibrate.Curve) {
	e.Uint(uint64(c.Shape))
	if c.Shape == calibrate.Sigmoid {
		e.Float(c.A)
		e.Float(c.B)
		return
	}
	e.Uint(uint64(len(c.X)))
	for i := range c.X {
		e.Float(c.X[i])
		e.Float(c.Y[i])
	}
}

func decodeCalibration(d *modelfile.Decoder, classes int) *calibration {
	c := &calibration{takes: schemas.Posterior(d.Uint("calibration", uint64(schemas.Posterior_POSTERIOR_CALIBRATED)))}
	if c.takes == schemas.Posterior_POSTERIOR_UNSPECIFIED {
		d.Fail("calibration by no posterior")
	}
	if c.takes != schemas.Posterior_POSTERIOR_CALIBRATED {
		return c
	}
	for range classes {
		curve := decodeCurve(d)
		if d.Err() != nil {
			return c
		}
		c.classes = append(c.classes, curve)
	}
	if d.Uint("whether there is a curve of the best class", 1) == 1 {
		c.best = decodeCurve(d)
	}
	return c
}

func decodeCurve(d *modelfile.Decoder) *calibrate.Curve {
	c := &calibrate.Curve{Shape: calibrate.Shape(d.Uint("shape of a curve", uint64(calibrate.Isotonic)))}
	if c.Shape == calibrate.Sigmoid {
		c.A, c.B = d.Float("slope"), d.Float("intercept")
	} else {
		for range d.Len("points of a curve", 16) {
			c.X, c.Y = append(c.X, d.Float("score")), append(c.Y, d.Float("probability"))
		}
	}
	if err := c.Check(); err != nil && d.Err() == nil {
		d.Fail("%v", err)
	}
	return c
}
