package qvalue

import (
	"fmt"

	"forager/internal/classify/bayes"
	"forager/internal/page/text"
	"forager/internal/platform/modelfile"
)

// Kind of files.
const Kind = "q-value"

const (
	fileVersion = 1
	maxCount    = 1 << 40
)

// Marshal returns the model's file: the same model gives the same bytes.
func (m *Model) Marshal() []byte {
	var e modelfile.Encoder
	e.String(m.settings.Words.String())
	e.Float(m.settings.Gamma)
	e.Uint(uint64(m.settings.Bins))
	e.Uint(uint64(m.settings.Reach))
	for k, q := range m.means {
		e.Float(q)
		e.Uint(m.counts.Documents[k])
	}
	e.Uint(uint64(len(m.words)))
	last := ""
	for f, w := range m.words {
		e.Prefixed(last, w)
		last = w
		lo, hi := m.counts.Start[f], m.counts.Start[f+1]
		e.Uint(uint64(hi - lo))
		for i := lo; i < hi; i++ {
			e.Uint(uint64(m.counts.Class[i]))
			e.Uint(m.counts.N[i])
		}
	}
	return modelfile.Seal(Kind, fileVersion, e.Bytes())
}

// Unmarshal reads what Marshal wrote. Errors are those of package modelfile.
func Unmarshal(b []byte) (*Model, error) {
	_, body, err := modelfile.Open(b, Kind, fileVersion)
	if err != nil {
		return nil, fmt.Errorf("guide %s: %w", Kind, err)
	}
	m, err := decode(modelfile.NewDecoder(body))
	if err != nil {
		return nil, fmt.Errorf("guide %s: %w", Kind, err)
	}
	return m, nil
}

func decode(d *modelfile.Decoder) (*Model, error) {
	m := &Model{}
	how := d.String("settings of words")
	m.settings.Gamma, m.settings.Bins, m.settings.Reach = d.Float("discount"), int(d.Uint("bins", maxBins)), int(d.Uint("reach", maxReach))
	if d.Err() == nil {
		if err := m.settings.check(); err != nil {
			d.Fail("%v", err)
		}
	}
	if d.Err() != nil {
		return nil, d.Err()
	}
	var err error
	if m.settings.Words, err = text.ParseSettings(how); err != nil {
		return nil, fmt.Errorf("%w: %w; train it again", modelfile.ErrForeign, err)
	}
	m.decodeBins(d)
	m.decodeWords(d)
	if err := d.End(); err != nil {
		return nil, err
	}
	m.index()
	m.bayes = m.counts.Model()
	return m, nil
}

// decodeBins reads the means and the numbers of links.
func (m *Model) decodeBins(d *modelfile.Decoder) {
	m.counts = new(bayes.Counts)
	var links uint64
	for k := range m.settings.Bins {
		q := d.Float("mean of a bin")
		if !(q >= 0 && q <= m.settings.most()) {
			d.Fail("bin %d has the mean %v", k, q)
		}
		n := d.Uint("links of a bin", maxCount)
		m.means, m.counts.Documents = append(m.means, q), append(m.counts.Documents, n)
		links += n
	}
	if links == 0 {
		d.Fail("no link taught it")
	}
}

// decodeWords reads the words with their counts.
func (m *Model) decodeWords(d *modelfile.Decoder) {
	last := ""
	m.counts.Start = append(m.counts.Start, 0)
	for i := range d.Len("words", 5) {
		w := d.Prefixed("word", last)
		if i > 0 && w <= last {
			d.Fail("word %q behind %q", w, last)
		}
		last, m.words = w, append(m.words, w)
		bins := int(d.Uint("bins of a word", uint64(m.settings.Bins)))
		if bins == 0 {
			d.Fail("word %q was never met", w)
		}
		for j := range bins {
			k, n := d.Uint("bin", uint64(m.settings.Bins-1)), d.Uint("count", maxCount)
			if d.Err() != nil {
				return
			}
			if before := len(m.counts.Class) - 1; j > 0 && k <= uint64(m.counts.Class[before]) || n == 0 {
				d.Fail("word %q was met %d times in bin %d", w, n, k)
			}
			m.counts.Class, m.counts.N = append(m.counts.Class, uint16(k)), append(m.counts.N, n)
		}
		m.counts.Start = append(m.counts.Start, uint32(len(m.counts.Class)))
		if d.Err() != nil {
			return
		}
	}
}
