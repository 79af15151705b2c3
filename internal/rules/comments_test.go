package rules

import (
	"go/ast"
	"path"
	"regexp"
	"strings"
	"testing"
)

var (
	fileInComment = regexp.MustCompile(`[a-z0-9_/.]*[a-z0-9_]\.go\b`)
	// mixedCaps are words that can only be names that are not exported.
	mixedCaps = regexp.MustCompile(`\b[a-z]+[a-z0-9]*[A-Z][A-Za-z0-9]*\b`)
	// subject is the name that the comment of a field begins with, in small letters.
	subject = regexp.MustCompile(`^//\s*([a-z][A-Za-z0-9]*)(?: and [a-z]\w*)?(?: is | are | has |: )`)
)

// TestCommentsNameWhatThereIs: the files, the names in mixed caps and the fields that comments mention exist, so that a name that was
// changed is changed in comments, too.
func TestCommentsNameWhatThereIs(t *testing.T) {
	names, anywhere := make(map[string]map[string]bool), make(map[string]bool) // by folder
	for _, f := range goFiles(t) {
		dir := path.Dir(f.path)
		if names[dir] == nil {
			names[dir] = make(map[string]bool)
		}
		ast.Inspect(f.File, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Ident:
				names[dir][n.Name], anywhere[n.Name] = true, true
			case *ast.StructType:
				checkFields(t, f, n)
			}
			return true
		})
	}
	files := make(map[string]bool) // by their paths, and by the ends of these
	for _, file := range tracked(t) {
		for more := true; more; _, file, more = strings.Cut(file, "/") {
			files[file] = true
		}
	}
	checked := 0
	for _, f := range goFiles(t) {
		dir := path.Dir(f.path)
		check := func(c *ast.Comment) {
			for _, file := range fileInComment.FindAllString(c.Text, -1) {
				checked++
				if !files[path.Join(dir, file)] && !(strings.Contains(file, "/") && files[file]) {
					t.Errorf("%s:%d: there is no file %s in %s", f.path, f.line(c), file, dir)
				}
			}
			for _, name := range mixedCaps.FindAllString(c.Text, -1) {
				checked++
				if exported := strings.ToUpper(name[:1]) + name[1:]; !names[dir][name] && (names[dir][exported] || anywhere[name]) {
					t.Errorf("%s:%d: nothing in %s is named %s", f.path, f.line(c), dir, name)
				}
			}
		}
		for _, group := range f.Comments {
			for _, c := range group.List {
				check(c)
			}
		}
	}
	if checked < 1000 {
		t.Errorf("comments name %d things", checked)
	}
}

// checkFields: the comment of a field begins with the name of one of the struct, if it begins with a name.
func checkFields(t *testing.T, f goFile, s *ast.StructType) {
	t.Helper()
	fields := make(map[string]bool)
	for _, field := range s.Fields.List {
		for _, name := range field.Names {
			fields[name.Name] = true
		}
	}
	for _, field := range s.Fields.List {
		if field.Doc == nil {
			continue
		}
		if m := subject.FindStringSubmatch(field.Doc.List[0].Text); m != nil && !fields[m[1]] {
			t.Errorf("%s:%d: the comment is about %s, which is no field of the struct", f.path, f.line(field.Doc), m[1])
		}
	}
}
