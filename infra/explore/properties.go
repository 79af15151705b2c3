package main

import (
	"cmp"
	"go/ast"
	gobuild "go/build"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
)

const (
	rapidPath     = "pgregory.net/rapid"
	crashtestPath = "forager/internal/stream/crashtest"
)

// test is a property test.
type test struct {
	pkg, dir, name string
	// simulates: it draws schedules of crashtest instead of values of rapid.
	simulates bool
	// program is the test program of its package.
	program string
}

// properties lists the tests of a package, in its folder, that call rapid.Check or crashtest.Seeds, directly or
// through other functions of the package's tests.
func properties(pkg, dir string) (tests []test, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		return nil, err
	}
	names := make(map[string]map[string]bool) // by function: the names it uses
	for _, path := range files {
		// Tests with an unsatisfied build tag are not in the program.
		if in, err := gobuild.Default.MatchFile(dir, filepath.Base(path)); err != nil {
			return nil, err
		} else if !in {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Body == nil {
				continue
			}
			named := make(map[string]bool)
			ast.Inspect(f.Body, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.SelectorExpr:
					if x, ok := n.X.(*ast.Ident); ok {
						named[x.Name+"."+n.Sel.Name] = true
					}
				case *ast.Ident:
					named[n.Name] = true
				}
				return true
			})
			names[f.Name.Name] = named
		}
	}
	for name := range names {
		rapids, simulates := leads(names, name, "rapid.Check"), leads(names, name, "crashtest.Seeds")
		if strings.HasPrefix(name, "Test") && name != "TestMain" && (rapids || simulates) {
			tests = append(tests, test{pkg: pkg, dir: dir, name: name, simulates: simulates})
		}
	}
	slices.SortFunc(tests, func(a, b test) int { return cmp.Compare(a.name, b.name) })
	return tests, nil
}

// leads reports whether a function uses to, directly or indirectly.
func leads(names map[string]map[string]bool, from, to string) bool {
	visited := make(map[string]bool)
	var visit func(name string) bool
	visit = func(name string) bool {
		if visited[name] {
			return false
		}
		visited[name] = true
		if names[name][to] {
			return true
		}
		for n := range names[name] {
			if names[n] != nil && visit(n) {
				return true
			}
		}
		return false
	}
	return visit(from)
}
