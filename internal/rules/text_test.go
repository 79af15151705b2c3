package rules

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// tracked lists the files that git tracks, relative to the root of the tree.
func tracked(t *testing.T) []string {
	t.Helper()
	out, err := exec.Command("git", "-C", "../..", "ls-files", "-z").Output()
	if err != nil {
		t.Fatalf("git ls-files: %v", err)
	}
	files := slices.DeleteFunc(strings.Split(string(out), "\x00"), func(f string) bool { return f == "" })
	if len(files) < 50 {
		t.Fatalf("git lists %d files only", len(files))
	}
	return files
}

var forbidden = []struct {
	what    string
	pattern *regexp.Regexp
	except  func(path string) bool
}{
	{"the address of a package registry", regexp.MustCompile(`https?://(registry\.|proxy\.golang|pypi\.|files\.pythonhosted|repo[0-9]*\.maven|repo\.maven|deb\.debian)`), nil},
	{"an absolute path of a machine", regexp.MustCompile(`(^|[^a-zA-Z0-9_.])/(work|root|home/[a-z]+)/`), nil},
	{"an unfinished part", regexp.MustCompile(`\b(TODO|FIXME|XXX)\b|not implemented`), func(p string) bool {
		return !strings.HasSuffix(p, ".go") && !strings.HasSuffix(p, ".md") && !strings.HasSuffix(p, ".proto")
	}},
	{"a test that can skip", regexp.MustCompile(`\.(Skip|Skipf|SkipNow)\(`), func(p string) bool { return !strings.HasSuffix(p, "_test.go") }},
	{"a folder outside the tree", regexp.MustCompile(`\.\./shared`), func(p string) bool { return p == ".ci/run" }},
}

func TestFilesHaveNoForbiddenText(t *testing.T) {
	for _, path := range tracked(t) {
		if path == "internal/rules/text_test.go" || filepath.Base(path) == "go.sum" {
			continue
		}
		b, err := os.ReadFile(filepath.Join("../..", path))
		if err != nil {
			continue // deleted and not yet committed
		}
		if strings.Contains(string(b[:min(len(b), 8000)]), "\x00") {
			continue
		}
		for n, line := range strings.Split(string(b), "\n") {
			for _, f := range forbidden {
				if (f.except == nil || !f.except(path)) && f.pattern.MatchString(line) {
					t.Errorf("%s:%d: %s: %.120s", path, n+1, f.what, strings.TrimSpace(line))
				}
			}
		}
	}
}

func TestFilesStaySmall(t *testing.T) {
	for _, path := range tracked(t) {
		info, err := os.Stat(filepath.Join("../..", path))
		if err != nil {
			continue
		}
		most := int64(500 << 10)
		if strings.HasSuffix(path, ".tar.zst") { // the data of a whole crawl
			most = 800 << 10
		}
		if info.Size() > most {
			t.Errorf("%s has %d KiB", path, info.Size()>>10)
		}
		if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, ".pb.go") && !strings.HasSuffix(path, "_test.go") {
			b, err := os.ReadFile(filepath.Join("../..", path))
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(string(b), "\n"); n > 700 {
				t.Errorf("%s has %d lines: does it still have one reason to exist?", path, n)
			}
		}
	}
}

// TestEveryPackageHasADoc checks that every folder of Go code has a doc.go with a package comment.
func TestEveryPackageHasADoc(t *testing.T) {
	folders := make(map[string]bool)
	for _, path := range tracked(t) {
		if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			folders[filepath.Dir(path)] = true
		}
	}
	for folder := range folders {
		b, err := os.ReadFile(filepath.Join("../..", folder, "doc.go"))
		if err != nil {
			t.Errorf("%s has no doc.go", folder)
			continue
		}
		if !regexp.MustCompile(`(?m)^// (Package|Command) \S+ `).Match(b) {
			t.Errorf("%s/doc.go does not begin with \"Package …\" or \"Command …\"", folder)
		}
	}
}

// TestFoldersOfPackagesHaveNoCode: a folder below internal groups packages or is one. The exceptions are packages of which those below are
// the parts.
func TestFoldersOfPackagesHaveNoCode(t *testing.T) {
	code := make(map[string]bool)
	for _, path := range tracked(t) {
		if strings.HasPrefix(path, "internal/") && filepath.Base(path) == "doc.go" {
			code[filepath.Dir(path)] = true
		}
	}
	whole := []string{"internal/frontier", "internal/stream"}
	for folder := range code {
		parent := filepath.Dir(folder)
		if code[parent] && !slices.Contains(whole, parent) && !strings.Contains(folder, "test") {
			t.Errorf("%s has code and the package %s", parent, folder)
		}
	}
}

// TestPackageDocumentsAreShort: a doc.go describes the package as it is now. Decisions are in docs/decisions, dates in the
// history, figures in neither.
func TestPackageDocumentsAreShort(t *testing.T) {
	date := regexp.MustCompile(`\b20[0-9]{2}-[0-9]{2}\b`)
	figure := regexp.MustCompile(`(?i)[0-9] ?(pages|URLs|rows|links|records|requests|fetches|entries|[KMG]i?B)?(/s|/core)\b|[0-9] ?(ms|µs|s) of CPU\b`)
	for _, path := range tracked(t) {
		if filepath.Base(path) != "doc.go" {
			continue
		}
		b, err := os.ReadFile(filepath.Join("../..", path))
		if err != nil {
			continue // deleted and not yet committed
		}
		if n := strings.Count(string(b), "\n"); n > 80 {
			t.Errorf("%s has %d lines, more than 80", path, n)
		}
		if d := date.Find(b); d != nil {
			t.Errorf("%s has a date, %s", path, d)
		}
		if f := figure.Find(b); f != nil {
			t.Errorf("%s has a figure of a measurement, %q", path, f)
		}
	}
}

const discouragedAnywhere = `whoever|nobody|lest|hence|beside|anew|knows|wants|remembers|remembered|forgets|believes?|thinks?|says?|said|tells|told|speaks?|talks?|sees|hears?|hungry`

// discouraged are words of comments that the documentation of Go or Kafka has other words for, such as verbs of people.
var discouraged = regexp.MustCompile(`(?i)\b(rooms|stands (in|on|at|behind)|` + discouragedAnywhere + `)\b`)

// discouragedInTexts are words of messages, help texts and names of tests.
var discouragedInTexts = regexp.MustCompile(`(?i)(?:^|[\s("])(rooms?|stands|` + discouragedAnywhere + `)(?:$|[\s.,:;?!)"])`)

// goFile is a file of Go code, with its path below the root of the tree.
type goFile struct {
	path string
	*ast.File
	set *token.FileSet
}

func (f goFile) line(n ast.Node) int { return f.set.Position(n.Pos()).Line }

var parsed []goFile

// goFiles parses the Go files of the tree that are not generated, once.
func goFiles(t *testing.T) []goFile {
	t.Helper()
	if parsed != nil {
		return parsed
	}
	for _, path := range tracked(t) {
		if !strings.HasSuffix(path, ".go") {
			continue
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, filepath.Join("../..", path), nil, parser.ParseComments|parser.SkipObjectResolution)
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted and not yet committed
		}
		if err != nil {
			t.Error(err)
			continue
		}
		if !ast.IsGenerated(f) {
			parsed = append(parsed, goFile{path, f, set})
		}
	}
	return parsed
}

// TestCommentsUsePlainWords reads the comments of Go files. A name that a comment begins with is no word.
func TestCommentsUsePlainWords(t *testing.T) {
	name := regexp.MustCompile(`^(//|/\*)\s*\S+`)
	for _, f := range goFiles(t) {
		for _, group := range f.Comments {
			for _, c := range group.List {
				if word := discouraged.FindString(name.ReplaceAllString(c.Text, "")); word != "" {
					t.Errorf("%s:%d: %q in a comment; use the term of the field", f.path, f.line(c), word)
				}
			}
		}
	}
}

// TestMessagesUsePlainWords reads string literals of several words, and the names of tests.
func TestMessagesUsePlainWords(t *testing.T) {
	for _, f := range goFiles(t) {
		check := func(n ast.Node, text string) {
			if m := discouragedInTexts.FindStringSubmatch(text); m != nil {
				t.Errorf("%s:%d: %q in a message or a name; use the term of the field", f.path, f.line(n), m[1])
			}
		}
		ast.Inspect(f.File, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BasicLit:
				if n.Kind == token.STRING && strings.Contains(n.Value, " ") {
					check(n, n.Value)
				}
			case *ast.FuncDecl:
				if testName.MatchString(n.Name.Name) && strings.HasSuffix(f.path, "_test.go") {
					check(n, wordsOf(n.Name.Name))
				}
			}
			return true
		})
	}
}

var testName = regexp.MustCompile(`^(Test|Fuzz|Benchmark|Example)[A-Z]`)

// TestOtherFilesUsePlainWords reads scripts, .proto, .sql and Markdown files; not the tables of the first databases, a test's data.
func TestOtherFilesUsePlainWords(t *testing.T) {
	for _, path := range tracked(t) {
		if !slices.Contains([]string{".sh", ".py", ".mk", ".proto", ".sql", ".md"}, filepath.Ext(path)) && filepath.Base(path) != "Makefile" {
			continue
		}
		if strings.HasPrefix(filepath.Base(path), "00") {
			continue
		}
		b, err := os.ReadFile(filepath.Join("../..", path))
		if err != nil {
			continue // deleted and not yet committed
		}
		for n, line := range strings.Split(string(b), "\n") {
			if m := discouragedInTexts.FindStringSubmatch(line); m != nil {
				t.Errorf("%s:%d: %q; use the term of the field", path, n+1, m[1])
			}
		}
	}
}

// wordsOf separates the words of a name in mixed caps.
func wordsOf(name string) string {
	return strings.TrimSpace(regexp.MustCompile(`[A-Z]`).ReplaceAllString(name, " $0"))
}

// TestEveryPackageIsListed compares internal/README.md with the packages; packages that serve the tests of one
// other package are left out.
func TestEveryPackageIsListed(t *testing.T) {
	listed := make(map[string]int)
	for _, path := range tracked(t) {
		dir, file := filepath.Split(path)
		dir = strings.TrimSuffix(strings.TrimPrefix(dir, "internal/"), "/")
		if strings.HasPrefix(path, "internal/") && file == "doc.go" && !strings.HasSuffix(dir, "test") && !strings.Contains(dir, "test/") {
			listed[dir] = 0
		}
	}
	b, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range regexp.MustCompile(`\[(\w+)\]\(([\w/]+)\)`).FindAllStringSubmatch(string(b), -1) {
		dir := link[2]
		if _, ok := listed[dir]; !ok || link[1] != filepath.Base(dir) {
			t.Errorf("internal/README.md has %s, which is no package", link[0])
			continue
		}
		listed[dir]++
	}
	for dir, n := range listed {
		if n != 1 {
			t.Errorf("internal/README.md lists %s %d times", dir, n)
		}
	}
}
