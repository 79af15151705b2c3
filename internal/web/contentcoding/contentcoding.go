package contentcoding

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

// Accept is the Accept-Encoding header for the codings that NewReader supports.
const Accept = "gzip, deflate, br, zstd"

// maxCodings bounds the number of codings of a body.
const maxCodings = 3

// maxWindow bounds the memory of a zstd decoder, bytes (RFC 9659 permits 8 MB).
const maxWindow = 8 << 20

// errUnknown is the class of codings that NewReader does not support.
var errUnknown = errors.New("content coding that is not supported")

// unknown are codings that NewReader does not support: the others of IANA's registry, and some in use without it.
// Every other word is not a coding but a mistake, most often a charset.
var unknown = map[string]bool{
	"aes128gcm": true, "compress": true, "x-compress": true, "dcb": true, "dcz": true, "exi": true, "pack200-gzip": true,
	"sdch": true, "bzip2": true, "x-bzip2": true, "bzip": true, "xz": true, "x-xz": true, "lzma": true, "x-lzma": true, "lz4": true,
}

// NewReader returns the decoded body of a response with the given Content-Encoding header, as browsers read it:
// words that are no coding count as "identity". An empty body is empty in every coding.
func NewReader(r io.Reader, contentEncoding string) (io.ReadCloser, error) {
	codings := codingsOf(contentEncoding)
	if len(codings) > maxCodings {
		return nil, fmt.Errorf("content coding %.60q: more than %d", contentEncoding, maxCodings)
	}
	if len(codings) == 0 {
		return io.NopCloser(r), nil
	}
	buffered := bufio.NewReader(r)
	if _, err := buffered.Peek(1); err == io.EOF {
		return io.NopCloser(buffered), nil
	}
	var d decoder
	d.r = buffered
	for i := len(codings) - 1; i >= 0; i-- { // the last one was applied last
		if err := d.under(codings[i]); err != nil {
			_ = d.Close()
			return nil, fmt.Errorf("content coding %.60q: %w", contentEncoding, err)
		}
	}
	return &d, nil
}

// codingsOf lists the codings of a Content-Encoding header, at most one more than maxCodings.
func codingsOf(header string) []string {
	var codings []string
	for name := range strings.SplitSeq(header, ",") {
		name = strings.ToLower(strings.Trim(name, " \t\"'"))
		if (known[name] || unknown[name]) && len(codings) <= maxCodings {
			codings = append(codings, name)
		}
	}
	return codings
}

var known = map[string]bool{"gzip": true, "x-gzip": true, "deflate": true, "br": true, "zstd": true}

// decoder is a chain of decoders.
type decoder struct {
	r     io.Reader
	close []func()
}

func (d *decoder) under(coding string) error {
	switch coding {
	case "gzip", "x-gzip":
		gz, err := newGzipReader(bufio.NewReader(d.r))
		if err != nil {
			return err
		}
		d.r = gz
	case "deflate":
		inflated, err := inflate(bufio.NewReader(d.r))
		if err != nil {
			return err
		}
		d.r = inflated
	case "br":
		d.r = brotli.NewReader(d.r)
	case "zstd":
		z, err := zstd.NewReader(d.r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderLowmem(true))
		if err != nil {
			return err
		}
		d.close = append(d.close, z.Close)
		d.r = z
	default:
		return errUnknown
	}
	return nil
}

// inflate reads "deflate", which is zlib by the standard and bare deflate from some servers.
func inflate(r *bufio.Reader) (io.Reader, error) {
	head, err := r.Peek(2)
	if len(head) < 2 {
		return nil, fmt.Errorf("deflate: %w", errors.Join(err, io.ErrUnexpectedEOF))
	}
	if head[0]&0x0f == 8 && (uint(head[0])<<8|uint(head[1]))%31 == 0 {
		return zlib.NewReader(r)
	}
	return flate.NewReader(r), nil
}

func (d *decoder) Read(p []byte) (int, error) { return d.r.Read(p) }

func (d *decoder) Close() error {
	for _, f := range d.close {
		f()
	}
	return nil
}
