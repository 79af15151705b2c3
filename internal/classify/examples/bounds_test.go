package examples

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestManyTopicsAreRefused: a record of millions of topics costs no more than a few times its line, and its place is
// reported.
func TestManyTopicsAreRefused(t *testing.T) {
	for name, topics := range map[string]string{
		"strings": strings.Repeat(`"a",`, 2<<20) + `"a"`, "empty": strings.Repeat(`"",`, 2<<20) + `""`, "nested": strings.Repeat(`[],`, 2<<20) + `[]`,
	} {
		line := `{"url":"http://h/1","topics":[` + topics + `],"text":"x"}`
		in := intake(t, Settings{})
		defer in.Close()
		used := allocated(func() {
			if err := ReadLines(t.Context(), strings.NewReader("\n"+line), "x.jsonl", in); err != nil {
				t.Fatal(err)
			}
		})
		refused := fmt.Sprint(in.Refused())
		if (&Summary{Refused: in.refused}).Refusals() != 1 || !strings.Contains(refused, "x.jsonl, line 2") || name != "nested" && !strings.Contains(refused, "more than 1000 topics") {
			t.Errorf("%s: %s", name, refused)
		}
		if most := uint64(10 * len(line)); used > most {
			t.Errorf("%s: a line of %d bytes takes %d, want at most %d", name, len(line), used, most)
		}
	}
}

// TestTopicsOfOnePageAreBounded: a page that many lines name with a topic each gets the first of these.
func TestTopicsOfOnePageAreBounded(t *testing.T) {
	var lines, list strings.Builder
	for i := range 3 * maxTopics {
		fmt.Fprintf(&lines, `{"url":"http://h/1","topics":["T%05d"],"text":"x"}`+"\n", 3*maxTopics-1-i)
		fmt.Fprintf(&list, "http://h/1\tT%05d\n", 3*maxTopics-1-i)
	}
	in := intake(t, Settings{})
	defer in.Close()
	if err := ReadLines(t.Context(), strings.NewReader(lines.String()), "x", in); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Finish(func(e *Example) error {
		if len(e.Topics) != maxTopics || e.Topics[0] != "T00000" || e.Topics[maxTopics-1] != "T00999" {
			t.Errorf("%d topics, %s to %s", len(e.Topics), e.Topics[0], e.Topics[len(e.Topics)-1])
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	listed, err := ReadURLs(strings.NewReader(list.String()), "x.urls", in)
	if err != nil || len(listed) != 1 || len(listed[0].Topics) != maxTopics || listed[0].Topics[maxTopics-1] != "T00999" {
		t.Errorf("%v, %d pages", err, len(listed))
	}
}

// TestListsAreBounded: lists that would exceed the memory are errors with the line.
func TestListsAreBounded(t *testing.T) {
	in := intake(t, Settings{})
	defer in.Close()
	for name, c := range map[string]struct{ file, list, expected string }{
		"long line":   {"x.urls", "[A]\nhttp://h/\n" + strings.Repeat("x", maxURLLine+1), "x.urls: line 3: more than 1048576 bytes"},
		"many topics": {"x.urls", "http://h/" + strings.Repeat("\ta", 10*maxTopics), ""},
		"YAML":        {"x.yaml", "A:\n" + strings.Repeat("  - http://h/\n", maxYAML/13+1), "x.yaml: more than 4194304 bytes of YAML"},
	} {
		_, err := ReadURLs(strings.NewReader(c.list), c.file, in)
		if c.expected == "" && err != nil || c.expected != "" && (err == nil || !strings.HasPrefix(err.Error(), c.expected)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := fmt.Sprint(in.Refused()); (&Summary{Refused: in.refused}).Refusals() != 1 || !strings.Contains(got, "x.urls, line 1 an example has more than 1000 topics") {
		t.Error(got)
	}
}

// TestLinesNameURLs: a line that is no URL is refused with its file and line.
func TestLinesNameURLs(t *testing.T) {
	in := intake(t, Settings{})
	defer in.Close()
	var lines strings.Builder
	for _, url := range []string{"https://example.org/a", "file:///A/b.html", "a page", "example.org/c", "javascript:void(0)", "http://"} {
		fmt.Fprintf(&lines, `{"url":%q,"topics":["A"],"text":"x"}`+"\n", url)
	}
	if err := ReadLines(t.Context(), strings.NewReader(lines.String()), "x.jsonl", in); err != nil {
		t.Fatal(err)
	}
	got, sum := finished(t, in)
	if sum.Examples != 2 || counts(sum.Refused)[BadURL] != 4 || !strings.Contains(fmt.Sprint(sum.Refused), `x.jsonl, line 3 url "a page" is not a URL`) {
		t.Errorf("%s%+v", got, sum)
	}
}
