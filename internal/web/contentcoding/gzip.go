package contentcoding

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"

	"github.com/klauspost/compress/flate"
)

// gzipReader reads a body labelled gzip as browsers do: one that does not begin with a gzip header is plain, bytes
// after the last member are dropped, and neither checksum nor length at a member's end is compared or needed. A
// member that ends early is an error.
type gzipReader struct {
	r       *bufio.Reader
	inflate io.ReadCloser // nil = plain
	err     error
}

const (
	gzipMagic    = "\x1f\x8b\x08"
	gzipHeader   = 10 // bytes, before the parts that flags announce
	gzipTrailer  = 8
	flagHeadSum  = 1 << 1
	flagExtra    = 1 << 2
	flagName     = 1 << 3
	flagComment  = 1 << 4
	flagReserved = 0xe0
)

var errGzipHeader = errors.New("gzip header with flags that are not known")

func newGzipReader(r *bufio.Reader) (*gzipReader, error) {
	g := &gzipReader{r: r}
	if !g.begins() {
		return g, nil
	}
	err := g.header()
	g.inflate = flate.NewReader(r)
	return g, err
}

// begins reports whether a member begins here.
func (g *gzipReader) begins() bool {
	start, _ := g.r.Peek(len(gzipMagic))
	return string(start) == gzipMagic
}

// header skips the header of a member.
func (g *gzipReader) header() error {
	head, err := g.r.Peek(gzipHeader)
	if err != nil {
		return early(err)
	}
	flags := head[3]
	if flags&flagReserved != 0 {
		return errGzipHeader
	}
	_, _ = g.r.Discard(gzipHeader)
	if flags&flagExtra != 0 {
		size, err := g.r.Peek(2)
		if err != nil {
			return early(err)
		}
		if _, err := g.r.Discard(2 + int(binary.LittleEndian.Uint16(size))); err != nil {
			return early(err)
		}
	}
	for _, text := range []byte{flagName, flagComment} {
		for flags&text != 0 {
			_, err := g.r.ReadSlice(0)
			if err == nil {
				break
			}
			if !errors.Is(err, bufio.ErrBufferFull) {
				return early(err)
			}
		}
	}
	if flags&flagHeadSum != 0 {
		if _, err := g.r.Discard(2); err != nil {
			return early(err)
		}
	}
	return nil
}

// early converts the error of a stream that ends early.
func early(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

func (g *gzipReader) Read(p []byte) (n int, err error) {
	if g.inflate == nil {
		return g.r.Read(p)
	}
	for g.err == nil && n == 0 && len(p) > 0 {
		if n, g.err = g.inflate.Read(p); g.err == io.EOF {
			g.err = g.next()
		}
	}
	return n, g.err
}

// next goes to the next member; io.EOF if there is none.
func (g *gzipReader) next() error {
	if _, err := g.r.Discard(gzipTrailer); err != nil && err != io.EOF {
		return err
	}
	if !g.begins() {
		return io.EOF
	}
	if err := g.header(); err != nil {
		return err
	}
	return g.inflate.(flate.Resetter).Reset(g.r, nil)
}
