package examples

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/gzip"
)

func zipped(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestOpenParts: a folder of parts reads as the file that they are parts of, compressed or not.
func TestOpenParts(t *testing.T) {
	dir := t.TempDir()
	for name, file := range map[string][]byte{
		"part-00000.txt.gz": append(zipped(t, "a\n"), zipped(t, "b\n")...), "part-00001.txt": []byte("c\n"), "part-00002.txt": nil,
		"part-00003.txt.gz": zipped(t, ""), "part-00004.txt.gz": zipped(t, "d\n"), "_SUCCESS": []byte("x"), ".part-00000.crc": []byte("x"),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), file, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{dir: "a\nb\nc\nd\n", filepath.Join(dir, "part-00000.txt.gz"): "a\nb\n"} {
		in, err := OpenParts(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		if err := iotest.TestReader(in, []byte(want)); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		if err := in.Close(); err != nil {
			t.Error(err)
		}
	}
	cut := filepath.Join(dir, "part-00005.txt.gz")
	if err := os.WriteFile(cut, zipped(t, "e\n")[:15], 0o644); err != nil {
		t.Fatal(err)
	}
	in, err := OpenParts(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if all, err := io.ReadAll(in); err == nil || !strings.Contains(err.Error(), cut) || !strings.HasPrefix(string(all), "a\nb\nc\nd\n") {
		t.Errorf("%q, %v; want an error that names the part", all, err)
	}
	if err := in.Close(); err != nil {
		t.Error(err)
	}
	for _, path := range []string{t.TempDir(), filepath.Join(dir, "nothing")} {
		if _, err := OpenParts(t.Context(), path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
