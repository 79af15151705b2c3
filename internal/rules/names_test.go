package rules

import (
	"go/ast"
	"go/token"
	"regexp"
	"strings"
	"testing"
)

// discouragedInNames are words of identifiers that readers of Go or Kafka would not search for.
var discouragedInNames = map[string]bool{
	"anew": true, "beside": true, "bell": true, "ground": true, "grounds": true, "heard": true, "knows": true, "lesson": true, "lessons": true,
	"memo": true, "memos": true, "nobody": true, "opine": true, "opinion": true, "patient": true, "remark": true, "rooms": true, "speak": true,
	"standing": true, "stands": true, "teach": true, "unpark": true, "whoever": true,
}

// TestNamesUsePlainWords reads the names that Go files declare, words in mixed caps one by one.
func TestNamesUsePlainWords(t *testing.T) {
	word := regexp.MustCompile(`[A-Z]?[a-z0-9]+|[A-Z]+`)
	for _, f := range goFiles(t) {
		check := func(names ...*ast.Ident) {
			for _, n := range names {
				for _, w := range word.FindAllString(n.Name, -1) {
					if discouragedInNames[strings.ToLower(w)] {
						t.Errorf("%s:%d: %q in the name %s; use the term of the field", f.path, f.line(n), w, n.Name)
					}
				}
			}
		}
		ast.Inspect(f.File, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				check(n.Name)
			case *ast.TypeSpec:
				check(n.Name)
			case *ast.ValueSpec:
				check(n.Names...)
			case *ast.Field:
				check(n.Names...)
			case *ast.AssignStmt:
				for _, e := range n.Lhs {
					if id, ok := e.(*ast.Ident); ok && n.Tok == token.DEFINE {
						check(id)
					}
				}
			}
			return true
		})
	}
}
