package modelfiletest

import (
	"flag"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "write the stored file of a format version that has none yet")

// Stored returns the file at path. With -update one that is not there is written first; one that is there never again.
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
