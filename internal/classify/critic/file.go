package critic

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"forager/internal/classify/bayes"
	"forager/internal/classify/taxonomy"
	"forager/internal/page/text"
	"forager/internal/platform/modelfile"
)

// FileKind is the kind of a model's file (package modelfile).
const FileKind = "critic"

const (
	fileVersion   = 2
	oldestVersion = 2
	// countLimit bounds counts in a file, so that sums of them do not overflow.
	countLimit = 1 << 31
)

// Marshal returns the model's file: the same model, the same bytes. What is looked up during judging is at its
// end, in arrays that are read in place.
func (m *Model) Marshal() []byte {
	e := modelfile.NewEncoder(FileKind, fileVersion)
	e.String(m.cut.String())
	m.settings.encode(e)
	m.measures.encode(e)
	e.Uint(uint64(len(m.classes)))
	for _, name := range m.classes {
		e.String(name)
	}
	e.Uint(uint64(len(m.pruned)))
	last := ""
	for _, p := range m.pruned {
		e.Prefixed(last, p.Topic)
		e.Uint(uint64(p.Examples))
		e.Uint(uint64(len(p.Into))) // it is the topic's beginning
		last = p.Topic
	}
	m.calibration.encode(e)
	m.words.encode(e)
	m.judge.encode(e)
	m.unseen.encode(e)
	return modelfile.Seal(FileKind, fileVersion, e.Bytes())
}

// Unmarshal reads a model's file. The model shares memory with b, which must not be modified. Errors are those of
// package modelfile, which distinguishes foreign, older, newer and damaged files.
func Unmarshal(b []byte) (*Model, error) {
	version, body, err := modelfile.Open(b, FileKind, fileVersion)
	if err == nil && version < oldestVersion {
		err = fmt.Errorf("%w: format version %d, this program reads %d; train it again", modelfile.ErrOlder, version, oldestVersion)
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

// UnmarshalMapped is Unmarshal for a mapped file, which the model keeps open.
func UnmarshalMapped(file *modelfile.Mapped) (*Model, error) {
	m, err := Unmarshal(file.Bytes())
	if err != nil {
		return nil, err
	}
	m.file = file
	return m, nil
}

func decode(body []byte) (*Model, error) {
	d := modelfile.NewDecoder(body)
	cut, err := text.ParseSettings(d.String("words"))
	if err != nil {
		return nil, fmt.Errorf("%w: %w; train it again", modelfile.ErrForeign, err)
	}
	m := &Model{cut: cut, settings: decodeSettings(d), measures: decodeMeasured(d)}
	decodeClasses(d, m)
	m.calibration = decodeCalibration(d, len(m.classes))
	m.words = decodeVocabulary(d)
	if d.Err() != nil {
		return nil, d.Err()
	}
	switch m.settings.Method {
	case Bayes:
		m.judge = &flat{decodeTable(d, m.words.len(), len(m.classes))}
	case BayesTree:
		m.judge = decodeTree(d, m)
	case Logistic:
		m.judge = decodeHashed(d, m)
	}
	m.unseen = decodeUnseen(d, len(m.classes))
	if err := d.End(); err != nil {
		return nil, err
	}
	return newModel(m), nil
}

func (s *Settings) encode(e *modelfile.Encoder) {
	e.String(string(s.Method))
	e.Uint(uint64(s.Features))
	e.Uint(uint64(s.Minimum))
	e.Uint(uint64(s.Cap))
	e.Uint(s.Seed)
	exact := uint64(0)
	if s.Exact {
		exact = 1
	}
	e.Uint(exact)
	e.Uint(uint64(len(s.Provenance)))
	for _, k := range slices.Sorted(maps.Keys(s.Provenance)) {
		e.String(k)
		e.String(s.Provenance[k])
	}
}

func decodeSettings(d *modelfile.Decoder) Settings {
	s := Settings{Method: Method(d.String("method"))}
	if !slices.Contains(Methods, s.Method) {
		d.Fail("method %q", s.Method)
	}
	s.Features = int(d.Uint("features", countLimit))
	s.Minimum = int(d.Uint("minimum", countLimit))
	s.Cap = int(d.Uint("cap", countLimit))
	s.Seed = d.Uint("seed", math.MaxUint64)
	s.Exact = d.Uint("exact", 1) == 1
	n, last := d.Len("provenance", 2), ""
	for i := range n {
		k := d.String("provenance")
		if i == 0 {
			s.Provenance = make(map[string]string)
		} else if k <= last {
			d.Fail("provenance %q behind %q", k, last)
		}
		last, s.Provenance[k] = k, d.String("provenance")
		if d.Err() != nil {
			break
		}
	}
	return s
}

// numbers returns the measures in the order of a file.
func (m *Measured) numbers() (all []*float64) {
	for _, x := range []*Measures{&m.Raw, &m.Tempered, &m.Calibrated} {
		all = append(all, &x.Accuracy, &x.LogLoss, &x.ECE)
	}
	return all
}

func (m Measured) encode(e *modelfile.Encoder) {
	for _, x := range m.numbers() {
		e.Float(*x)
	}
}

func decodeMeasured(d *modelfile.Decoder) (m Measured) {
	for _, x := range m.numbers() {
		*x = d.Float("measure")
	}
	return m
}

func decodeClasses(d *modelfile.Decoder, m *Model) {
	n := d.Len("classes", 1)
	if n < 2 || n > bayes.MaxClasses {
		d.Fail("%d classes", n)
	}
	for k := range n {
		m.classes = append(m.classes, d.String("class"))
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
