package rules

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// declaration is what the main package of a stage declares (stagemain.Stage), read from its source.
type declaration struct {
	name                     string
	inputs, follows, outputs []string
	// used are the topics that the package names.
	used []string
}

// declarations returns those of all stages.
func declarations(t *testing.T) []declaration {
	t.Helper()
	folders, err := filepath.Glob("../../stages/*/main.go")
	if err != nil || len(folders) < 9 {
		t.Fatalf("%d stages, %v", len(folders), err)
	}
	constants := stringConstants(sources(t, "../../schemas"))
	var all []declaration
	for _, main := range folders {
		files := sources(t, filepath.Dir(main))
		var d declaration
		eval := func(e ast.Expr) []string { return topicsOf(t, e, files, constants) }
		for _, f := range files {
			ast.Inspect(f, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.SelectorExpr:
					if topic, ok := constants[n.Sel.Name]; ok && strings.HasPrefix(n.Sel.Name, "Topic") {
						d.used = append(d.used, topic)
					}
				case *ast.CompositeLit:
					if s, ok := n.Type.(*ast.SelectorExpr); ok && s.Sel.Name == "Stage" {
						d.fill(n, files, eval)
					}
				}
				return true
			})
		}
		if d.name != filepath.Base(filepath.Dir(main)) {
			t.Errorf("%s declares %q", main, d.name)
		}
		all = append(all, d)
	}
	return all
}

func (d *declaration) fill(lit *ast.CompositeLit, files []*ast.File, eval func(ast.Expr) []string) {
	for _, e := range lit.Elts {
		kv := e.(*ast.KeyValueExpr)
		switch kv.Key.(*ast.Ident).Name {
		case "Name":
			if id, ok := kv.Value.(*ast.Ident); ok {
				d.name = stringConstants(files)[id.Name]
			} else {
				d.name, _ = strconv.Unquote(kv.Value.(*ast.BasicLit).Value)
			}
		case "Inputs":
			d.inputs = eval(kv.Value)
		case "Follows":
			d.follows = eval(kv.Value)
		case "Outputs":
			d.outputs = eval(kv.Value)
		}
	}
}

// sources parses the files of a package, without its tests.
func sources(t *testing.T, folder string) []*ast.File {
	t.Helper()
	names, err := filepath.Glob(folder + "/*.go")
	if err != nil || len(names) == 0 {
		t.Fatalf("%s: %d files, %v", folder, len(names), err)
	}
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	return files
}

// values calls f for every constant and variable at package level that has a value.
func values(files []*ast.File, f func(name string, value ast.Expr)) {
	for _, file := range files {
		for _, d := range file.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, s := range g.Specs {
				v, ok := s.(*ast.ValueSpec)
				for i := 0; ok && i < len(v.Values); i++ {
					f(v.Names[i].Name, v.Values[i])
				}
			}
		}
	}
}

func stringConstants(files []*ast.File) map[string]string {
	all := make(map[string]string)
	values(files, func(name string, value ast.Expr) {
		if b, ok := value.(*ast.BasicLit); ok && b.Kind == token.STRING {
			all[name], _ = strconv.Unquote(b.Value)
		}
	})
	return all
}

// topicsOf evaluates a list of topics: a literal, a variable of the package, or one of the package archive.
func topicsOf(t *testing.T, e ast.Expr, files []*ast.File, constants map[string]string) []string {
	t.Helper()
	var name string
	switch e := e.(type) {
	case *ast.CompositeLit:
		var topics []string
		for _, x := range e.Elts {
			topic := constants[x.(*ast.SelectorExpr).Sel.Name]
			if topic == "" {
				t.Fatalf("no topic: %v", x)
			}
			topics = append(topics, topic)
		}
		return topics
	case *ast.Ident:
		name = e.Name
	case *ast.SelectorExpr:
		files, name = sources(t, "../platform/"+e.X.(*ast.Ident).Name), e.Sel.Name
	}
	var topics []string
	values(files, func(n string, value ast.Expr) {
		if n == name {
			topics = topicsOf(t, value, files, constants)
		}
	})
	return topics
}

var topicName = regexp.MustCompile(`\b[a-z]+\.[a-z]+\b`)

// A stage card (the documentation of the command) names the topics that the stage declares.
func TestStageCards(t *testing.T) {
	known := map[string]bool{}
	for name, value := range stringConstants(sources(t, "../../schemas")) {
		if strings.HasPrefix(name, "Topic") {
			known[value] = true
		}
	}
	for _, d := range declarations(t) {
		b, err := os.ReadFile("../../stages/" + d.name + "/doc.go")
		if err != nil {
			t.Fatal(err)
		}
		_, card, _ := strings.Cut(strings.ReplaceAll(string(b), "\n// ", " "), "In:")
		card = regexp.MustCompile(`(?s)(Uses|State|Rejected|Ignored|Batches):.*`).ReplaceAllString(card, "")
		card = regexp.MustCompile(`\([^)]*\)`).ReplaceAllString(card, "")
		in, out, ok := strings.Cut(card, "Out:")
		if !ok {
			t.Errorf("%s: the card has no outputs", d.name)
		}
		parts := regexp.MustCompile(`Followed|Read to their end`).Split(in, 2)
		follows := ""
		if len(parts) == 2 {
			follows = parts[1]
		}
		for what, x := range map[string]struct {
			text               string
			required, optional []string
		}{
			"inputs": {parts[0], d.inputs, nil}, "followed topics": {follows, d.follows, nil},
			"outputs": {out, d.outputs, append([]string{"dead.letter"}, d.inputs...)},
		} {
			named := slices.DeleteFunc(topicName.FindAllString(x.text, -1), func(s string) bool { return !known[s] })
			for _, topic := range x.required {
				if !slices.Contains(named, topic) {
					t.Errorf("%s: the card lacks %s among its %s", d.name, topic, what)
				}
			}
			for _, topic := range named {
				if !slices.Contains(x.required, topic) && !slices.Contains(x.optional, topic) {
					t.Errorf("%s: the card has %s among its %s, and the stage does not declare it", d.name, topic, what)
				}
			}
		}
	}
}

// A stage names no topic that it does not declare.
func TestStagesDeclareTheirTopics(t *testing.T) {
	for _, d := range declarations(t) {
		for _, topic := range d.used {
			if !slices.Contains(slices.Concat(d.inputs, d.follows, d.outputs, []string{"dead.letter"}), topic) {
				t.Errorf("%s uses %s and does not declare it", d.name, topic)
			}
		}
	}
}

// The table of topics in docs/ARCHITECTURE.md names the stages that write each.
func TestArchitectureNamesTheWriters(t *testing.T) {
	b, err := os.ReadFile("../../docs/ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	writers := make(map[string][]string)
	stages := declarations(t)
	for _, d := range stages {
		for _, topic := range d.outputs {
			writers[topic] = append(writers[topic], d.name)
		}
	}
	rows := regexp.MustCompile(`(?m)^\| ([a-z]+\.[a-z]+)(?: \(compacted\))? \|[^|]*\|([^|]*)\|`).FindAllStringSubmatch(string(b), -1)
	if len(rows) < 8 {
		t.Fatalf("%d rows", len(rows))
	}
	for _, row := range rows {
		for _, d := range stages {
			if named := strings.Contains(row[2], d.name); named != slices.Contains(writers[row[1]], d.name) {
				t.Errorf("%s is written by %v; the table has%s", row[1], writers[row[1]], row[2])
			}
		}
	}
}
