package root

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"forager/cmd/forager/critic"
	"forager/cmd/internal/cli"
)

// crafts is a small taxonomy as a folder tree: three topics that are large enough for 6 examples a class, two
// that are not, and similar pages.
func crafts(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write := func(topic, name, text string) {
		path := filepath.Join(dir, topic, name+".txt")
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	prose := func(word string, n int) string {
		var b strings.Builder
		for i := range 60 {
			fmt.Fprintf(&b, "%s%d of page %d, ", word, (i*i+n*7)%97, n)
		}
		return b.String()
	}
	for topic, n := range map[string]int{"Crafts/Weaving": 9, "Crafts/Dyeing": 7, "Crafts/Dyeing/Madder": 2, "Sky/Comets": 8, "Sky/Novae": 3} {
		for i := range n {
			write(topic, fmt.Sprint(i), prose(strings.ToLower(filepath.Base(topic)), i))
		}
	}
	write("Crafts/Weaving", "copy", strings.ToUpper(prose("dyeing", 3)))
	write("Sky/Comets", "nearly", prose("weaving", 4)+" and a few words more")
	write("Crafts/weaving", "spelt", "spelt in another way")
	write("Crafts", "picture.html", "\x89PNG\r\n\x1a\n")
	return dir
}

// command runs a command that needs no pipeline.
func command(t *testing.T, code int, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	if got := Run(t.Context(), args, &out, &errs); got != code {
		t.Fatalf("forager %s: exit %d\n%s%s", strings.Join(args, " "), got, &out, &errs)
	}
	return out.String(), errs.String()
}

func TestCriticTaxonomy(t *testing.T) {
	dir := crafts(t)
	out, _ := command(t, cli.ExitOK, "--json", "critic", "taxonomy", dir, "--minimum", "6", "--cap", "8")
	var r critic.TaxonomyReport
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]critic.PreparedClass{
		{Class: "Crafts/Dyeing", Examples: 8, Cut: 1, Moved: 2},
		{Class: "Crafts/Other", Examples: 1, Moved: 1},
		{Class: "Crafts/Weaving", Examples: 8, Cut: 2},
		{Class: "Sky/Comets", Examples: 8, Cut: 1},
		{Class: "Sky/Other", Examples: 3, Moved: 3},
	}, r.After); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]critic.PrunedTopic{{Topic: "Crafts/Dyeing/Madder", Examples: 2, Into: "Crafts/Dyeing"}, {Topic: "Crafts/weaving", Examples: 1, Into: "Crafts"}, {Topic: "Sky/Novae", Examples: 3, Into: "Sky"}}, r.Pruned); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([][]string{{"Crafts/Weaving", "Crafts/weaving"}}, r.Similar); diff != "" {
		t.Error(diff)
	}
	pair := func(l critic.Similar) string { return fmt.Sprint(l.Groups, l.Pages, l.Across, l.Pairs) }
	if got := pair(r.Copies); got != "1 2 1 [{Crafts/Dyeing Crafts/Weaving 1}]" {
		t.Errorf("copies: %s", got)
	}
	if got := pair(r.Near); got != "1 2 1 [{Crafts/Weaving Sky/Comets 1}]" || r.Near.First[0].Resemblance < .7 {
		t.Errorf("near: %s", got)
	}
	if r.Import.Refusals() != 1 || len(r.Before) != 8 || r.Before[0].All != 20 {
		t.Errorf("%+v %+v", r.Import, r.Before)
	}
	out, _ = command(t, cli.ExitOK, "critic", "taxonomy", dir, "--minimum", "6", "--depth", "2")
	for _, want := range []string{"BEFORE: 8 topics", "and 1 topics below these", "AFTER, with at least 6", "2 of Crafts/Dyeing/Madder went to /Crafts/Dyeing",
		"Crafts/Weaving  =  Crafts/weaving", "it looks like image/png", "1 in both Crafts/Dyeing and Crafts/Weaving"} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not contain %q:\n%s", want, out)
		}
	}
	if _, errs := command(t, cli.ExitFailure, "critic", "taxonomy", dir); !strings.Contains(errs, "minimum of 300") {
		t.Errorf("a minimum that leaves nothing: %s", errs)
	}
}

// TestImportOfPartsIsThatOfAll: importing the files of an import, in any order and form, gives the same file.
func TestImportOfPartsIsThatOfAll(t *testing.T) {
	dir, to := crafts(t), t.TempDir()
	path := func(name string) string { return filepath.Join(to, name) }
	read := func(name string) string {
		b, err := os.ReadFile(path(name))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	command(t, cli.ExitOK, "critic", "import", dir, "-o", path("all.jsonl"))
	command(t, cli.ExitOK, "critic", "import", dir, "-o", path("sky.jsonl.gz"), "--only", "Sky")
	command(t, cli.ExitOK, "critic", "import", dir, "-o", path("rest.jsonl"), "--without", "Sky/Comets", "--without", "Sky/Novae")
	command(t, cli.ExitOK, "critic", "import", path("sky.jsonl.gz"), path("rest.jsonl"), "-o", path("again.jsonl"))
	command(t, cli.ExitOK, "critic", "import", path("rest.jsonl"), path("sky.jsonl.gz"), "-o", path("other.jsonl"))
	if all := read("all.jsonl"); read("again.jsonl") != all || read("other.jsonl") != all || strings.Count(all, "\n") != 32 {
		t.Errorf("%d bytes, then %d and %d", len(all), len(read("again.jsonl")), len(read("other.jsonl")))
	}
	command(t, cli.ExitOK, "critic", "import", dir, "-o", path("again.gz.jsonl.gz"))
	command(t, cli.ExitOK, "critic", "import", dir, "-o", path("once.more.jsonl.gz"))
	if read("again.gz.jsonl.gz") != read("once.more.jsonl.gz") {
		t.Error("compressed, a second import gives other bytes")
	}
	if out, _ := command(t, cli.ExitOK, "critic", "import", dir, "-o", "-"); out != read("all.jsonl") {
		t.Error("standard output has something else")
	}

	// A failed import leaves nothing.
	cut := read("sky.jsonl.gz")
	if err := os.WriteFile(path("cut.jsonl.gz"), []byte(cut[:len(cut)/2]), 0o644); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadDir(to)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		code     int
		args     []string
		expected string
	}{
		{cli.ExitFailure, []string{path("cut.jsonl.gz"), "-o", path("x.jsonl")}, "unexpected EOF"},
		{cli.ExitFailure, []string{path("rest.jsonl"), "-o", path("all.jsonl")}, "--force"},
		{cli.ExitFailure, []string{path("rest.jsonl"), "-o", path("x.urls")}, "is no URL that can be fetched"},
		{cli.ExitFailure, []string{path("rest.jsonl"), "-o", path("x.jsonl"), "--only", "Nowhere"}, "there is no example"},
		{cli.ExitFailure, []string{dir, "-o", path("x.jsonl"), "--strict"}, "--strict"},
		{cli.ExitUsage, []string{path("rest.jsonl"), "-o", path("x.txt")}, "x.jsonl"},
		{cli.ExitUsage, []string{path("nowhere"), "-o", path("x.jsonl")}, "no such file"},
		{cli.ExitUsage, []string{path("rest.jsonl"), "-o", path("x.jsonl"), "--only", "A//B"}, "--only"},
	} {
		if _, errs := command(t, c.code, append([]string{"critic", "import"}, c.args...)...); !strings.Contains(errs, c.expected) {
			t.Errorf("%v does not contain %q: %s", c.args, c.expected, errs)
		}
	}
	if after, err := os.ReadDir(to); err != nil || len(after) != len(before) {
		t.Errorf("%d files became %d, %v", len(before), len(after), err)
	}
}
