package examples

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tree writes files below a folder.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func link(t *testing.T, target, path string) {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
}

func TestReadFolder(t *testing.T) {
	dir := tree(t, map[string]string{
		"Science/Chemistry/acid.html":                      "<title>Acids</title><p>sour",
		"Science/Chemistry/latin.html":                     "<meta charset=iso-8859-2><p>k\xf8emen",
		"Science/Chemistry/plain.txt":                      "a < b & caf\xe9",
		"Science/Chemistry/wide.txt":                       "\xff\xfew\x00i\x00d\x00e\x00",
		"Science/Chemistry/no suffix":                      "<!doctype html><p>sniffed",
		"Science/Chemistry/http%3A%2F%2FH.example%2Fx%3Fy": "named by its URL",
		"Science/intro.md":                                 "about science",
		"Arts/über/%.txt":                                  "umlaut",
		"Arts/empty.txt":                                   "",
		"Arts/image.html":                                  "\x89PNG\r\n\x1a\n....",
		"Arts/program":                                     "\x7fELF\x02\x01\x01\x00\x00",
		"Arts/Other/own.txt":                               "of arts itself",
		"Arts/a\nb/control.txt":                            "x",
		"Arts/.hidden/x.txt":                               "x",
		"Arts/.DS_Store":                                   "x",
		"lonely.txt":                                       "x",
		"Deep" + strings.Repeat("/d", 70) + "/x.txt":       "x",
	})
	outside := tree(t, map[string]string{"secret/secret.txt": "secret"})
	link(t, "../Science/Chemistry/acid.html", filepath.Join(dir, "Arts/acid.html"))
	link(t, filepath.Join(outside, "secret/secret.txt"), filepath.Join(dir, "Arts/secret.txt"))
	link(t, "../../../../../../../../etc/passwd", filepath.Join(dir, "Arts/passwd"))
	link(t, "nowhere", filepath.Join(dir, "Arts/dangling"))
	link(t, "..", filepath.Join(dir, "Arts/circle"))
	link(t, "self", filepath.Join(dir, "Arts/self"))
	if err := syscall.Mkfifo(filepath.Join(dir, "Arts/pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	read := func(dir string) (string, *Summary) {
		in := intake(t, Settings{})
		defer in.Close()
		if err := ReadFolder(t.Context(), dir, in); err != nil {
			t.Fatal(err)
		}
		return finished(t, in)
	}
	got, sum := read(dir)
	want := `{"url":"file:///Arts/%C3%BCber/%25.txt","topics":["Arts/über"],"text":"umlaut"}
{"url":"file:///Arts/Other/own.txt","topics":["Arts/Other"],"text":"of arts itself"}
{"url":"file:///Science/Chemistry/acid.html","topics":["Arts","Science/Chemistry"],"text":"Acids\nsour"}
{"url":"file:///Science/Chemistry/latin.html","topics":["Science/Chemistry"],"text":"křemen"}
{"url":"file:///Science/Chemistry/no%20suffix","topics":["Science/Chemistry"],"text":"sniffed"}
{"url":"file:///Science/Chemistry/plain.txt","topics":["Science/Chemistry"],"text":"a < b & café"}
{"url":"file:///Science/Chemistry/wide.txt","topics":["Science/Chemistry"],"text":"wide"}
{"url":"file:///Science/intro.md","topics":["Science"],"text":"about science"}
{"url":"http://h.example/x?y","topics":["Science/Chemistry"],"text":"named by its URL"}
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[Reason]int64{
		NoText: 1, NotText: 2, BadTopic: 2, Hidden: 2, RootOfTree: 1, LinkAway: 4, LinkFolder: 1, NoFile: 1,
	}, counts(sum.Refused)); diff != "" {
		t.Errorf("%s\n%+v", diff, sum.Refused)
	}
	// The same tree elsewhere, also through a symbolic link, gives the same bytes.
	behind := filepath.Join(t.TempDir(), "behind")
	link(t, dir, behind)
	if again, _ := read(behind); again != got {
		t.Error(cmp.Diff(got, again))
	}
	in := intake(t, Settings{})
	defer in.Close()
	if err := ReadFolder(t.Context(), filepath.Join(dir, "nowhere"), in); err == nil {
		t.Error("a folder that is not there is read")
	}
}

func TestReadURLs(t *testing.T) {
	for name, content := range map[string]string{
		"x.urls": "\xef\xbb\xbf# a comment\nhttp://none.example/\n[Science/Chemistry]\nhttp://B.example/acids\n  http://a.example/\n" +
			"not a URL\nhttp://b.example/acids\tScience/Geology\t\t Arts\n[/Arts/]\nhttp://a.example\n\thttp://tab.example/\nftp://x.example/\n",
		"x.yaml": "Science/Chemistry:\n  - http://B.example/acids\n  - http://a.example/\n  - not a URL\nScience/Geology: [http://b.example/acids]\n" +
			"Arts:\n- http://b.example/acids\n- http://a.example\n- [nested]\n- ftp://x.example/\n- http://tab.example/\n\"\":\n- http://none.example/\n",
	} {
		in := intake(t, Settings{})
		defer in.Close()
		got, err := ReadURLs(strings.NewReader(content), name, in)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]Listed{
			{"http://a.example/", []string{"Arts", "Science/Chemistry"}},
			{"http://b.example/acids", []string{"Arts", "Science/Chemistry", "Science/Geology"}},
			{"http://tab.example/", []string{"Arts"}},
		}, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if n := counts(in.Refused()); n[BadURL] != 2 && n[BadURL] != 3 || n[NoTopic]+n[BadTopic] != 1 {
			t.Errorf("%s: %+v", name, in.Refused())
		}
	}
	for content, expected := range map[string]string{
		"x.urls [Science":    "line 1",
		"x.urls [A//B]":      `topic "A//B"`,
		"x.yaml - http://x/": "not a mapping",
		"x.yaml A: http://x": "not followed by a list",
		"x.yaml {":           "yaml",
	} {
		name, text, _ := strings.Cut(content, " ")
		in := intake(t, Settings{})
		defer in.Close()
		if _, err := ReadURLs(strings.NewReader(text), name, in); err == nil || !strings.Contains(err.Error(), expected) {
			t.Errorf("%s: %v", content, err)
		}
	}
}

func FuzzReadURLs(f *testing.F) {
	f.Add([]byte("[A]\nhttp://h/\tB\n"), false)
	f.Add([]byte("A: &a [http://h/]\nB: *a\n"), true)
	f.Fuzz(func(t *testing.T, b []byte, yaml bool) {
		in := intake(t, Settings{})
		defer in.Close()
		name := "x.urls"
		if yaml {
			name = "x.yaml"
		}
		list, err := ReadURLs(strings.NewReader(string(b)), name, in)
		if err != nil {
			return
		}
		for i, x := range list {
			if len(x.Topics) == 0 || !slices.IsSorted(x.Topics) || i > 0 && list[i-1].URL >= x.URL {
				t.Fatalf("%+v", list)
			}
		}
	})
}

func TestKindOf(t *testing.T) {
	dir := tree(t, map[string]string{
		"lines.jsonl": "\xef\xbb\xbf\n {\"url\":1}", "array.json": "[{\"url\":1}]", "list.txt": "http://x.example/\tA\n", "topics.urls": "[A]\n",
		"comment": "# x\n", "y.yaml": "A: [b]", "content.xml": "<?xml?>", "structure.rdf": "<RDF>", "prose.txt": "Once upon", "empty": "", "cut.gz": "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff",
		"pages/A/x.txt": "x", "dump/content.rdf.u8": "<RDF>",
	})
	packed, err := os.Create(filepath.Join(dir, "packed"))
	if err != nil {
		t.Fatal(err)
	}
	z := gzip.NewWriter(packed)
	io.WriteString(z, "{}")
	z.Close()
	packed.Close()
	for name, want := range map[string]string{
		"lines.jsonl": "jsonl", "packed": "jsonl", "list.txt": "urls", "topics.urls": "urls", "comment": "urls", "y.yaml": "urls", "content.xml": "dmoz",
		"pages": "folder", "dump": "dmoz", "array.json": "one object a line", "structure.rdf": "content.rdf.u8", "prose.txt": "is neither", "empty": "empty is empty", "cut.gz": "cut.gz cannot be unpacked: unexpected EOF", "none": "no such",
	} {
		kind, err := KindOf(filepath.Join(dir, name))
		if got := string(kind); err != nil && !strings.Contains(err.Error(), want) || err == nil && got != want {
			t.Errorf("%s: %q, %v, want %s", name, got, err, want)
		}
	}
}
