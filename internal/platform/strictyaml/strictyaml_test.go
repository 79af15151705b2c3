package strictyaml

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

type inner struct {
	Common `yaml:",inline"`
	Size   int64         `yaml:"size"`
	Wait   time.Duration `yaml:"wait"`
}

// Common is exported, as YAML requires of inlined structs.
type Common struct {
	Copies int `yaml:"copies"`
}

type settings struct {
	Name  string           `yaml:"name"`
	On    bool             `yaml:"on"`
	Words []string         `yaml:"words"`
	Share float64          `yaml:"share"`
	Count uint32           `yaml:"count"`
	Inner inner            `yaml:"inner"`
	By    map[string]inner `yaml:"by"`
	List  []inner          `yaml:"list"`
}

func defaults() *settings {
	return &settings{Name: "default", Inner: inner{Size: 7}, By: map[string]inner{"a": {Size: 1, Wait: time.Second}}}
}

func TestDecode(t *testing.T) {
	for _, c := range []struct {
		name, file string
		want       []string // "line path: part of the message", in order
	}{
		{"nothing", "", nil},
		{"comments only", "# nothing\n", nil},
		{"everything", "name: x\non: true\nwords: [a, b]\nshare: 0.5\ncount: 3\ninner: {size: 1, wait: 2s, copies: 3}\nby: {a: {size: 2}, b: {wait: 1h}}\n", nil},
		{"a list of structs", "list: [{size: 1}, {wait: 2s, copies: 3}]\n", nil},
		{"a list of structs with problems", "list:\n- size: 1\n- sise: 1\n  wait: ~\n- 7\n", []string{
			"3 list.2.sise: unknown field; known here: copies, size, wait", "4 list.2.wait: is empty", "5 list.3: must have fields",
		}},
		{"no list of structs", "list: {size: 1}\n", []string{"1 list: is not a list"}},
		{"an alias", "inner: &i {size: 5}\nby: {a: *i}\n", nil},
		{"not YAML", "name: [", []string{"0 : not YAML"}},
		{"tabs", "inner:\n\tsize: 3\n", []string{"0 : not YAML"}},
		{"a list", "- a\n", []string{"1 : must have fields"}},
		{"a word", "word", []string{"1 : must have fields"}},
		{"unknown fields", "nam: x\ninner:\n  sise: 1\nby:\n  a:\n    sizes: 1\n", []string{
			"1 nam: unknown field; known here: by, count, inner, list, name, on, share, words",
			"3 inner.sise: unknown field; known here: copies, size, wait", "6 by.a.sizes: unknown field",
		}},
		{"given twice", "name: x\nname: y\nby: {a: {size: 1}, a: {size: 2}}\n", []string{"2 name: is given twice", "3 by.a: is given twice"}},
		{"empty", "name:\ninner:\n  size: ~\nwords: null\n", []string{"1 name: is empty", "3 inner.size: is empty", "4 words: is empty"}},
		{"empty struct", "inner:\n", []string{"1 inner: must have fields"}},
		{"wrong kinds", "name: [a]\non: maybe\nwords: a\nshare: half\ncount: -1\ninner: {size: 1.5, wait: 3, copies: many}\nby: 3\n", []string{
			"1 name: is not a text", "2 on: \"maybe\" is not true or false", "3 words: is not a list", "4 share: \"half\" is not a number",
			"5 count: \"-1\" is not a whole number", "6 inner.size: \"1.5\" is not a whole number", "6 inner.wait: \"3\" is not a duration",
			"6 inner.copies: \"many\" is not a whole number", "7 by: must have fields",
		}},
		{"whole numbers, written as others", "inner: {size: 1e6, copies: 2.0}\ncount: 1e3\n", nil},
		{"fractions where none may be", "inner: {size: .inf, copies: 1e300, wait: 2.5}\ncount: -1.0\n", []string{
			"1 inner.size: \".inf\" is not a whole number", "1 inner.copies: ", "1 inner.wait: \"2.5\" is not a duration", "2 count: \"-1.0\" is not",
		}},
		{"too large", "count: 4294967296\n", []string{"1 count: "}},
		{"an alias of itself", "inner: &i {size: *i}\n", []string{" "}},
		{"key that is no word", "? [a, b]\n: 1\n", []string{"1 : unknown field"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := defaults()
			problems := Decode([]byte(c.file), v).Problems()
			if len(problems) != len(c.want) {
				t.Fatalf("%d problems, want %d: %+v", len(problems), len(c.want), problems)
			}
			for i, p := range problems {
				if got := fmt.Sprintf("%d %s: %s", p.Line, p.Path, p.Message); !strings.HasPrefix(got, c.want[i]) && c.want[i] != " " {
					t.Errorf("problem %d is %q, want %q", i, got, c.want[i])
				}
			}
		})
	}
}

// What a file does not name keeps its value, also within maps; what it names is laid over.
func TestDecodeLaysOver(t *testing.T) {
	v := defaults()
	if p := Decode([]byte("on: true\ninner: {wait: 3s, copies: 2}\nby: {a: {size: 9}, b: {size: 4}}\n"), v).Problems(); len(p) > 0 {
		t.Fatal(p)
	}
	if v.Name != "default" || !v.On || v.Inner != (inner{Common{2}, 7, 3 * time.Second}) {
		t.Errorf("%+v", v)
	}
	if want := map[string]inner{"a": {Size: 9, Wait: time.Second}, "b": {Size: 4}}; !maps.Equal(v.By, want) {
		t.Errorf("by is %+v", v.By)
	}
}

// A caller's own problems come in the order of lines, those of missing fields first.
func TestReport(t *testing.T) {
	r := Decode([]byte("inner:\n  size: 3\nname: x\n"), defaults())
	r.Problem("name", "is %q", "x")
	r.Problem("inner.size", "is odd")
	r.Problem("words", "is missing")
	got := (&Error{File: "f.yaml", Problems: r.Problems()}).Error()
	if want := "f.yaml: 3 problem(s)\n  words: is missing\n  line 2: inner.size: is odd\n  line 3: name: is \"x\""; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// For any bytes: no panic, lines ascend and are in the file, and a file without a problem has the
// same content when it is read again.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		"", "name: x\non: true\nwords: [a, b]\ninner: {size: 1, wait: 2s}\nby: {a: {size: 2}}\n", "name: [", "a: &a [*a]", "inner: &i {size: *i}",
		"name: x\nname: y", "? [a]\n: b", "<<: {name: x}", "- a", "--- a\n--- b", "by: {\"\": {}}", "by: &b {a: *b}", "\xff\xfe", "words: !!binary aGk=",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		first, second := defaults(), defaults()
		p := Decode(b, first).Problems()
		if !slices.IsSortedFunc(p, func(a, b Problem) int { return a.Line - b.Line }) {
			t.Errorf("problems out of order: %+v", p)
		}
		for _, x := range p {
			if x.Line < 0 || x.Line > len(b)+1 || x.Message == "" {
				t.Errorf("problem %+v", x)
			}
		}
		if q := Decode(b, second).Problems(); !slices.Equal(p, q) {
			t.Errorf("read again: %+v, before %+v", q, p)
		}
		if len(p) == 0 && fmt.Sprintf("%+v", first) != fmt.Sprintf("%+v", second) {
			t.Errorf("read again: %+v, before %+v", second, first)
		}
	})
}
