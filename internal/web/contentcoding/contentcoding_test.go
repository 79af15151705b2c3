package contentcoding

import (
	"bytes"
	stdflate "compress/flate"
	stdgzip "compress/gzip"
	stdzlib "compress/zlib"
	"encoding/base64"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

func encode(t testing.TB, coding, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser
	switch coding {
	case "gzip":
		w = stdgzip.NewWriter(&b)
	case "zlib":
		w = stdzlib.NewWriter(&b)
	case "flate":
		w, _ = stdflate.NewWriter(&b, 6)
	case "br":
		w = brotli.NewWriter(&b)
	case "zstd":
		w, _ = zstd.NewWriter(&b)
	}
	io.WriteString(w, text)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestNewReader(t *testing.T) {
	text := strings.Repeat("some text ", 1000)
	foreign := func(s string) []byte { // made by gzip, brotli and zstd on a command line from "hello\n"
		b, err := base64.StdEncoding.DecodeString(s)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	wholeHeader := append([]byte("\x1f\x8b\x08\x1e\x00\x00\x00\x00\x00\xff\x04\x00abcd"+strings.Repeat("long ", 2000)+"name\x00comment\x00ss"),
		encode(t, "flate", "hello\n")...)
	for _, test := range []struct {
		name, header string
		body         []byte
		want         string
	}{
		{"none", "", []byte(text), text},
		{"identity", "Identity", []byte(text), text},
		{"gzip", "gzip", encode(t, "gzip", text), text},
		{"x-gzip", " X-Gzip ", encode(t, "gzip", text), text},
		{"two members", "gzip", append(encode(t, "gzip", "a"), encode(t, "gzip", "b")...), "ab"},
		{"zlib", "deflate", encode(t, "zlib", text), text},
		{"bare deflate", "deflate", encode(t, "flate", text), text},
		{"brotli", "br", encode(t, "br", text), text},
		{"zstd", "zstd", encode(t, "zstd", text), text},
		{"one over the other", "br, gzip", encode(t, "gzip", string(encode(t, "br", text))), text},
		{"identity between", "gzip,identity,", encode(t, "gzip", text), text},
		{"nothing", "gzip", nil, ""},
		// What browsers accept.
		{"no coding at all", "utf-8", []byte(text), text},
		{"the word none", "none", []byte(text), text},
		{"the word binary", "Binary", []byte(text), text},
		{"a charset", "ISO-8859-1", []byte(text), text},
		{"8bit, quoted", `"8bit"`, []byte(text), text},
		{"a charset and a coding", "utf-8, gzip", encode(t, "gzip", text), text},
		{"many that are none", "a, b, c, d, gzip, e", encode(t, "gzip", text), text},
		{"bytes behind gzip", "gzip", append(encode(t, "gzip", text), "<!-- garbage -->"...), text},
		{"zeros behind gzip", "gzip", append(encode(t, "gzip", text), 0, 0, 0), text},
		{"half a magic behind gzip", "gzip", append(encode(t, "gzip", text), 0x1f, 0x8b), text},
		{"gzip with a wrong checksum", "gzip", damaged(encode(t, "gzip", text), 7), text},
		{"gzip with a wrong length", "gzip", damaged(encode(t, "gzip", text), 2), text},
		{"gzip without its end", "gzip", encode(t, "gzip", text)[:len(encode(t, "gzip", text))-8], text},
		{"gzip with half its end", "gzip", encode(t, "gzip", text)[:len(encode(t, "gzip", text))-3], text},
		{"plain body labelled gzip", "gzip", []byte("<html>plain"), "<html>plain"},
		{"plain body labelled x-gzip", "x-gzip", []byte("x"), "x"},
		{"gzip declared twice", "gzip, gzip", encode(t, "gzip", text), text},
		{"gzip with all of its header", "gzip", wholeHeader, "hello\n"},
		{"bytes behind zlib", "deflate", append(encode(t, "zlib", text), "garbage"...), text},
		{"bytes behind bare deflate", "deflate", append(encode(t, "flate", text), "garbage"...), text},
		{"gzip of another", "gzip", foreign("H4sIAAAAAAAAA8tIzcnJ5wIAIDA6NgYAAAA="), "hello\n"},
	} {
		r, err := NewReader(bytes.NewReader(test.body), test.header)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		got, err := io.ReadAll(r)
		if err != nil || string(got) != test.want {
			t.Errorf("%s: %d bytes, %v", test.name, len(got), err)
		}
		r.Close()
	}
}

// damaged changes the byte i places before the end.
func damaged(b []byte, i int) []byte {
	b[len(b)-i] ^= 0xff
	return b
}

func TestNewReaderRefuses(t *testing.T) {
	for _, coding := range []string{"compress", "X-Compress", "aes128gcm", "exi", "pack200-gzip", "dcb", "dcz", "sdch", "xz", "x-bzip2", "lzma", "utf-8, compress"} {
		if _, err := NewReader(strings.NewReader("x"), coding); !errors.Is(err, errUnknown) {
			t.Errorf("%s: %v", coding, err)
		}
	}
	if _, err := NewReader(strings.NewReader("x"), "gzip, gzip, gzip, gzip"); err == nil {
		t.Error("four codings were taken")
	}
	for _, coding := range []string{"deflate", "br", "zstd"} {
		r, err := NewReader(strings.NewReader("<html>not coded at all"), coding)
		if err == nil {
			_, err = io.ReadAll(r)
			r.Close()
		}
		if err == nil {
			t.Errorf("%s: plain text was decoded", coding)
		}
	}
	whole := encode(t, "gzip", strings.Repeat("some text ", 1000))
	r, err := NewReader(bytes.NewReader(whole[:len(whole)/2]), "gzip")
	if err == nil {
		_, err = io.ReadAll(r)
	}
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("half a body: %v", err)
	}
}

// A window beyond the limit is refused, not allocated.
func TestLargeWindow(t *testing.T) {
	frame := []byte{0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xff, 0x01, 0x00, 0x00} // window of more than 1 TiB
	r, err := NewReader(bytes.NewReader(frame), "zstd")
	if err == nil {
		_, err = io.ReadAll(r)
	}
	if err == nil {
		t.Error("the frame was read")
	}
}

func FuzzNewReader(f *testing.F) {
	for _, coding := range []string{"gzip", "br", "zstd", "deflate"} {
		f.Add(coding, []byte("x"))
	}
	f.Add("gzip", encode(f, "gzip", "text"))
	f.Add("deflate", encode(f, "zlib", "text"))
	f.Add("deflate", encode(f, "flate", "text"))
	f.Add("br", encode(f, "br", "text"))
	f.Add("zstd", encode(f, "zstd", "text"))
	f.Add("br, gzip", encode(f, "gzip", string(encode(f, "br", "text"))))
	f.Fuzz(func(t *testing.T, header string, body []byte) {
		r, err := NewReader(bytes.NewReader(body), header)
		if err != nil {
			return
		}
		defer r.Close()
		io.Copy(io.Discard, io.LimitReader(r, 1<<20))
	})
}
