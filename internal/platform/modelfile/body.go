package modelfile

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Encoder writes a body. The zero value is ready; NewEncoder is for bodies with arrays.
type Encoder struct {
	b    []byte
	base int // bytes of the file before the body
}

// Bytes returns the body written so far.
func (e *Encoder) Bytes() []byte { return e.b }

// Uint writes a number as a varint.
func (e *Encoder) Uint(v uint64) { e.b = binary.AppendUvarint(e.b, v) }

// Float writes the 8 bytes of a float64.
func (e *Encoder) Float(v float64) {
	e.b = binary.LittleEndian.AppendUint64(e.b, math.Float64bits(v))
}

// String writes the length of a string and the string.
func (e *Encoder) String(s string) {
	e.Uint(uint64(len(s)))
	e.b = append(e.b, s...)
}

// Decoder reads a body. The first problem is kept: later reads return zero values, and Err and End
// return the problem.
type Decoder struct {
	b   []byte
	at  int
	err error
}

// NewDecoder returns a Decoder of b.
func NewDecoder(b []byte) *Decoder { return &Decoder{b: b} }

// Fail records a problem that the caller found, unless one was recorded before.
func (d *Decoder) Fail(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf("%w: at byte %d of the body: %s", ErrDamaged, d.at, fmt.Sprintf(format, args...))
	}
}

// Err returns the first problem.
func (d *Decoder) Err() error { return d.err }

// End returns the first problem, or an error if bytes are left over.
func (d *Decoder) End() error {
	if d.err == nil && d.at != len(d.b) {
		d.Fail("%d bytes are left over", len(d.b)-d.at)
	}
	return d.err
}

// Uint reads a number that is at most limit.
func (d *Decoder) Uint(what string, limit uint64) uint64 {
	if d.err != nil {
		return 0
	}
	v, n := binary.Uvarint(d.b[d.at:])
	if n <= 0 {
		d.Fail("%s: no number there", what)
		return 0
	}
	if v > limit {
		d.Fail("%s: %d, at most %d", what, v, limit)
		return 0
	}
	d.at += n
	return v
}

// Len reads the number of items that follow, each of at least size bytes (≥ 1), so that a damaged
// number cannot lead to an allocation larger than the file.
func (d *Decoder) Len(what string, size int) int {
	return int(d.Uint(what, uint64(len(d.b)-d.at)/uint64(size)))
}

// Float reads a float64 that is not NaN.
func (d *Decoder) Float(what string) float64 {
	if d.err != nil {
		return 0
	}
	if len(d.b)-d.at < 8 {
		d.Fail("%s: no number there", what)
		return 0
	}
	v := math.Float64frombits(binary.LittleEndian.Uint64(d.b[d.at:]))
	if math.IsNaN(v) {
		d.Fail("%s: not a number", what)
		return 0
	}
	d.at += 8
	return v
}

// String reads a string.
func (d *Decoder) String(what string) string {
	n := d.Len(what, 1)
	if d.err != nil {
		return ""
	}
	if n > len(d.b)-d.at {
		d.Fail("%s: %d bytes, %d are left", what, n, len(d.b)-d.at)
		return ""
	}
	s := string(d.b[d.at : d.at+n])
	d.at += n
	return s
}

// Rest reads the remaining bytes.
func (d *Decoder) Rest() []byte {
	rest := d.b[d.at:]
	d.at = len(d.b)
	return rest
}

// Prefixed writes a string as the length of the prefix shared with the previous string, and the
// rest.
func (e *Encoder) Prefixed(last, s string) {
	shared := 0
	for shared < len(last) && shared < len(s) && last[shared] == s[shared] {
		shared++
	}
	e.Uint(uint64(shared))
	e.String(s[shared:])
}

// Prefixed reads a string that the Encoder's Prefixed wrote after the string last.
func (d *Decoder) Prefixed(what, last string) string {
	shared := d.Uint(what, uint64(len(last)))
	return last[:shared] + d.String(what)
}
