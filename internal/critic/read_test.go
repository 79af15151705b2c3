package critic

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"forager/internal/text"
	"forager/schemas"
)

// htmlOf stands for a parser: its pages hold the words between tags.
func htmlOf(body []byte, url string) (*schemas.Page, error) {
	if strings.Contains(string(body), "<broken") {
		return nil, errors.New("cannot be parsed")
	}
	return page(url, strings.NewReplacer("<p>", " ", "</p>", " ").Replace(string(body))), nil
}

func TestReadExamples(t *testing.T) {
	e, err := ReadExamples(strings.NewReader("\xef\xbb\xbf"+`{"url": "http://h/1", "topics": ["A/B", "C"], "text": "One two, two", "more": 1}
  
{"url":"http://h/2","topics":["/A/"],"html":"<p>three</p><p>two"}`), text.Settings{}, htmlOf)
	if err != nil {
		t.Fatal(err)
	}
	if e.Len() != 2 || e.Repeated() != 0 {
		t.Errorf("%d examples, %d repeated", e.Len(), e.Repeated())
	}
	words := make(map[string]string)
	for _, x := range e.items {
		for i, f := range x.bag.Features {
			words[x.url+" "+e.words[f]] = fmt.Sprint(x.bag.Counts[i], x.topics)
		}
	}
	if diff := cmp.Diff(map[string]string{
		"http://h/1 one": "1 [A/B C]", "http://h/1 two": "2 [A/B C]",
		"http://h/2 three": "1 [A]", "http://h/2 two": "1 [A]",
	}, words); diff != "" {
		t.Error(diff)
	}
}

func TestBadLinesAreAllReported(t *testing.T) {
	lines := []struct{ line, says string }{
		{`{"url":"http://h/1","topics":["A"],"text":"fine"}`, ""},
		{`not JSON`, "line 2: invalid character"},
		{`{"url":"http://h/1"`, "line 3: unexpected end"},
		{`[]`, "line 4: json"},
		{`{"url":"","topics":["A"],"text":"x"}`, "line 5: url is empty"},
		{`{"url":"http://h/1","topics":"A","text":"x"}`, "line 6: json: cannot unmarshal string"},
		{`{"url":"http://h/1","topics":[],"text":"x"}`, "line 7: topics is empty"},
		{`{"url":"http://h/1","topics":["A//B"],"text":"x"}`, `line 8: topic "A//B"`},
		{`{"url":"http://h/1","topics":["A"]}`, "line 9: text and html are both empty"},
		{`{"url":"http://h/1","topics":["A"],"text":"x","html":"x"}`, "line 10: text and html are both given"},
		{`{"url":"http://h/1","topics":["A"],"html":"<broken"}`, "line 11: html: cannot be parsed"},
		{`{"url":"http://h/1","topics":["A"],"text":"x"} {}`, "line 12: invalid character"},
		{`null`, "line 13: text and html"},
	}
	var file strings.Builder
	for _, l := range lines {
		file.WriteString(l.line + "\n")
	}
	_, err := ReadExamples(strings.NewReader(file.String()), text.Settings{}, htmlOf)
	var bad *LineErrors
	if !errors.As(err, &bad) || len(bad.Lines) != 12 || bad.More != 0 {
		t.Fatalf("error %v", err)
	}
	for _, l := range lines {
		if !strings.Contains(err.Error(), l.says) {
			t.Errorf("the error does not say %q:\n%v", l.says, err)
		}
	}
	if _, err = ReadExamples(strings.NewReader(strings.Repeat("x\n", 31)), text.Settings{}, htmlOf); err == nil || !strings.Contains(err.Error(), "31 bad lines") || !strings.Contains(err.Error(), "and 11 more") {
		t.Errorf("error %v", err)
	}
}

func TestReadExamplesFails(t *testing.T) {
	if _, err := ReadExamples(strings.NewReader("\n\n"), text.Settings{}, htmlOf); err == nil || !strings.Contains(err.Error(), "no example") {
		t.Errorf("empty file: %v", err)
	}
	half := io.MultiReader(strings.NewReader("{}\n{"), iotest.ErrReader(errors.New("disk gone")))
	if _, err := ReadExamples(half, text.Settings{}, htmlOf); err == nil || !strings.Contains(err.Error(), "line 2: disk gone") {
		t.Errorf("a reader that fails: %v", err)
	}
}

func TestLongLine(t *testing.T) {
	long := io.MultiReader(strings.NewReader("{}\n"), io.LimitReader(endless{}, maxLine+5), strings.NewReader("\n{}\n"))
	_, err := ReadExamples(long, text.Settings{}, htmlOf)
	var bad *LineErrors
	if !errors.As(err, &bad) || len(bad.Lines) != 3 || bad.Lines[1].Line != 2 || !strings.Contains(bad.Lines[1].Err.Error(), "longer") {
		t.Errorf("error %v", err)
	}
}

type endless struct{}

func (endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 'x'
	}
	return len(b), nil
}

func FuzzReadExamples(f *testing.F) {
	f.Add("{\"url\":\"http://h/1\",\"topics\":[\"A/B\"],\"text\":\"one two\"}\n{\"url\":\"u\",\"topics\":[\"C\"],\"html\":\"<p>x\"}")
	f.Add("\xef\xbb\xbf\n\n{}")
	f.Add(`{"url":"x","topics":["Other","A/Other"],"text":"` + "\xff" + `"}`)
	f.Fuzz(func(t *testing.T, file string) {
		e, err := ReadExamples(strings.NewReader(file), text.Settings{}, htmlOf)
		if err != nil {
			return
		}
		m, _, err := Train(e, Settings{})
		if err != nil {
			return
		}
		again, err := Unmarshal(m.Marshal())
		if err != nil || string(again.Marshal()) != string(m.Marshal()) {
			t.Errorf("the model of %q does not come back: %v", file, err)
		}
	})
}
