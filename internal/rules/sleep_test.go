package rules

import (
	"go/ast"
	"strings"
	"testing"
)

// sleeps are the numbers of sleeps, by file, for which no test waits.
var sleeps = map[string]int{
	"cmd/forager/deploy/processes_test.go": 1, // a process waits to be killed
	"cmd/forager/e2e/fair_test.go":         1, // a web server takes its time
	"cmd/forager/e2e/judges_test.go":       1, // a service takes its time
	"cmd/forager/e2e/metrics_test.go":      1, // -update-metrics waits for metrics of which it does not know the names
}

// TestTestsDoNotSleep: a test waits for a condition, which a loop looks at, or sleeps in the virtual time of testing/synctest.
func TestTestsDoNotSleep(t *testing.T) {
	found := make(map[string]int)
	for _, f := range goFiles(t) {
		if !strings.HasSuffix(f.path, "_test.go") || imports(f.File, "testing/synctest") {
			continue
		}
		ast.Walk(sleepFinder{func(n ast.Node) {
			if found[f.path]++; found[f.path] > sleeps[f.path] {
				t.Errorf("%s:%d: time.Sleep outside of a loop that looks at a condition, and of a bubble of testing/synctest", f.path, f.line(n))
			}
		}, false}, f.File)
	}
	for path, n := range sleeps {
		if found[path] != n {
			t.Errorf("%s has %d sleeps, the list has %d", path, found[path], n)
		}
	}
}

// imports reports whether a file imports a package.
func imports(f *ast.File, path string) bool {
	for _, i := range f.Imports {
		if strings.Trim(i.Path.Value, `"`) == path {
			return true
		}
	}
	return false
}

// sleepFinder calls found for each sleep that is not directly in a loop of its function.
type sleepFinder struct {
	found func(ast.Node)
	loop  bool
}

func (s sleepFinder) Visit(n ast.Node) ast.Visitor {
	switch n := n.(type) {
	case *ast.FuncDecl, *ast.FuncLit:
		s.loop = false
	case *ast.ForStmt:
		s.loop = true
	case *ast.SelectorExpr:
		if x, ok := n.X.(*ast.Ident); ok && x.Name == "time" && n.Sel.Name == "Sleep" && !s.loop {
			s.found(n)
		}
	}
	return s
}
