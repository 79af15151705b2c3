package frozen

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The environment variables that name the folders.
const (
	Webs     = "FORAGER_WEBS"     // frozen webs, their labels and tasks
	Cases    = "FORAGER_CASES"    // public test cases
	Taxonomy = "FORAGER_TAXONOMY" // an encyclopedia with a topic tree
)

// Path returns the path of a file in the folder that the variable names; without the variable the test fails.
func Path(t testing.TB, variable, name string) string {
	t.Helper()
	folder := os.Getenv(variable)
	if folder == "" {
		t.Fatalf("%s is not set: it names the folder with %s", variable, name)
	}
	return filepath.Join(folder, name)
}

// Open opens a file of a folder until the test ends.
func Open(t testing.TB, variable, name string) *os.File {
	t.Helper()
	f, err := os.Open(Path(t, variable, name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// Labels yields the labelled URLs of a web, as they were written, with their labels.
func Labels(t testing.TB, web string) iter.Seq2[string, string] {
	return func(yield func(url, label string) bool) {
		t.Helper()
		lines := bufio.NewScanner(Open(t, Webs, web+".labels.tsv"))
		for lines.Scan() {
			if url, label, _ := strings.Cut(lines.Text(), "\t"); !yield(url, label) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// Article is an article of the encyclopedia.
type Article struct {
	URL, Text string
	Topics    []string // paths in the topic tree, at least one
}

// Articles yields the encyclopedia of that name in the order of its file.
func Articles(t testing.TB, name string) iter.Seq[Article] {
	return func(yield func(Article) bool) {
		t.Helper()
		z, err := gzip.NewReader(Open(t, Taxonomy, name+".jsonl.gz"))
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(z)
		lines.Buffer(nil, 64<<20)
		for lines.Scan() {
			var a Article
			if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
				t.Fatal(err)
			}
			if !yield(a) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			t.Fatal(err)
		}
	}
}
