package apprentice

import (
	"fmt"
	"math"

	"forager/internal/platform/modelfile"
	"forager/schemas"
)

const logisticKind = "apprentice-logistic"

// Marshal returns the file of the learner and of the model that Model makes of it.
func (c *Logistic) Marshal() []byte {
	var e modelfile.Encoder
	c.settings.encode(&e)
	p := &c.settings.Logistic
	for _, x := range []float64{p.Rate, p.L1, p.L2} {
		e.Float(x)
	}
	c.relevances.encode(&e)
	c.bias.encode(&e)
	byName := c.terms.byName()
	e.Uint(uint64(len(byName)))
	last := ""
	for _, t := range byName {
		e.Prefixed(last, t.name)
		last = t.name
		n := 0
		for i := range t.learnt.all {
			if t.learnt.all[i].seen() {
				n++
			}
		}
		e.Uint(uint64(n))
		before := minOffset
		for _, i := range t.learnt.inOrder() {
			if x := &t.learnt.all[i]; x.seen() {
				offset := int(t.learnt.offset(i))
				e.Uint(uint64(offset - before))
				before = offset
				x.encode(&e)
			}
		}
	}
	c.held.encode(&e)
	return modelfile.Seal(logisticKind, c.settings.version(), e.Bytes())
}

// inOrder returns the indices of coordinates by offset: schemas.NoOffset is the largest.
func (c *coordinates) inOrder() []int {
	order := make([]int, 0, len(c.all))
	for i := 1; i < len(c.all); i++ {
		order = append(order, i)
	}
	return append(order, 0)
}

func (c *coordinate) encode(e *modelfile.Encoder) {
	e.Float(c.z)
	e.Float(c.n)
	e.Uint(uint64(c.low))
	e.Uint(uint64(c.high))
}

// mostState bounds z and n far above their values after 2⁴⁰ leaps, so that no sum overflows.
const mostState = 1 << 120

func (c *coordinate) decode(d *modelfile.Decoder) {
	c.z, c.n = d.Float("z"), d.Float("n")
	c.low, c.high = uint32(d.Uint("leaps to low", math.MaxUint32)), uint32(d.Uint("leaps to high", math.MaxUint32))
	if !(math.Abs(c.z) <= mostState && c.n >= 0 && c.n <= mostState) {
		d.Fail("z = %v, n = %v", c.z, c.n)
	}
}

func (h *held) encode(e *modelfile.Encoder) {
	e.Uint(uint64(len(h.names)))
	for _, name := range h.names {
		e.String(name)
	}
	e.Uint(uint64(len(h.leaps)))
	begin := 0
	for _, l := range h.leaps {
		e.Uint(uint64(l.bin))
		e.Uint(uint64(l.end - begin))
		for _, f := range h.features[begin:l.end] {
			e.Uint(uint64(f.term))
			e.Uint(uint64(f.offset - minOffset))
			e.Uint(uint64(f.count))
		}
		begin = l.end
	}
}

func (h *held) decode(d *modelfile.Decoder) {
	n := d.Len("held terms", 1)
	for range n {
		name := d.String("held term")
		if _, again := h.number[name]; name == "" || again {
			d.Fail("held term %q", name)
		}
		if d.Err() != nil {
			return
		}
		if h.number == nil {
			h.number = make(map[string]uint32)
		}
		h.number[name] = uint32(len(h.names))
		h.names = append(h.names, name)
	}
	for range d.Len("held leaps", 2) {
		bin := int(d.Uint("bin of a held leap", bins-1))
		for range d.Len("features of a held leap", 3) {
			f := heldFeature{term: uint32(d.Uint("held feature", math.MaxUint32))}
			f.offset = int16(d.Uint("offset of a held feature", maxOffset-minOffset)) + minOffset
			f.count = uint32(d.Uint("count of a held feature", math.MaxUint32))
			if int(f.term) >= len(h.names) {
				d.Fail("held feature %d of %d terms", f.term, len(h.names))
			}
			if d.Err() != nil {
				return
			}
			h.features = append(h.features, f)
		}
		h.leaps = append(h.leaps, heldLeap{bin, len(h.features)})
	}
}

// unmarshalLogistic reads a file. Errors are those of package modelfile, which distinguish foreign, newer and damaged
// files.
func unmarshalLogistic(b []byte) (*Logistic, error) {
	version, body, err := modelfile.Open(b, logisticKind, fileVersion)
	if err != nil {
		return nil, fmt.Errorf("apprentice model: %w", err)
	}
	c, err := decodeLogistic(modelfile.NewDecoder(body), version)
	if err != nil {
		return nil, fmt.Errorf("apprentice model: %w", err)
	}
	return c, nil
}

func decodeLogistic(d *modelfile.Decoder, version uint32) (*Logistic, error) {
	c := &Logistic{settings: decodeSettings(d, version, schemas.Learner_LEARNER_LOGISTIC)}
	p := &c.settings.Logistic
	*p = Proximal{Rate: d.Float("rate"), L1: d.Float("l1"), L2: d.Float("l2")}
	if err := p.check(); err != nil {
		d.Fail("%v", err)
	}
	c.relevances.decode(d)
	c.bias.decode(d)
	last := ""
	for range d.Len("terms", 5) {
		name := d.Prefixed("term", last)
		if name <= last {
			d.Fail("term %q behind %q", name, last)
		}
		last = name
		n := d.Len("features of a term", 19)
		if n == 0 {
			d.Fail("term %q has no features", name)
		}
		if d.Err() != nil {
			return nil, d.Err()
		}
		t := c.terms.enter(name)
		before := minOffset
		for i := range n {
			offset := before + int(d.Uint("offset", uint64(maxOffset-before)))
			x := t.learnt.at(int32(offset))
			x.decode(d)
			if i > 0 && offset == before || !x.seen() {
				d.Fail("term %q at offset %d: it comes twice, or never came", name, offset)
			}
			if d.Err() != nil {
				return nil, d.Err()
			}
			before = offset
		}
	}
	c.held.decode(d)
	if learnt, n := c.cut != 0, uint64(len(c.held.leaps)); learnt && n > 0 || !learnt && n != c.Leaps() {
		d.Fail("%d held leaps of %d, cut %d", n, c.Leaps(), c.cut)
	}
	return c, d.End()
}
