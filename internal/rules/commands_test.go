package rules

import (
	"go/ast"
	"path"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// commandType is a type of a package below cmd.
type commandType struct{ dir, name string }

// commandLine has the types of the packages below cmd.
type commandLine struct {
	structs map[commandType]*ast.StructType
	imports map[*ast.StructType]map[string]string // folders by name of the package
	runs    map[commandType]string                // files of the methods Run
}

func readCommandLine(t *testing.T) *commandLine {
	c := &commandLine{make(map[commandType]*ast.StructType), make(map[*ast.StructType]map[string]string), make(map[commandType]string)}
	for _, f := range goFiles(t) {
		if !strings.HasPrefix(f.path, "cmd/") || strings.HasSuffix(f.path, "_test.go") {
			continue
		}
		dir := filepath.Dir(f.path)
		imports := make(map[string]string)
		for _, i := range f.Imports {
			if p, err := strconv.Unquote(i.Path.Value); err == nil {
				imports[path.Base(p)] = strings.TrimPrefix(p, "forager/")
			}
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if s, ok := s.(*ast.TypeSpec); ok {
						if fields, ok := s.Type.(*ast.StructType); ok {
							c.structs[commandType{dir, s.Name.Name}], c.imports[fields] = fields, imports
						}
					}
				}
			case *ast.FuncDecl:
				if d.Name.Name == "Run" && d.Recv != nil {
					if star, ok := d.Recv.List[0].Type.(*ast.StarExpr); ok {
						c.runs[commandType{dir, star.X.(*ast.Ident).Name}] = f.path
					}
				}
			}
		}
	}
	return c
}

// below returns the commands that the fields of a struct declare, in order, with their types. Former names of commands,
// which pass their arguments through, are left out.
func (c *commandLine) below(t commandType) (names []string, types []commandType) {
	fields := c.structs[t]
	if fields == nil {
		return nil, nil
	}
	for _, field := range fields.Fields.List {
		if field.Tag == nil || len(field.Names) == 0 {
			continue
		}
		text, _ := strconv.Unquote(field.Tag.Value)
		tag := reflect.StructTag(text)
		_, command := tag.Lookup("cmd")
		_, former := tag.Lookup("passthrough")
		if !command || former {
			continue
		}
		name := tag.Get("name")
		if name == "" {
			name = strings.ToLower(field.Names[0].Name)
		}
		switch typ := field.Type.(type) {
		case *ast.Ident:
			names, types = append(names, name), append(types, commandType{t.dir, typ.Name})
		case *ast.SelectorExpr:
			names, types = append(names, name), append(types, commandType{c.imports[fields][typ.X.(*ast.Ident).Name], typ.Sel.Name})
		}
	}
	return names, types
}

// TestCommandsAreInFilesOfTheirNames: the command "forager crawl focus" is in cmd/forager/crawl/focus.go. A command without
// others below it may be in any folder.
func TestCommandsAreInFilesOfTheirNames(t *testing.T) {
	c := readCommandLine(t)
	seen := 0
	for _, root := range []commandType{{"cmd/forager/root", "Commands"}, {"cmd/forager-lab/lab", "Commands"}} {
		names, types := c.below(root)
		for i, typ := range types {
			group, inner := c.below(typ)
			if len(group) == 0 {
				group, inner = names[i:i+1], types[i:i+1]
			} else if folder := filepath.Base(typ.dir); !strings.HasPrefix(folder, names[i]) && !strings.HasPrefix(names[i], folder) {
				t.Errorf("the commands below %s are in %s", names[i], typ.dir)
			}
			for k, command := range inner {
				seen++
				if want := strings.ReplaceAll(group[k], "-", "") + ".go"; filepath.Base(c.runs[command]) != want || filepath.Dir(c.runs[command]) != typ.dir {
					t.Errorf("the command %s is in %q, want %s/%s", group[k], c.runs[command], typ.dir, want)
				}
			}
		}
	}
	if seen < 40 {
		t.Errorf("%d commands seen", seen)
	}
}
