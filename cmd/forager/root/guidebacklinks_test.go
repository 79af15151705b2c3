package root

import (
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"forager/cmd/forager/guide"
	"forager/internal/classify/httpmodel"
	"forager/internal/rank/backlink"
)

// hostGraph writes a graph of hosts in the form of Common Crawl: folders of compressed parts, lines of number
// and reversed name and of two numbers, names without a leading www.
func hostGraph(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	parts := map[string][]string{
		"vertices": {"0\tcom.example\n1\tcom.example.shop\n", "2\torg.example\n3\torg.example.a-b\n4\torg.xn--bcher-kva\n"},
		"edges":    {"0\t2\n0\t3\n1\t2\n", "3\t2\n4\t0\n4\t3\n"},
	}
	for name, texts := range parts {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		for i, text := range texts {
			file, err := os.Create(filepath.Join(dir, name, fmt.Sprintf("part-%05d-53b9-c000.txt.gz", i)))
			if err != nil {
				t.Fatal(err)
			}
			w := gzip.NewWriter(file)
			if _, err := io.WriteString(w, text); err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			if err := file.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

func TestBacklinksOfAHostGraph(t *testing.T) {
	dir := hostGraph(t)
	c := &guide.Backlinks{File: filepath.Join(dir, "edges"), Vertices: filepath.Join(dir, "vertices"), Host: []string{"example.org"}}
	var out guide.BacklinksPublished
	file, err := c.ReadFile(t.Context(), &out)
	if err != nil {
		t.Fatal(err)
	}
	if out.Targets != 2 || out.Edges.Lines != 6 || out.Vertices.Lines != 5 || out.Edges.Broken+out.Vertices.Broken > 0 || out.Nameless > 0 {
		t.Errorf("%+v of edges %+v and vertices %+v", out, out.Edges, out.Vertices)
	}
	by, err := backlink.Open(file, httpmodel.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for url, want := range map[string]string{
		"https://www.example.org/": "[http://example.com/ http://shop.example.com/ http://a-b.example.org/]",
		"http://a-b.example.org/":  "[http://example.com/ http://xn--bcher-kva.org/]",
		"http://example.com/":      "[]", // of another host than the requested one
	} {
		if parents, err := by.Parents(t.Context(), url); err != nil || fmt.Sprint(parents) != want {
			t.Errorf("%s: %v, want %s (%v)", url, parents, want, err)
		}
	}
	c.Host = []string{"www.example.org"}
	if _, err := c.ReadFile(t.Context(), &out); err == nil || !strings.Contains(err.Error(), "no page of --host www.example.org; the names of hosts in Common Crawl") {
		t.Errorf("a host without links: %v", err)
	}
	for words, want := range map[string]string{
		"guide backlinks $edges --vertices $nothing --name cc":                                    "nothing: no such file",
		"guide backlinks $edges --vertices $vertices --name cc --host https://example.org/":       "the name of a host is wanted",
		"guide backlinks $vertices --vertices $edges --name cc":                                   "is no number of a vertex",
		"localgraph --edges $nothing --vertices $vertices --target http://example.org/ --depth 1": "nothing: no such file",
	} {
		if _, problem, code := run(t, dir, words); code == 0 || !strings.Contains(problem, want) {
			t.Errorf("%s: %d, %s", words, code, problem)
		}
	}
	if g := graphOf(t, dir, "--edges $edges --vertices $vertices --target https://www.example.org/ --depth 1"); g.Targets != 1 || g.Layers[1].Pages != 3 {
		t.Errorf("%+v", g)
	}
}
