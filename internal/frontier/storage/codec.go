package storage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"forager/schemas"
)

// Values are sequences of varints, fixed eight-byte floats and length-prefixed strings. Each
// kind begins with its own version byte, so that one kind can change without the others.

// AppendString appends the length of a string and the string.
func AppendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// AppendFloat appends the eight bytes of a number.
func AppendFloat(b []byte, f float64) []byte {
	return binary.LittleEndian.AppendUint64(b, math.Float64bits(f))
}

// AppendBool appends one byte, 0 or 1.
func AppendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

var (
	// ErrNumber is the error for a number out of range.
	ErrNumber = errors.New("number out of range")
	// ErrNaN is the error for a number that is NaN.
	ErrNaN      = errors.New("NaN")
	errShort    = errors.New("ends early")
	errTrailing = errors.New("bytes left over")
)

// Reader reads a value; after the first error everything reads as zero and err stays.
type Reader struct {
	Rest []byte
	Err  error
}

// Fail notes an error; the first one stays.
func (r *Reader) Fail(err error) {
	if r.Err == nil {
		r.Err = err
	}
	r.Rest = nil
}

// Byte reads one byte.
func (r *Reader) Byte() byte {
	if len(r.Rest) == 0 {
		r.Fail(errShort)
		return 0
	}
	c := r.Rest[0]
	r.Rest = r.Rest[1:]
	return c
}

// Bytes reads n bytes, which belong to the value.
func (r *Reader) Bytes(n int) []byte {
	if len(r.Rest) < n {
		r.Fail(errShort)
		return nil
	}
	b := r.Rest[:n]
	r.Rest = r.Rest[n:]
	return b
}

// Bool reads what AppendBool wrote.
func (r *Reader) Bool() bool {
	c := r.Byte()
	if c > 1 {
		r.Fail(ErrNumber)
	}
	return c == 1
}

// U64 reads a varint in its shortest form.
func (r *Reader) U64() uint64 {
	n, size := binary.Uvarint(r.Rest)
	switch {
	case size == 0:
		r.Fail(errShort)
		return 0
	case size < 0 || (size > 1 && r.Rest[size-1] == 0): // too large, or not the shortest form
		r.Fail(ErrNumber)
		return 0
	}
	r.Rest = r.Rest[size:]
	return n
}

// U32 reads a varint of at most 32 bits.
func (r *Reader) U32() uint32 { return uint32(r.upTo(math.MaxUint32)) }

// I64 reads a varint of at most 63 bits.
func (r *Reader) I64() int64 { return int64(r.upTo(math.MaxInt64)) }

func (r *Reader) upTo(most uint64) uint64 {
	n := r.U64()
	if n > most {
		r.Fail(ErrNumber)
		return 0
	}
	return n
}

// Float reads a number of eight bytes, which is not NaN.
func (r *Reader) Float() float64 {
	if len(r.Rest) < 8 {
		r.Fail(errShort)
		return 0
	}
	f := math.Float64frombits(binary.LittleEndian.Uint64(r.Rest))
	r.Rest = r.Rest[8:]
	if math.IsNaN(f) {
		r.Fail(ErrNaN)
		return 0
	}
	return f
}

// String reads what AppendString wrote.
func (r *Reader) String() string {
	n := r.U64()
	if n > uint64(len(r.Rest)) {
		r.Fail(errShort)
		return ""
	}
	s := string(r.Rest[:n])
	r.Rest = r.Rest[n:]
	return s
}

// ID reads an id.
func (r *Reader) ID() (id schemas.ID) {
	if len(r.Rest) < len(id) {
		r.Fail(errShort)
		return id
	}
	copy(id[:], r.Rest)
	r.Rest = r.Rest[len(id):]
	return id
}

// Version reads the leading version byte and refuses all but want.
func (r *Reader) Version(want byte) {
	if v := r.Byte(); r.Err == nil && v != want {
		r.Fail(fmt.Errorf("version %d, this program reads %d", v, want))
	}
}

// End returns the first error; bytes left over are an error, too.
func (r *Reader) End() error {
	if r.Err == nil && len(r.Rest) > 0 {
		r.Fail(errTrailing)
	}
	return r.Err
}

// Count reads a number of items that take at least size bytes each.
func (r *Reader) Count(size int) int {
	n := r.U64()
	if n > uint64(len(r.Rest)/size) {
		r.Fail(errShort)
		return 0
	}
	return int(n)
}
