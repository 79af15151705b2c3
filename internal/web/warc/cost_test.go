package warc

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"forager/internal/testkit/growth"
)

// overlapping is a file of gzip members each of which continues to the end of the file: a stored block of 65,535
// bytes ends where another member has its header.
func overlapping(n int) []byte {
	const unit = 116 // 65,535 bytes and a header of 5 are a multiple of it
	member := "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff" + "\x00\xff\xff\x00\x00" + "WARC/1.0\nWARC-Type:a\nContent-Length:999999999\n\n"
	return bytes.Repeat([]byte(member+strings.Repeat("x", unit-len(member))), n/unit)
}

var hostile = []growth.Case{
	{Name: "version lines", Make: growth.Repeat("", "WARC/1.0\n", "")},
	{Name: "version lines between empty lines", Make: growth.Repeat("", "WARC/1.0\n\n", "")},
	{Name: "headers without an end", Make: growth.Repeat("", "WARC/1.0\na:b\n", "")},
	{Name: "wrong lengths", Make: growth.Repeat("", "WARC/1.0\nWARC-Type:a\nContent-Length:7\n\n", "")},
	{Name: "lengths beyond the end", Make: growth.Repeat("", "WARC/1.0\nWARC-Type:a\nContent-Length:999999999\n\n", "")},
	{Name: "empty records", Make: growth.Repeat("", "WARC/1.0\nWARC-Type:a\nContent-Length:0\n\n\n\n", "")},
	{Name: "fields", Make: growth.Repeat("WARC/1.0\n", "a:\n", "")},
	{Name: "continued lines", Make: growth.Repeat("WARC/1.0\na:b\n", " \n", "")},
	{Name: "line ends", Make: growth.Repeat("WARC/1.0\na:b", "\r", "\n")},
	{Name: "gzip magic", Make: growth.Repeat("", "\x1f\x8b\x08", "")},
	{Name: "gzip headers", Make: growth.Repeat("", "\x1f\x8b\x08\x04\xff\xff", "")},
	{Name: "gzip headers with names", Make: growth.Repeat("", "\x1f\x8b\x08\x08abcdef", "")},
	{Name: "members in one another", Make: overlapping},
	{Name: "empty members", Make: growth.Repeat("", zipped(""), "")},
	{Name: "members that are no records", Make: growth.Repeat("", zipped("<html>"), "")},
	{Name: "members cut short", Make: growth.Repeat("", zipped(bare("a", "one"))[:40], "")},
	{Name: "members with a wrong checksum", Make: growth.Repeat("", strings.Replace(zipped(bare("a", "one")), "\x1f\x8b\x08\x00", "\x1f\x8b\x08\x02", 1), "")},
}

// countedFile counts the bytes that are read from it.
type countedFile struct {
	*bytes.Reader
	read int
}

func (f *countedFile) ReadAt(p []byte, at int64) (int, error) {
	n, err := f.Reader.ReadAt(p, at)
	f.read += n
	return n, err
}

// readAll reads a file to its end and returns how many bytes were read of it.
func readAll(t *testing.T, file []byte, limits Limits) int {
	counted := &countedFile{Reader: bytes.NewReader(file)}
	for r := NewReader(counted, int64(len(file)), limits); ; {
		record, err := r.Next()
		var damaged *DamagedError
		switch {
		case err == io.EOF:
			return counted.read
		case errors.As(err, &damaged):
		case err != nil:
			t.Fatal(err)
		default:
			io.Copy(io.Discard, record.Block)
		}
	}
}

// readBound is the bound of what is read of a file of n bytes: damage costs a search and a new start every few bytes.
func readBound(n int) int { return 1<<20 + 512*n }

func TestHostileFilesAreLinear(t *testing.T) {
	growth.Linear(t, 1<<18, 300, func(b []byte) {
		if read := readAll(t, b, Limits{}); read > readBound(len(b)) {
			t.Errorf("%.20q…: %d bytes read of a file of %d", b, read, len(b))
		}
	}, hostile)
	growth.Linear(t, 1<<18, 5000, func(b []byte) { readAll(t, b, Limits{}) }, []growth.Case{
		{Name: "one member of empty records", Make: func(n int) []byte {
			return []byte(zipped(string(growth.Repeat("", "WARC/1.0\nWARC-Type:a\nContent-Length:0\n\n\n\n", "")(10 * n))))
		}},
	})
}

// FuzzReaderCost reads files of many copies of a piece: the bytes read are bounded.
func FuzzReaderCost(f *testing.F) {
	for _, c := range hostile {
		f.Add(c.Make(300))
	}
	f.Fuzz(func(t *testing.T, unit []byte) {
		if len(unit) == 0 {
			return
		}
		file := bytes.Repeat(unit, 1<<14/len(unit)+1)
		if read := readAll(t, file, Limits{Block: 1 << 16}); read > readBound(len(file)) {
			t.Errorf("%d bytes read of a file of %d", read, len(file))
		}
	})
}
