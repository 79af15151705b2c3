package clickhouse

import (
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/ClickHouse/ch-go/compress"
	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// plainBody decodes the body of a request: HTTP compression first, then ClickHouse's own blocks (decompress=1).
func plainBody(r *http.Request, blocks bool) (io.Reader, error) {
	var body io.Reader = r.Body
	switch encoding := strings.ToLower(r.Header.Get("Content-Encoding")); encoding {
	case "", "identity":
	case "gzip", "x-gzip":
		z, err := gzip.NewReader(body)
		if err != nil {
			return nil, refuse(271, "CANNOT_DECOMPRESS", "Cannot decompress the body as gzip: %v", err)
		}
		body = z
	case "deflate":
		z, err := zlib.NewReader(body)
		if err != nil {
			return nil, refuse(271, "CANNOT_DECOMPRESS", "Cannot decompress the body as deflate: %v", err)
		}
		body = z
	case "br":
		body = brotli.NewReader(body)
	case "zstd":
		z, err := zstd.NewReader(body, zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, fmt.Errorf("zstd: %w", err)
		}
		body = z.IOReadCloser()
	default:
		return nil, refuse(89, "UNKNOWN_COMPRESSION_METHOD", "Content-Encoding %s is not known to the embedded ClickHouse; it takes gzip, deflate, br and zstd", encoding)
	}
	if blocks {
		body = &blockReader{compress.NewReader(body)}
	}
	return body, nil
}

// blockReader returns io.EOF after the last complete block.
type blockReader struct{ r *compress.Reader }

func (b *blockReader) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if err != nil && errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return n, io.EOF
	}
	return n, err
}

const blockBytes = 1 << 20

// writeBlocks writes data as ClickHouse's compressed blocks (compress=1).
func writeBlocks(w io.Writer, data []byte, method string) error {
	m := compress.LZ4
	switch strings.ToUpper(method) {
	case "", "LZ4":
	case "LZ4HC":
		m = compress.LZ4HC
	case "ZSTD":
		m = compress.ZSTD
	case "NONE":
		m = compress.None
	default:
		return refuse(89, "UNKNOWN_COMPRESSION_METHOD", "network_compression_method %s is not supported by the embedded ClickHouse; it supports LZ4, LZ4HC, ZSTD and NONE", method)
	}
	z := compress.NewWriter(compress.LevelZero, m)
	for len(data) > 0 {
		n := min(len(data), blockBytes)
		if err := z.Compress(data[:n]); err != nil {
			return fmt.Errorf("compress a block: %w", err)
		}
		if _, err := w.Write(z.Data); err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

// httpEncoding selects the first supported encoding of an Accept-Encoding header.
func httpEncoding(accept string) string {
	for part := range strings.SplitSeq(accept, ",") {
		name, weight, _ := strings.Cut(strings.TrimSpace(part), ";")
		switch name {
		case "gzip", "deflate", "br", "zstd":
			if strings.TrimSpace(weight) != "q=0" {
				return name
			}
		}
	}
	return ""
}

func encoder(w io.Writer, encoding string) (io.WriteCloser, error) {
	switch encoding {
	case "gzip":
		return gzip.NewWriterLevel(w, gzip.BestSpeed)
	case "deflate":
		return zlib.NewWriterLevel(w, flate.BestSpeed)
	case "br":
		return brotli.NewWriterLevel(w, 1), nil
	case "zstd":
		return zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	}
	return nil, fmt.Errorf("no encoder for %q", encoding)
}
