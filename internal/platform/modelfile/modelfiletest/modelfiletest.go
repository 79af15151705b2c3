package modelfiletest

import (
	"flag"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "write the stored file of a format version that has none yet")

// Stored returns the file at path. With -update a missing one is written first; an existing one is never replaced.
func Stored(t testing.TB, path string, file []byte) []byte {
	t.Helper()
	if _, err := os.Stat(path); os.IsNotExist(err) && *update {
		if err := os.WriteFile(path, file, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
