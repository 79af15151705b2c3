package rules

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// laboratory are the folders of research: experiments, synthetic webs and what compares the project with others. The rest is the product.
var laboratory = []string{
	"cmd/forager-lab", "internal/lab", "infra/simweb", "infra/oracles",
}

// atMost is the number of lines that a kind of code may have, comments included; each is lowered as the code shrinks.
var atMost = map[string]int{"product": 99_260, "laboratory": 15_000}

// TestTreeStaysSmall counts lines of Go; make size shows them.
func TestTreeStaysSmall(t *testing.T) {
	lines, folders := make(map[string]int), make(map[string]map[string]int)
	for _, path := range tracked(t) {
		if !strings.HasSuffix(path, ".go") {
			continue
		}
		b, err := os.ReadFile(filepath.Join("../..", path))
		if err != nil {
			continue // deleted and not yet committed
		}
		kind, n := kindOf(path, b), bytes.Count(b, []byte("\n"))
		lines[kind] += n
		if folders[kind] == nil {
			folders[kind] = make(map[string]int)
		}
		folders[kind][filepath.Dir(path)] += n
	}
	for _, kind := range []string{"product", "laboratory", "tests", "generated"} {
		t.Logf("%-10s %7d lines", kind, lines[kind])
		var dirs []string
		for dir := range folders[kind] {
			dirs = append(dirs, dir)
		}
		slices.SortFunc(dirs, func(a, b string) int { return folders[kind][b] - folders[kind][a] })
		for _, dir := range dirs[:min(len(dirs), 20)] {
			t.Logf("           %7d %s", folders[kind][dir], dir)
		}
		if most, ok := atMost[kind]; ok && lines[kind] > most {
			t.Errorf("%s has %d lines, more than %d", kind, lines[kind], most)
		}
	}
}

// checks are folders of programs that only tests, the build or comparisons with other programs run.
var checks = []string{"internal/testkit", "internal/rules", "infra/explore", "infra/tools", "infra/oracles/dump", "schemas/generate"}

// kindOf returns what a Go file belongs to.
func kindOf(path string, content []byte) string {
	dir := filepath.Dir(path)
	switch {
	case strings.HasSuffix(path, "_test.go"), strings.HasSuffix(dir, "test"), strings.Contains(dir, "test/"), isBelowAny(dir, checks):
		return "tests"
	case bytes.HasPrefix(content, []byte("// Code generated ")):
		return "generated"
	case isBelowAny(dir, laboratory):
		return "laboratory"
	}
	return "product"
}
