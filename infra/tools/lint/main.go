package main

import (
	"go/ast"
	"slices"
	"strings"

	"github.com/kisielk/errcheck/errcheck"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/unitchecker"
	"honnef.co/go/tools/analysis/lint"
	"honnef.co/go/tools/simple"
	"honnef.co/go/tools/staticcheck"
	"honnef.co/go/tools/stylecheck"
)

// omitted are checks of staticcheck that are not run.
var omitted = []string{
	"ST1003", // names: revive checks them
}

// ignorable are functions whose errors may be ignored, in addition to those that errcheck excludes: they write to a
// terminal or a client, or end something of which nothing is expected any more.
var ignorable = []string{
	"fmt.Fprint", "fmt.Fprintf", "fmt.Fprintln",
	"(io.Closer).Close", "(net.Conn).Close", "(net.Listener).Close", "(*net/http.Server).Close",
	"(*os.Process).Kill", "os.Remove",
	"(*net/http.Server).Serve", // ends with an error always
	"(net.Conn).SetReadDeadline", "(net.Conn).SetWriteDeadline",
	"(*net/http.ResponseController).SetReadDeadline", "(*net/http.ResponseController).Flush",
	"(net/http.ResponseWriter).Write",
	"(*bufio.Writer).Write", // keeps its error until Flush
}

func main() {
	analyzers := []*analysis.Analyzer{uncheckedErrors()}
	for _, checks := range [][]*lint.Analyzer{staticcheck.Analyzers, simple.Analyzers, stylecheck.Analyzers} {
		for _, c := range checks {
			if !slices.Contains(omitted, c.Analyzer.Name) {
				analyzers = append(analyzers, c.Analyzer)
			}
		}
	}
	unitchecker.Main(analyzers...)
}

// uncheckedErrors is errcheck without tests and deferred calls.
func uncheckedErrors() *analysis.Analyzer {
	errcheck.DefaultExcludedSymbols = append(errcheck.DefaultExcludedSymbols, ignorable...)
	a := *errcheck.Analyzer
	a.Run = func(pass *analysis.Pass) (any, error) {
		filtered := *pass
		filtered.Report = func(d analysis.Diagnostic) {
			if !strings.HasSuffix(pass.Fset.Position(d.Pos).Filename, "_test.go") && !deferred(pass.Files, d) {
				pass.Report(d)
			}
		}
		return errcheck.Analyzer.Run(&filtered)
	}
	return &a
}

// deferred reports whether d is about the call of a defer statement.
func deferred(files []*ast.File, d analysis.Diagnostic) (found bool) {
	for _, f := range files {
		if d.Pos < f.FileStart || d.Pos > f.FileEnd {
			continue
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.DeferStmt); ok && (s.Call.Pos() == d.Pos || s.Call.Lparen == d.Pos) {
				found = true
			}
			return !found
		})
	}
	return found
}
