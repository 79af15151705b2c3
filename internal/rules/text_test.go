package rules

import (
	"errors"
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
		t.Fatalf("git knows %d files only", len(files))
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
	{"something said to be unfinished", regexp.MustCompile(`\b(TODO|FIXME|XXX)\b|not implemented`), func(p string) bool {
		return !strings.HasSuffix(p, ".go") && !strings.HasSuffix(p, ".md") && !strings.HasSuffix(p, ".proto")
	}},
	{"a test that can skip", regexp.MustCompile(`\.(Skip|Skipf|SkipNow)\(`), func(p string) bool { return !strings.HasSuffix(p, "_test.go") }},
	{"a folder outside the tree", regexp.MustCompile(`\.\./shared`), func(p string) bool { return p == ".ci/run" }},
}

func TestNoFileSaysWhatItMustNot(t *testing.T) {
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
		if info.Size() > 500<<10 {
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

// TestEveryRoomIsIntroduced checks that every folder of Go code has a doc.go with a package comment.
func TestEveryRoomIsIntroduced(t *testing.T) {
	rooms := make(map[string]bool)
	for _, path := range tracked(t) {
		if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			rooms[filepath.Dir(path)] = true
		}
	}
	for room := range rooms {
		b, err := os.ReadFile(filepath.Join("../..", room, "doc.go"))
		if err != nil && room == "schemas/generate" {
			continue // one file, with its comment at the top
		}
		if err != nil {
			t.Errorf("%s has no doc.go", room)
			continue
		}
		if !regexp.MustCompile(`(?m)^// (Package|Command) \S+ `).Match(b) {
			t.Errorf("%s/doc.go does not begin with \"Package …\" or \"Command …\"", room)
		}
	}
}

// TestPackageDocumentsAreShort: a doc.go describes the package as it is now. Decisions are in docs/decisions, dates in the
// history, figures in neither.
func TestPackageDocumentsAreShort(t *testing.T) {
	date := regexp.MustCompile(`\b20[0-9]{2}-[0-9]{2}\b`)
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
	}
}

// discouraged are words of comments that the documentation of Go or Kafka has other words for.
var discouraged = regexp.MustCompile(`(?i)\b(whoever|nobody|says|rooms|lest|hence|stands (in|on|at|behind|beside))\b`)

// TestCommentsUsePlainWords reads the comments of Go files. A name that a comment begins with is no word.
func TestCommentsUsePlainWords(t *testing.T) {
	name := regexp.MustCompile(`^(//|/\*)\s*\S+`)
	for _, path := range tracked(t) {
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, ".pb.go") || path == "internal/rules/text_test.go" {
			continue
		}
		files := token.NewFileSet()
		f, err := parser.ParseFile(files, filepath.Join("../..", path), nil, parser.ParseComments|parser.SkipObjectResolution)
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted and not yet committed
		}
		if err != nil {
			t.Error(err)
			continue
		}
		for _, group := range f.Comments {
			for _, c := range group.List {
				if word := discouraged.FindString(name.ReplaceAllString(c.Text, "")); word != "" {
					t.Errorf("%s:%d: %q in a comment; use the term of the field", path, files.Position(c.Pos()).Line, word)
				}
			}
		}
	}
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
