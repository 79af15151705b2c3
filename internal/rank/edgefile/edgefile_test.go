package edgefile

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func anything(string) bool { return true }

func TestLinks(t *testing.T) {
	file := "# a comment\nhttp://a.test/\thttp://b.test/x\n\nHTTP://A.test  http://c.test:80/ 17\nhttp://a.test/ http://b.test/x"
	var got []string
	c, err := Links(t.Context(), strings.NewReader(file), 0, anything, func(from, to string) { got = append(got, from+" "+to) })
	want := []string{"http://a.test/ http://b.test/x", "http://a.test/ http://c.test/", "http://a.test/ http://b.test/x"}
	if err != nil || !reflect.DeepEqual(got, want) || !reflect.DeepEqual(c, Counts{Lines: 3}) {
		t.Errorf("%v, %+v, %v", got, c, err)
	}
	got = nil
	if _, err := Links(t.Context(), strings.NewReader(file), 0, func(to string) bool { return to == "http://c.test/" }, func(from, to string) { got = append(got, from+" "+to) }); err != nil || !reflect.DeepEqual(got, want[1:2]) {
		t.Errorf("%v, %v", got, err)
	}
}

func TestVertices(t *testing.T) {
	got := make(map[uint64]string)
	c, err := Vertices(t.Context(), strings.NewReader("0\torg.example.www\t3\n1\thttps://example.org/a\nx\ty\n"), .5, func(n uint64, url string) { got[n] = url })
	if err != nil || !reflect.DeepEqual(got, map[uint64]string{0: "http://www.example.org/", 1: "https://example.org/a"}) || c.Broken != 1 {
		t.Errorf("%v, %+v, %v", got, c, err)
	}
	links := 0
	c, err = Numbers(t.Context(), strings.NewReader("0\t1\n1 0\n-1 0\n0 one\n"), .5, func(from, to uint64) { links++ })
	if err != nil || links != 2 || c.Broken != 2 || c.First[1].Line != 4 || !strings.Contains(c.First[1].What, `"one"`) {
		t.Errorf("%d links, %+v, %v", links, c, err)
	}
}

// TestVertexOfAPage: what Common Crawl's host graph calls the page, if it is at the root of its host.
func TestVertexOfAPage(t *testing.T) {
	for url, want := range map[string]string{
		"http://example.org/": "http://example.org/", "https://www.example.org/": "http://example.org/", "https://a.www.example.org/": "http://a.www.example.org/",
		"https://example.org/a": "", "https://example.org/?a": "", "": "", "/": "",
	} {
		if got := Vertex(url); got != want {
			t.Errorf("%s is %q, want %q", url, got, want)
		}
	}
	_, err := Links(t.Context(), strings.NewReader("1\t2\n"), 0, anything, func(string, string) {})
	if err == nil || !strings.Contains(err.Error(), `"2" is no URL but the number of a vertex`) {
		t.Errorf("numbers without their names: %v", err)
	}
}

// TestBrokenLines are counted, and fatal above the share only.
func TestBrokenLines(t *testing.T) {
	var b strings.Builder
	for i := range 90 {
		fmt.Fprintf(&b, "http://a.test/%d http://b.test/\n", i)
	}
	long := strings.Repeat("x", 3*maxLine)
	for _, broken := range []string{"http://a.test/", "a b", "http://a.test/ b", "b http://a.test/", "\x00\x01\t\xff\xfe", "http://[/ http://[/", long, "http://a.test/ http://" + long, long + " " + long, "1 2"} {
		b.WriteString(broken + "\n")
	}
	for _, wanted := range []func(string) bool{anything, func(string) bool { return false }} {
		c, err := Links(t.Context(), strings.NewReader(b.String()), .1, wanted, func(string, string) {})
		if err != nil || c.Lines != 100 || c.Broken != 10 || len(c.First) != maxShown || c.First[0].Line != 91 {
			t.Errorf("%+v, %v", c, err)
		}
		_, err = Links(t.Context(), strings.NewReader(b.String()), .09, wanted, func(string, string) {})
		if !errors.Is(err, ErrBroken) || !strings.Contains(err.Error(), "10 of 100, the first is line 91: ") {
			t.Errorf("%v", err)
		}
	}
	// A file of something else is not read to its end.
	c, err := Links(t.Context(), strings.NewReader(strings.Repeat("something else\n", 100_000)), .1, anything, func(string, string) {})
	if !errors.Is(err, ErrBroken) || c.Lines != 1000 {
		t.Errorf("%d lines were read, %v", c.Lines, err)
	}
}

func FuzzColumns(f *testing.F) {
	f.Add("http://a.test/\thttp://b.test/\n# x\n\n1 2 3")
	f.Add(strings.Repeat("y", maxLine+5) + "\nhttp://a.test/ http://a.test/")
	f.Fuzz(func(t *testing.T, file string) {
		links := int64(0)
		c, err := Links(t.Context(), strings.NewReader(file), 1, anything, func(from, to string) { links++ })
		if err != nil || links != c.Lines-c.Broken {
			t.Errorf("%d links, %+v, %v", links, c, err)
		}
		count := func(uint64, uint64) {}
		if _, err := Numbers(t.Context(), strings.NewReader(file), 1, count); err != nil {
			t.Error(err)
		}
		if _, err := Vertices(t.Context(), strings.NewReader(file), 1, func(uint64, string) {}); err != nil {
			t.Error(err)
		}
	})
}
