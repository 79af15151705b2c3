package apprentice

import (
	"cmp"
	"fmt"
	"math"

	"forager/internal/platform/modelfile"
	"forager/internal/rank/linkfeature"
	"forager/schemas"
)

const (
	fileKind = "apprentice"
	// Version 2 adds the families of features, version 3 how they are counted and smoothed. Each version is still written
	// where the later fields have their defaults, so that the models of crawls under way keep their bytes. Version 1, of
	// both learners, implies linkfeature.Offsets.
	fileVersion = 3
)

// version returns the version of a learner's file.
func (s Settings) version() uint32 {
	switch {
	case s.Count != plainly.Count || s.Smooth > 0:
		return 3
	case s.Families != plainly.Families:
		return 2
	}
	return 1
}

// encode writes the settings that the version has, except those of logistic regression; decodeSettings reads them.
func (s Settings) encode(e *modelfile.Encoder) {
	version := s.version()
	if version > 1 {
		e.Uint(uint64(s.Families))
	}
	if version > 2 {
		e.Uint(uint64(s.Count))
		e.Uint(uint64(s.Smooth))
	}
}

func decodeSettings(d *modelfile.Decoder, version uint32, learner schemas.Learner) Settings {
	s := plainly
	s.Learner = learner
	if version > 1 {
		s.Families = linkfeature.Families(d.Uint("families of features", math.MaxUint32))
	}
	if version > 2 {
		s.Count, s.Smooth = schemas.Counting(d.Uint("counting", math.MaxInt32)), uint32(d.Uint("smoothing", mostSmooth))
	}
	if d.Err() != nil {
		return s
	}
	if err := cmp.Or(linkfeature.CheckFamilies(s.Families), s.check()); err != nil {
		d.Fail("settings: %v", err)
	} else if s.version() != version {
		d.Fail("settings %v, in version %d", s, version)
	}
	return s
}

// Marshal returns the file of the counts and of the model that Model makes of them. The same leaps give the same bytes.
func (c *Counts) Marshal() []byte {
	var e modelfile.Encoder
	c.settings.encode(&e)
	c.relevances.encode(&e)
	byName := c.terms.byName()
	e.Uint(uint64(len(byName)))
	last := ""
	var sorted []cell
	for _, t := range byName {
		e.Prefixed(last, t.name)
		last = t.name
		sorted = t.learnt.sorted(sorted)
		e.Uint(uint64(len(sorted)))
		before := place(0)
		for _, x := range sorted {
			e.Uint(uint64(x.place() - before))
			before = x.place()
			e.Uint(x.count())
		}
	}
	return modelfile.Seal(fileKind, c.settings.version(), e.Bytes())
}

// UnmarshalCounts reads a file. Errors are those of package modelfile, which distinguish foreign, newer and damaged files.
func UnmarshalCounts(b []byte) (*Counts, error) {
	version, body, err := modelfile.Open(b, fileKind, fileVersion)
	if err != nil {
		return nil, fmt.Errorf("apprentice model: %w", err)
	}
	c, err := decode(body, version)
	if err != nil {
		return nil, fmt.Errorf("apprentice model: %w", err)
	}
	return c, nil
}

func decode(body []byte, version uint32) (*Counts, error) {
	d := modelfile.NewDecoder(body)
	c := &Counts{settings: decodeSettings(d, version, schemas.Learner_LEARNER_BAYES)}
	c.relevances.decode(d)
	n, last := d.Len("terms", 5), ""
	for range n {
		name := d.Prefixed("term", last)
		if name <= last {
			d.Fail("term %q behind %q", name, last)
		}
		last = name
		cells := d.Len("counts of a term", 2)
		if cells == 0 {
			d.Fail("term %q never occurs", name)
		}
		if d.Err() != nil {
			return nil, d.Err()
		}
		t := c.terms.enter(name)
		before := place(0)
		for i := range cells {
			p := before + place(d.Uint("place of a count", uint64(maxPlace-before)))
			n := d.Uint("count", countLimit)
			if i > 0 && p == before || p.bin() >= bins || n == 0 || c.leaps[p.bin()] == 0 {
				d.Fail("term %q: count %d at offset %d, bin %d", name, n, p.offset(), p.bin())
			}
			if d.Err() != nil {
				return nil, d.Err()
			}
			t.learnt.add(p, n)
			before = p
		}
	}
	if err := d.End(); err != nil {
		return nil, err
	}
	return c, nil
}
