package modelfile

import (
	"encoding/binary"
	"fmt"
	"unsafe"
)

// Number is an element type of arrays.
type Number interface {
	uint8 | uint16 | int16 | uint32 | uint64 | float32 | float64
}

// aligned is the alignment of arrays in a file, bytes.
const aligned = 8

// NewEncoder returns an Encoder for the body of a model of the kind and version; its arrays are
// aligned so that a mapped file can be read in place.
func NewEncoder(kind string, version uint32) *Encoder {
	return &Encoder{base: len(firstLine(kind, version)) + lenBytes}
}

// PutArray writes numbers, little endian.
func PutArray[T Number](e *Encoder, s []T) {
	e.Uint(uint64(len(s)))
	pad := (aligned - (e.base+len(e.b)+1)%aligned) % aligned
	e.b = append(e.b, byte(pad))
	e.b = append(e.b, make([]byte, pad)...)
	var err error
	if e.b, err = binary.Append(e.b, binary.LittleEndian, s); err != nil {
		panic(fmt.Sprintf("a slice of %T has no fixed size: %v", s, err))
	}
}

// Array reads what PutArray wrote. The numbers share memory with the body if the machine has the
// same representation; they must not be changed.
func Array[T Number](d *Decoder, what string) []T {
	size := int(unsafe.Sizeof(*new(T)))
	n := d.Len(what, size)
	if d.err != nil {
		return nil
	}
	pad := 0
	if d.at < len(d.b) {
		pad = int(d.b[d.at])
	}
	if begin := d.at + 1 + pad; pad >= aligned || begin > len(d.b) || n*size > len(d.b)-begin {
		d.Fail("%s: %d numbers, %d bytes are left", what, n, len(d.b)-d.at)
		return nil
	}
	for _, b := range d.b[d.at+1 : d.at+1+pad] {
		if b != 0 {
			d.Fail("%s: it does not come first", what)
			return nil
		}
	}
	d.at += 1 + pad
	bytes := d.b[d.at : d.at+n*size]
	d.at += n * size
	if n == 0 {
		return nil
	}
	if first := unsafe.Pointer(unsafe.SliceData(bytes)); littleEndian() && uintptr(first)%uintptr(size) == 0 {
		return unsafe.Slice((*T)(first), n)
	}
	s := make([]T, n)
	if _, err := binary.Decode(bytes, binary.LittleEndian, s); err != nil {
		d.Fail("%s: %v", what, err)
	}
	return s
}

func littleEndian() bool { return binary.NativeEndian.Uint16([]byte{1, 0}) == 1 }
