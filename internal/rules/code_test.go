package rules

import (
	"go/ast"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestFunctionsStayShort(t *testing.T) {
	const most = 110
	for _, f := range goFiles(t) {
		if strings.HasSuffix(f.path, "_test.go") {
			continue
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if n := f.set.Position(fn.End()).Line - f.line(fn) + 1; n > most {
				t.Errorf("%s:%d: %s has %d lines, more than %d", f.path, f.line(fn), fn.Name.Name, n, most)
			}
		}
	}
}

// TestPackagesAndTypesStaySmall counts neither tests nor generated code.
func TestPackagesAndTypesStaySmall(t *testing.T) {
	const mostLines, mostFiles, mostMethods = 4000, 25, 40
	lines, files := make(map[string]int), make(map[string]int)
	methods := make(map[string]int) // by folder and type
	for _, f := range goFiles(t) {
		if strings.HasSuffix(f.path, "_test.go") || ast.IsGenerated(f.File) {
			continue
		}
		dir := filepath.Dir(f.path)
		files[dir]++
		lines[dir] += f.set.File(f.Pos()).LineCount()
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv != nil {
				methods[dir+"."+receiver(fn.Recv.List[0].Type)]++
			}
		}
	}
	for dir, n := range lines {
		if n > mostLines || files[dir] > mostFiles {
			t.Errorf("%s has %d lines in %d files, more than %d in %d", dir, n, files[dir], mostLines, mostFiles)
		}
	}
	for typ, n := range methods {
		if n > mostMethods {
			t.Errorf("%s has %d methods, more than %d", typ, n, mostMethods)
		}
	}
}

// receiver is the name of the type of a method's receiver.
func receiver(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return receiver(t.X)
	case *ast.IndexExpr:
		return receiver(t.X)
	case *ast.IndexListExpr:
		return receiver(t.X)
	case *ast.Ident:
		return t.Name
	}
	return ""
}

// sqlFolders may have SQL: the client; the embedded server, which interprets it; and the audit, which reads the tables independently of the
// client that writes them.
var sqlFolders = []string{"internal/platform/analytics", "schemas/clickhouse", "infra/local", "internal/audit"}

func TestSQLIsInFewPackages(t *testing.T) {
	sql := regexp.MustCompile(`\bSELECT\b[\s\S]*\bFROM\b|\b(INSERT INTO|ALTER TABLE|CREATE TABLE|DROP TABLE|DELETE FROM|TRUNCATE TABLE)\b`)
	for _, f := range goFiles(t) {
		dir := filepath.Dir(f.path)
		if strings.HasSuffix(f.path, "_test.go") || isBelowAny(dir, sqlFolders) {
			continue
		}
		ast.Inspect(f.File, func(n ast.Node) bool {
			if fn, ok := n.(*ast.FuncDecl); ok && fn.Name.Name == "Help" {
				return false // examples for users
			}
			if s, ok := n.(*ast.BasicLit); ok && s.Kind == token.STRING && sql.MatchString(s.Value) {
				t.Errorf("%s:%d: SQL outside %s", f.path, f.line(s), strings.Join(sqlFolders, ", "))
			}
			return true
		})
	}
}

// isBelowAny reports whether a folder is one of others, or is below one.
func isBelowAny(dir string, others []string) bool {
	for _, o := range others {
		if under(dir, o) {
			return true
		}
	}
	return false
}
