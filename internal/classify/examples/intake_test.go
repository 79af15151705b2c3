package examples

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// finished returns the examples of an intake as JSON Lines.
func finished(t interface{ Fatal(...any) }, in *Intake) (string, *Summary) {
	var out strings.Builder
	sum, err := in.Finish(NewWriter(&out).Write)
	if err != nil && !errors.Is(err, ErrNothing) {
		t.Fatal(err)
	}
	return out.String(), sum
}

func intake(t interface{ Fatal(...any) }, s Settings) *Intake {
	in, err := NewIntake(s)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// TestOrderDoesNotMatter compares the intake with a map: for every order, memory and source the bytes are those of
// the set.
func TestOrderDoesNotMatter(t *testing.T) {
	temp := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Example {
			return Example{
				URL:    rapid.SampledFrom([]string{"http://a.example/", "http://b.example/", "http://b.example/x", "name", "c"}).Draw(t, "url"),
				Topics: rapid.SliceOfN(rapid.SampledFrom([]string{"A", "A/B", "C/Other", "D"}), 1, 3).Draw(t, "topics"),
				Text:   rapid.StringMatching(`[a-c]{1,3}`).Draw(t, "text"),
			}
		}), 1, 40).Draw(t, "examples")
		import1 := func(list []Example, memory int) (string, *Summary) {
			in := intake(t, Settings{Memory: memory, Temp: temp})
			defer in.Close()
			for _, e := range list {
				if err := in.Add(Place{}, e.URL, e.Topics, e.Text); err != nil {
					t.Fatal(err)
				}
			}
			return finished(t, in)
		}
		want, sum := import1(list, 0)
		got, again := import1(rapid.Permutation(list).Draw(t, "order"), rapid.IntRange(1, 600).Draw(t, "memory"))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
		if diff := cmp.Diff(sum, again); diff != "" {
			t.Fatal(diff)
		}
		model := make(map[string]Example)
		texts := make(map[string][]string)
		for _, e := range list {
			m := model[e.URL]
			m.URL = e.URL
			m.Topics = append(m.Topics, e.Topics...)
			if m.Text == "" || len(e.Text) > len(m.Text) || len(e.Text) == len(m.Text) && e.Text < m.Text {
				m.Text = e.Text
			}
			model[e.URL], texts[e.URL] = m, append(texts[e.URL], e.Text)
		}
		var b strings.Builder
		differing := 0
		for _, url := range slices.Sorted(maps.Keys(model)) {
			m := model[url]
			slices.Sort(m.Topics)
			m.Topics = slices.Compact(m.Topics)
			line, err := json.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			b.Write(append(line, '\n'))
			for _, text := range texts[url] {
				if text != m.Text {
					differing++
				}
			}
		}
		if b.String() != want || int(sum.Examples) != len(model) || int(sum.Repeated) != len(list)-len(model) || int(sum.Differing) != differing {
			t.Fatalf("%+v\n%s", sum, cmp.Diff(b.String(), want))
		}
	})
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("%d folders are left behind, %v", len(left), err)
	}
}

// TestManyRuns exceeds the number of runs that are merged at once.
func TestManyRuns(t *testing.T) {
	in := intake(t, Settings{Memory: 1, Temp: t.TempDir()})
	defer in.Close()
	const n = 3*maxRuns + 7
	for i := range n {
		if err := in.Add(Place{}, fmt.Sprintf("http://h.example/%04d", i*7919%n), []string{"A"}, "page"); err != nil {
			t.Fatal(err)
		}
	}
	got, _ := finished(t, in)
	lines := strings.Split(strings.TrimSpace(got), "\n")
	if len(lines) != n || !slices.IsSorted(lines) {
		t.Errorf("%d lines, sorted %t", len(lines), slices.IsSorted(lines))
	}
	if files, err := os.ReadDir(in.sorter.dir); err != nil || len(files) > maxRuns {
		t.Errorf("%d files at once, %v", len(files), err)
	}
}

func TestDamagedRun(t *testing.T) {
	for what, damage := range map[string]func(path string) error{
		"cut":  func(path string) error { return os.Truncate(path, 9) },
		"gone": os.Remove,
		"long": func(path string) error { return os.WriteFile(path, []byte("\xff\xff\xff\xff\x7f"), 0o600) },
	} {
		in := intake(t, Settings{Memory: 1, Temp: t.TempDir()})
		defer in.Close()
		for i := range 3 {
			if err := in.Add(Place{}, fmt.Sprint("http://h.example/", i), []string{"A"}, "page"); err != nil {
				t.Fatal(err)
			}
		}
		if err := damage(in.sorter.runs[0]); err != nil {
			t.Fatal(err)
		}
		if _, err := in.Finish(func(*Example) error { return nil }); err == nil || !strings.Contains(err.Error(), "sort examples") {
			t.Errorf("%s: %v", what, err)
		}
	}
	in := intake(t, Settings{Memory: 1, Temp: "/nowhere/at/all"})
	if err := errors.Join(in.Add(Place{}, "a", []string{"A"}, "x"), in.Add(Place{}, "b", []string{"A"}, "x")); err == nil {
		t.Error("a folder that is not there takes runs")
	}
}

func TestWhatIsRefused(t *testing.T) {
	in := intake(t, Settings{})
	defer in.Close()
	at := Place{Source: "f", Unit: "line", At: 7}
	for i, c := range []struct {
		url    string
		topics []string
		text   string
		want   Reason
	}{
		{"http://h/", []string{"A"}, "fine", ""},
		{"  HTTP://H/%41 ", []string{"/A/B/", "A"}, "fine", ""},
		{"any name", []string{"A/Other"}, "fine", ""},
		{"http://h/", nil, "fine", NoTopic},
		{"http://h/", []string{"A", ""}, "fine", BadTopic},
		{"http://h/", []string{"A//B"}, "fine", BadTopic},
		{"http://h/", []string{strings.Repeat("a/", 9999) + "a"}, "fine", BadTopic},
		{"http://h/", []string{"A\u202eB"}, "fine", BadTopic},
		{"http://h/", []string{"A/Other/B"}, "fine", BadTopic},
		{" ", []string{"A"}, "fine", BadURL},
		{"a\x00b", []string{"A"}, "fine", BadURL},
		{strings.Repeat("n", maxName+1), []string{"A"}, "fine", BadURL},
		{"http://h/", []string{"A"}, "", NoText},
		{"http://h/", []string{"A"}, " ... \n\t!", NoText},
		{"http://h/", []string{"A"}, "\x89PNG\x00\x01\x02", NotText},
		{"http://h/", []string{"A"}, strings.Repeat("x", MaxText+1), TooLong},
	} {
		before := counts(in.Refused())
		if err := in.Add(at, c.url, c.topics, c.text); err != nil {
			t.Fatal(err)
		}
		for reason, n := range counts(in.Refused()) {
			if n != before[reason] && reason != c.want {
				t.Errorf("case %d: refused as %q, want %q", i, reason, c.want)
			}
		}
		if c.want != "" && counts(in.Refused())[c.want] != before[c.want]+1 {
			t.Errorf("case %d is not refused as %q", i, c.want)
		}
	}
	got, sum := finished(t, in)
	if got != `{"url":"any name","topics":["A/Other"],"text":"fine"}
{"url":"http://h/","topics":["A"],"text":"fine"}
{"url":"http://h/A","topics":["A","A/B"],"text":"fine"}
` || sum.Read != 16 || sum.Refusals() != 13 {
		t.Errorf("%+v\n%s", sum, got)
	}
	if first := sum.Refused[0]; first.Reason != BadTopic || first.Count != 5 || first.First[0].Place != "f, line 7" {
		t.Errorf("%+v", first)
	}
	none := intake(t, Settings{})
	defer none.Close()
	if sum, err := none.Finish(func(*Example) error { return nil }); !errors.Is(err, ErrNothing) || sum == nil {
		t.Errorf("%v, %v", sum, err)
	}
}

// TestNamesInOneForm: names with different Unicode normal forms are the same.
func TestNamesInOneForm(t *testing.T) {
	in := intake(t, Settings{Only: []string{"Cafe\u0301"}})
	defer in.Close()
	for _, topic := range []string{"Caf\u00e9", " Cafe\u0301 ", "Caf\u00e9/X", "Cafeteria"} {
		if err := in.Add(Place{}, "u", []string{topic}, "x"); err != nil {
			t.Fatal(err)
		}
	}
	if got, sum := finished(t, in); got != `{"url":"u","topics":["Café","Café/X"],"text":"x"}`+"\n" || sum.LeftOut != 1 {
		t.Errorf("%s %+v", got, sum)
	}
}

func TestOtherwise(t *testing.T) {
	in := intake(t, Settings{Otherwise: "Mine"})
	defer in.Close()
	if err := in.Add(Place{}, "a", nil, "x"); err != nil {
		t.Fatal(err)
	}
	if err := ReadFolder(t.Context(), tree(t, map[string]string{"b.txt": "x", "A/c.txt": "x"}), in); err != nil {
		t.Fatal(err)
	}
	list, err := ReadURLs(strings.NewReader("http://h/\n"), "list", in)
	if diff := cmp.Diff([]Listed{{"http://h/", []string{"Mine"}}}, list); diff != "" || err != nil {
		t.Error(err, diff)
	}
	if got, _ := finished(t, in); got != `{"url":"a","topics":["Mine"],"text":"x"}
{"url":"file:///A/c.txt","topics":["A"],"text":"x"}
{"url":"file:///b.txt","topics":["Mine"],"text":"x"}
` {
		t.Error(got)
	}
}

func TestReadLines(t *testing.T) {
	lines := []struct{ line, expected string }{
		{`{"url":"http://h/1","topics":["A/B","C"],"text":"One two, two","more":1}`, ""},
		{`{"url":"http://h/2","topics":["A"],"html":"<p>three<script>four</script><p>Fünf"}`, ""},
		{`  `, ""},
		{`not JSON`, "line 4: invalid character"},
		{`{"url":"http://h/1"`, "line 5: unexpected end"},
		{`[]`, "line 6: json"},
		{`{"url":"","topics":["A"],"text":"x"}`, "line 7: url is empty"},
		{`{"url":"http://h/1","topics":"A","text":"x"}`, `line 8: topics is "A", not a list of strings`},
		{`{"url":"http://h/1","topics":[],"text":"x"}`, "line 9: topics is empty"},
		{`{"url":"http://h/1","topics":["A//B"],"text":"x"}`, `line 10: topic "A//B"`},
		{`{"url":"http://h/1","topics":["A"]}`, "line 11: http://h/1: there is no word in it"},
		{`{"url":"http://h/1","topics":["A"],"text":"x","html":"x"}`, "line 12: text and html are both given"},
		{`{"url":"http://h/1","topics":["A"],"text":"x"} {}`, ""}, // the sixth of its kind: not shown
		{`null`, "line 14: topics is empty"},
	}
	var file strings.Builder
	file.WriteString("\xef\xbb\xbf")
	for _, l := range lines {
		file.WriteString(l.line + "\n")
	}
	in := intake(t, Settings{})
	defer in.Close()
	if err := ReadLines(t.Context(), strings.NewReader(file.String()), "x.jsonl", in); err != nil {
		t.Fatal(err)
	}
	result := fmt.Sprintf("%+v", in.Refused())
	for _, l := range lines {
		if l.expected != "" && !strings.Contains(strings.ReplaceAll(result, " What:", " "), "x.jsonl, "+strings.Replace(l.expected, ": ", " ", 1)) {
			t.Errorf("%q is not among what was refused: %s", l.expected, result)
		}
	}
	got, sum := finished(t, in)
	if got != `{"url":"http://h/1","topics":["A/B","C"],"text":"One two, two"}
{"url":"http://h/2","topics":["A"],"text":"three\nFünf"}
` || sum.Refusals() != 11 {
		t.Errorf("%s%+v", got, sum)
	}
}

func TestReadLinesFails(t *testing.T) {
	in := intake(t, Settings{})
	defer in.Close()
	half := io.MultiReader(strings.NewReader("{}\n{"), iotest.ErrReader(errors.New("disk gone")))
	if err := ReadLines(t.Context(), half, "x", in); err == nil || err.Error() != "read x, line 2: disk gone" {
		t.Errorf("a reader that fails: %v", err)
	}
	long := io.MultiReader(strings.NewReader("{}\n"), io.LimitReader(endless{}, maxLine+5), strings.NewReader("\n{}\n"))
	if err := ReadLines(t.Context(), long, "x", in); err != nil || counts(in.Refused())[TooLong] != 1 {
		t.Errorf("a long line: %v, %+v", err, in.Refused())
	}
}

type endless struct{}

func (endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 'x'
	}
	return len(b), nil
}

// TestImportOfAnImport: what an import wrote is imported to the same bytes.
func TestImportOfAnImport(t *testing.T) {
	once, _, err := importDump(t, sample(t, "content.rdf.u8"), nil, Settings{})
	if err != nil {
		t.Fatal(err)
	}
	in := intake(t, Settings{})
	defer in.Close()
	if err := ReadLines(t.Context(), strings.NewReader(once), "once", in); err != nil {
		t.Fatal(err)
	}
	if twice, sum := finished(t, in); twice != once || sum.Refusals() > 0 {
		t.Errorf("%+v %s", sum, cmp.Diff(once, twice))
	}
}

func FuzzReadLines(f *testing.F) {
	f.Add([]byte("{\"url\":\"http://h/1\",\"topics\":[\"A/B\"],\"text\":\"one two\"}\n{\"url\":\"u\",\"topics\":[\"C\"],\"html\":\"<p>x\"}"))
	f.Add([]byte("\xef\xbb\xbf\n\n{}"))
	f.Add([]byte(`{"url":"x","topics":["Other","A/Other"],"text":"` + "\xff" + `"}`))
	f.Fuzz(func(t *testing.T, file []byte) {
		in := intake(t, Settings{Memory: 100, Temp: t.TempDir()})
		defer in.Close()
		if err := ReadLines(t.Context(), bytes.NewReader(file), "x", in); err != nil {
			t.Fatal(err)
		}
		once, sum := finished(t, in)
		if sum.Examples+sum.Repeated+sum.Refusals()+sum.LeftOut != sum.Read {
			t.Fatalf("the books do not add up: %+v", sum)
		}
		again := intake(t, Settings{})
		defer again.Close()
		if err := ReadLines(t.Context(), strings.NewReader(once), "x", again); err != nil {
			t.Fatal(err)
		}
		if twice, sum := finished(t, again); twice != once || sum.Refusals() > 0 {
			t.Fatalf("%+v\n%s\n%s", sum, once, twice)
		}
	})
}
