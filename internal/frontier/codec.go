package frontier

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"forager/schemas"
)

// Values are sequences of varints, fixed eight-byte floats and length-prefixed strings. Each
// kind begins with its own version byte, so that one kind can change without the others.

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendFloat(b []byte, f float64) []byte {
	return binary.LittleEndian.AppendUint64(b, math.Float64bits(f))
}

func appendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

var (
	errShort    = errors.New("ends early")
	errNumber   = errors.New("number out of range")
	errTrailing = errors.New("bytes left over")
	errNaN      = errors.New("NaN")
)

// reader reads a value; after the first error everything reads as zero and err stays.
type reader struct {
	b   []byte
	err error
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.b = nil
}

func (r *reader) byte() byte {
	if len(r.b) == 0 {
		r.fail(errShort)
		return 0
	}
	c := r.b[0]
	r.b = r.b[1:]
	return c
}

// order reads what appendOrder wrote.
func (r *reader) order() (o order) {
	if len(r.b) < orderBytes {
		r.fail(errShort)
		return o
	}
	o = readOrder(r.b)
	r.b = r.b[orderBytes:]
	if math.IsNaN(o.score) {
		r.fail(errNaN)
	}
	return o
}

func (r *reader) bool() bool {
	c := r.byte()
	if c > 1 {
		r.fail(errNumber)
	}
	return c == 1
}

func (r *reader) u64() uint64 {
	n, size := binary.Uvarint(r.b)
	switch {
	case size == 0:
		r.fail(errShort)
		return 0
	case size < 0 || (size > 1 && r.b[size-1] == 0): // too large, or not the shortest form
		r.fail(errNumber)
		return 0
	}
	r.b = r.b[size:]
	return n
}

func (r *reader) u32() uint32 {
	n := r.u64()
	if n > math.MaxUint32 {
		r.fail(errNumber)
		return 0
	}
	return uint32(n)
}

func (r *reader) i64() int64 {
	n := r.u64()
	if n > math.MaxInt64 {
		r.fail(errNumber)
		return 0
	}
	return int64(n)
}

func (r *reader) float() float64 {
	if len(r.b) < 8 {
		r.fail(errShort)
		return 0
	}
	f := math.Float64frombits(binary.LittleEndian.Uint64(r.b))
	r.b = r.b[8:]
	if math.IsNaN(f) {
		r.fail(errNaN)
		return 0
	}
	return f
}

func (r *reader) string() string {
	n := r.u64()
	if n > uint64(len(r.b)) {
		r.fail(errShort)
		return ""
	}
	s := string(r.b[:n])
	r.b = r.b[n:]
	return s
}

func (r *reader) id() (id schemas.ID) {
	if len(r.b) < len(id) {
		r.fail(errShort)
		return id
	}
	copy(id[:], r.b)
	r.b = r.b[len(id):]
	return id
}

// version reads the leading version byte and refuses all but want.
func (r *reader) version(want byte) {
	if v := r.byte(); r.err == nil && v != want {
		r.fail(fmt.Errorf("version %d, this program reads %d", v, want))
	}
}

// end returns the first error; bytes left over are an error, too.
func (r *reader) end() error {
	if r.err == nil && len(r.b) > 0 {
		r.fail(errTrailing)
	}
	return r.err
}
