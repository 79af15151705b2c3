package apprentice

import (
	"fmt"
	"slices"

	"forager/internal/modelfile"
)

const (
	fileKind    = "apprentice"
	fileVersion = 1
	// countLimit bounds the counts of a file, so that their sums fit.
	countLimit = 1 << 40
)

// Marshal returns the file of the counts and of the model that Model makes of them: the same
// leaps, the same bytes.
func (c *Counts) Marshal() []byte {
	var e modelfile.Encoder
	e.Uint(uint64(c.cut))
	for _, n := range c.leaps {
		e.Uint(n)
	}
	// By term, offset and bin.
	order := make([]uint32, len(c.terms))
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortFunc(order, func(a, b uint32) int {
		if c.terms[a] < c.terms[b] {
			return -1
		}
		return 1
	})
	of := make([][]cell, len(c.terms))
	for cell := range c.cells {
		of[cell.term()] = append(of[cell.term()], cell)
	}
	e.Uint(uint64(len(order)))
	last := ""
	for _, term := range order {
		e.Prefixed(last, c.terms[term])
		last = c.terms[term]
		cells := of[term]
		slices.Sort(cells)
		e.Uint(uint64(len(cells)))
		before := cell(0)
		for _, x := range cells {
			e.Uint(uint64(x&places - before))
			before = x & places
			e.Uint(c.cells[x])
		}
	}
	return modelfile.Seal(fileKind, fileVersion, e.Bytes())
}

// UnmarshalCounts reads a file. Errors are those of package modelfile: bytes that are foreign,
// newer or damaged are told apart.
func UnmarshalCounts(b []byte) (*Counts, error) {
	_, body, err := modelfile.Open(b, fileKind, fileVersion)
	if err != nil {
		return nil, fmt.Errorf("apprentice model: %w", err)
	}
	c, err := decode(body)
	if err != nil {
		return nil, fmt.Errorf("apprentice model: %w", err)
	}
	return c, nil
}

// Unmarshal reads the model of a file; errors as of UnmarshalCounts.
func Unmarshal(b []byte) (*Model, error) {
	c, err := UnmarshalCounts(b)
	if err != nil {
		return nil, err
	}
	return c.Model(), nil
}

// places are the bits of a cell that say offset and bin.
const places = 1<<17 - 1

func decode(body []byte) (*Counts, error) {
	d := modelfile.NewDecoder(body)
	c := NewCounts()
	c.cut = int(d.Uint("cut", maxCut))
	if c.cut != 0 && c.cut < minCut {
		d.Fail("cut %d", c.cut)
	}
	for b := range c.leaps {
		c.leaps[b] = d.Uint("leaps of a bin", countLimit)
	}
	if c.cut != 0 && c.Leaps() == 0 {
		d.Fail("cut %d without leaps", c.cut)
	}
	n, last := d.Len("terms", 5), ""
	for range n {
		term := d.Prefixed("term", last)
		if term <= last {
			d.Fail("term %q behind %q", term, last)
		}
		last = term
		cells := d.Len("counts of a term", 2)
		if cells == 0 {
			d.Fail("term %q never occurs", term)
		}
		number := c.number(term)
		place := uint64(0)
		for i := range cells {
			step := d.Uint("place of a count", places)
			count := d.Uint("count", countLimit)
			place += step
			x := cell(number)<<17 | cell(place)
			if i > 0 && step == 0 || place > places || x.bin() >= bins || count == 0 || c.leaps[x.bin()] == 0 {
				d.Fail("term %q: count %d at place %d", term, count, place)
			}
			if d.Err() != nil {
				return nil, d.Err()
			}
			c.cells[x] = count
		}
		if d.Err() != nil {
			return nil, d.Err()
		}
	}
	if err := d.End(); err != nil {
		return nil, err
	}
	return c, nil
}
