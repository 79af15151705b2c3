package contextgraph

import (
	"maps"
	"math"
	"slices"

	"forager/internal/platform/modelfile"
)

const (
	// maxLayers and maxComponents bound what a file may hold.
	maxLayers, maxComponents = 64, 1 << 20
)

// Settings returns the settings of the training.
func (m *Model) Settings() Settings { return m.settings }

// Encode writes the model into the body of a file.
func (m *Model) Encode(e *modelfile.Encoder) {
	s := m.settings
	e.Uint(uint64(s.Components))
	e.Uint(bit(s.WithLayer1))
	e.Uint(bit(s.Raw))
	e.Float(s.Quantile)
	words := slices.SortedFunc(maps.Keys(m.words), func(a, b string) int { return int(m.words[a]) - int(m.words[b]) })
	e.Words(words)
	modelfile.PutArray(e, m.idf)
	e.Uint(uint64(len(m.theta)))
	for i, theta := range m.theta {
		modelfile.PutArray(e, theta)
		e.Float(m.least[i])
	}
}

func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// Decode reads what Encode wrote; errors are those of the Decoder.
func Decode(d *modelfile.Decoder) *Model {
	m := &Model{words: make(map[string]uint32)}
	m.settings = Settings{Components: int(d.Uint("components", maxComponents)), WithLayer1: d.Uint("layer 1", 1) == 1, Raw: d.Uint("raw", 1) == 1}
	m.settings.Quantile = d.Float("quantile")
	if s := m.settings; s.Components < 1 || !(s.Quantile >= 0 && s.Quantile < 1) {
		d.Fail("%d components and quantile %v", s.Components, s.Quantile)
	}
	m.decodeWords(d)
	n := int(d.Uint("layers", maxLayers))
	for range n {
		theta := modelfile.Array[float64](d, "words of a layer")
		if len(theta) != 0 && len(theta) != len(m.idf) {
			d.Fail("a layer with %d words of %d", len(theta), len(m.idf))
		}
		for _, v := range theta {
			if !(v <= 0) || math.IsInf(v, 0) {
				d.Fail("a word of a layer has the log-probability %v", v)
			}
		}
		least := d.Float("threshold")
		if math.IsInf(least, -1) {
			theta, least = nil, math.Inf(1) // a layer without words, which older files let win
		}
		m.theta, m.least = append(m.theta, theta), append(m.least, least)
		if d.Err() != nil {
			return m
		}
	}
	if len(m.theta) == 0 || m.theta[0] == nil {
		d.Fail("layer 0 is empty")
	}
	return m
}

// decodeWords reads V and the weights of its words.
func (m *Model) decodeWords(d *modelfile.Decoder) {
	for i, w := range d.Words("words") {
		m.words[w] = uint32(i)
	}
	m.idf = modelfile.Array[float64](d, "weights of words")
	if n := len(m.words); len(m.idf) != n || n == 0 {
		d.Fail("%d weights of %d words", len(m.idf), n)
	}
	for _, v := range m.idf {
		if !(v >= 0) || math.IsInf(v, 0) {
			d.Fail("a word weighs %v", v)
		}
	}
}
