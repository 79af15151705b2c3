package completion

import (
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// grammar is a small command line with all kinds of arguments.
type grammar struct {
	Config string `short:"c" type:"path" help:"The file."`
	JSON   bool   `name:"json"`
	Crawl  struct {
		Start struct {
			File  string `arg:"" type:"existingfile"`
			Watch bool
		} `cmd:"" help:"Start one."`
		Seeds struct {
			Crawl string   `arg:""`
			URL   []string `arg:"" optional:""`
			Wait  string
		} `cmd:""`
		Use struct {
			Crawl string `arg:""`
			Model string `arg:""`
		} `cmd:""`
	} `cmd:"" help:"Crawls."`
	Query struct {
		Crawl string
		Kind  string `enum:"one,two" default:"one"`
	} `cmd:""`
	Secret struct{} `cmd:"" hidden:""`
}

func values(name string) []string {
	switch name {
	case "crawl":
		return []string{"chemistry", "physics"}
	case "model":
		return []string{"chemistry/1-a", "physics/1-b"}
	}
	return nil
}

func words(all []Candidate) string {
	var w []string
	for _, c := range all {
		w = append(w, c.Word)
	}
	return strings.Join(w, " ")
}

func TestCandidates(t *testing.T) {
	k, err := kong.New(new(grammar))
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"":                           "crawl query",
		"cr":                         "crawl",
		"crawl ":                     "start seeds use",
		"nothing ":                   "crawl query",
		"crawl start ":               ":files",
		"crawl start --w":            "--watch",
		"crawl start --watch ":       ":files",
		"crawl start x ":             "",
		"crawl seeds ":               "chemistry physics",
		"crawl seeds ch":             "chemistry",
		"crawl seeds chemistry ":     "",
		"crawl seeds chemistry a b ": "",
		"crawl seeds --wait ":        "",
		"crawl seeds --wait 5s ":     "chemistry physics",
		"crawl seeds --wait=5s p":    "physics",
		"crawl use physics ":         "chemistry/1-a physics/1-b",
		"crawl use physics physics/": "physics/1-b",
		"-c ":                        ":files",
		"-c file crawl use ":         "chemistry physics",
		"--json crawl use ":          "chemistry physics",
		"query --kind ":              "one two",
		"query --kind=t":             "--kind=two",
		"query --crawl ":             "chemistry physics",
		"query --nothing=x":          "",
		"query -":                    "--help --crawl --kind --config --json",
		"crawl use -- ":              "chemistry physics",
		"crawl use -- --":            "",
	} {
		got := strings.Fields(words(Candidates(k.Model, strings.Split(line, " "), values)))
		expected := strings.Fields(want)
		slices.Sort(got)
		slices.Sort(expected)
		if !slices.Equal(slices.Compact(got), expected) {
			t.Errorf("%q: %q, want %q", line, got, expected)
		}
	}
	if got := words(Candidates(k.Model, nil, values)); got != "crawl query" {
		t.Errorf("no words at all: %q", got)
	}
}

func FuzzCandidates(f *testing.F) {
	f.Add("crawl\x00use\x00--wait=\x00-")
	f.Add("--\x00--\x00-c")
	k, err := kong.New(new(grammar))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, line string) {
		all := strings.Split(line, "\x00")
		last := all[len(all)-1]
		for _, c := range Candidates(k.Model, all, values) {
			if c != Files && !strings.HasPrefix(c.Word, last) {
				t.Errorf("%q is completed by %q", last, c.Word)
			}
		}
	})
}

func TestScripts(t *testing.T) {
	for _, shell := range Shells {
		if s, err := Script(shell); err != nil || !strings.Contains(s, "complete -- ") {
			t.Errorf("%s: %v\n%s", shell, err, s)
		}
	}
	if _, err := Script("csh"); err == nil {
		t.Error("there is a script for csh")
	}
	if got := Print([]Candidate{{"a", "first\nsecond"}, Files}); got != "a\tfirst\n:files\t\n" {
		t.Errorf("printed %q", got)
	}
}
