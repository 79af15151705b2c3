package apprentice

import (
	"fmt"
	"math"

	"forager/internal/linkfeature"
	"forager/internal/modelfile"
)

const (
	fileKind = "apprentice"
	// Version 2 names the families of features. Version 1, of both learners, is that of
	// linkfeature.Offsets alone, and is still written for it: models of crawls under way keep their bytes.
	fileVersion = 2
)

// versionOf is the version that a learner's file has.
func versionOf(f linkfeature.Families) uint32 {
	if f == linkfeature.Offsets {
		return 1
	}
	return fileVersion
}

// encodeFamilies writes the families where the version has them, and decodeFamilies reads them.
func encodeFamilies(e *modelfile.Encoder, f linkfeature.Families) {
	if versionOf(f) > 1 {
		e.Uint(uint64(f))
	}
}

func decodeFamilies(d *modelfile.Decoder, version uint32) linkfeature.Families {
	if version == 1 {
		return linkfeature.Offsets
	}
	f := linkfeature.Families(d.Uint("families of features", math.MaxUint32))
	if err := linkfeature.CheckFamilies(f); err != nil || f == linkfeature.Offsets {
		d.Fail("families of features %v, in version %d", f, version)
	}
	return f
}

// Marshal returns the file of the counts and of the model that Model makes of them: the same
// leaps, the same bytes.
func (c *Counts) Marshal() []byte {
	var e modelfile.Encoder
	encodeFamilies(&e, c.families)
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
	return modelfile.Seal(fileKind, versionOf(c.families), e.Bytes())
}

// UnmarshalCounts reads a file. Errors are those of package modelfile: bytes that are foreign,
// newer or damaged are told apart.
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
	c := &Counts{families: decodeFamilies(d, version)}
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
