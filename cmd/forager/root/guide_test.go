package root

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"forager/cmd/forager/guide"
	"forager/cmd/internal/cli"
	"forager/internal/lab/experiment/worldtest"
	"forager/internal/rank/guidetraining"
	"forager/internal/rank/pageguide"
)

// neighbourhood is a folder with web.warc.gz, a list of targets, and the links of the web as files: edges.txt of URLs,
// ids.txt of numbers and vertices.txt.
func neighbourhood(t *testing.T) (dir string, targets []string) {
	t.Helper()
	world := worldtest.Random(11, 80)
	dir = world.Write(t)
	for _, l := range world.Labels {
		if url, label, _ := strings.Cut(l, "\t"); label == "good/one" && len(targets) < 4 {
			targets = append(targets, url)
		}
	}
	web, err := guidetraining.Open(t.Context(), filepath.Join(dir, "web.warc.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	var edges, ids, vertices strings.Builder
	for p := range uint32(web.Pages()) {
		fmt.Fprintf(&vertices, "%d\t%s\n", 1000+p, web.URL(p))
		page, err := web.Page(p)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range page.GetLinks() {
			fmt.Fprintf(&edges, "%s\t%s\n", page.GetUrl(), l.GetUrl())
			to, _, err := web.Targets(t.Context(), []string{l.GetUrl()})
			if err != nil {
				t.Fatal(err)
			}
			for _, to := range to {
				fmt.Fprintf(&ids, "%d %d\n", 1000+p, 1000+to)
			}
		}
	}
	for name, content := range map[string]string{
		"targets.urls": strings.Join(targets, "\n"), "edges.txt": "# u v\n" + edges.String() + "broken\n", "ids.txt": ids.String(), "vertices.txt": vertices.String(),
		"targets.jsonl": fmt.Sprintf("{\"url\":%q,\"topics\":[\"A/B\"],\"text\":\"a page\"}\n{\"url\":\"http://other.test/\",\"topics\":[\"C\"],\"text\":\"a page\"}\n", targets[0]),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir, targets
}

// run runs a command; $ in its arguments is the folder.
func run(t *testing.T, dir, args string) (stdout, stderr string, code int) {
	var out, err bytes.Buffer
	code = Run(t.Context(), strings.Fields(strings.ReplaceAll(args, "$", dir+"/")), &out, &err)
	return out.String(), err.String(), code
}

func graphOf(t *testing.T, dir, args string) *guide.GraphShown {
	t.Helper()
	out, problem, code := run(t, dir, "--json localgraph "+args)
	if code != cli.ExitOK {
		t.Fatalf("localgraph %s: exit %d, %s", args, code, problem)
	}
	g := new(guide.GraphShown)
	if err := json.Unmarshal([]byte(out), g); err != nil {
		t.Fatal(err)
	}
	return g
}

// TestLocalgraphOfThreeSources: the links of pages, of a file of URLs and of one of numbers give the same graph.
func TestLocalgraphOfThreeSources(t *testing.T) {
	dir, targets := neighbourhood(t)
	of := graphOf(t, dir, "--warc $web.warc.gz --targets $targets.urls --examples 99")
	if of.Targets != len(targets) || len(of.Layers) != 5 || of.Layers[0].Pages != len(targets) || of.Layers[1].Pages < 5 || of.Layers[1].Text != of.Layers[1].Pages {
		t.Errorf("%+v", of)
	}
	if of.Layers[1].Examples[0].Title == "" || of.Layers[1].Examples[0].Ways < of.Layers[1].Examples[1].Ways {
		t.Errorf("examples %+v", of.Layers[1].Examples)
	}
	type member struct {
		url  string
		ways int
	}
	members := func(g *guide.GraphShown) (all [][]member) {
		for _, l := range g.Layers {
			var layer []member
			for _, m := range l.Examples {
				layer = append(layer, member{m.URL, m.Ways})
			}
			slices.SortFunc(layer, func(a, b member) int { return strings.Compare(a.url, b.url) })
			all = append(all, layer)
		}
		return all
	}
	for _, source := range []string{"--edges $edges.txt --warc $web.warc.gz", "--edges $ids.txt --vertices $vertices.txt", "--edges $ids.txt --vertices $vertices.txt --warc $web.warc.gz"} {
		g := graphOf(t, dir, source+" --targets $targets.urls --examples 99")
		if !reflect.DeepEqual(members(g), members(of)) {
			t.Errorf("%s: %+v, want %+v", source, members(g), members(of))
		}
		if g.Edges == nil || g.Edges.Lines < 100 {
			t.Errorf("%s: edges %+v", source, g.Edges)
		}
	}
	if g := graphOf(t, dir, "--edges $edges.txt --targets $targets.jsonl --topic A"); g.Targets != 1 || g.Layers[0].Text != 0 || g.Edges.Broken != 1 || g.Layers[0].Examples[0].URL != targets[0] {
		t.Errorf("%+v", g)
	}
	out, _, _ := run(t, dir, "localgraph --edges $edges.txt --target "+targets[0]+" --target http://nowhere.test/ --cap 1 --depth 2")
	for _, want := range []string{"pages around 1 targets; of ", "1 targets are not there, such as http://nowhere.test/", "lines of the edges are broken", `"broken" has one column`, "LAYER", targets[0]} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in %s", want, out)
		}
	}
}

// TestGuideTrain: every kind gives the same guide with the pages' own links and with those of a file.
func TestGuideTrain(t *testing.T) {
	dir, _ := neighbourhood(t)
	for _, kind := range pageguide.Kinds {
		var files [][]byte
		for _, source := range []string{"", " --edges $ids.txt --vertices $vertices.txt"} {
			out, problem, code := run(t, dir, fmt.Sprintf("guide train %s --warc $web.warc.gz%s --targets $targets.urls --topic target --walks 200 --keywords 9 --no-urls -o $g --force", kind, source))
			if code != cli.ExitOK || !strings.Contains(out, string(kind)+" of 4 targets in web.warc.gz") || strings.Contains(out, "reads URLs") {
				t.Fatalf("%s: exit %d, %s%s", kind, code, out, problem)
			}
			b, err := os.ReadFile(filepath.Join(dir, "g"))
			if err != nil {
				t.Fatal(err)
			}
			g, err := pageguide.Unmarshal(b)
			if err != nil || g.Kind() != kind || g.Provenance()["targets"] != "4" {
				t.Fatalf("%s: %v, %v", kind, g, err)
			}
			files = append(files, b)
		}
		if len(files[0]) < 500 || len(files[1]) < 500 {
			t.Errorf("%s: files of %d and %d bytes", kind, len(files[0]), len(files[1]))
		}
	}
}

func TestGuideTrainRefuses(t *testing.T) {
	dir, _ := neighbourhood(t)
	from := "--warc $web.warc.gz --targets $targets.urls "
	for args, expected := range map[string]string{
		"guide train memm " + from:                                                        "give -o FILE",
		"guide train spider " + from + "-o $g":                                            "must be one of",
		"guide train memm --edges $edges.txt --targets $targets.urls -o $g":               "learns from texts",
		"guide train memm " + from + "-o $g --observe smell":                              `"smell" is no observation`,
		"guide train memm " + from + "-o $g --publish A!":                                 "is not a name",
		"localgraph --targets $targets.urls":                                              "where the links are",
		"localgraph --warc $web.warc.gz":                                                  "which pages are targets",
		"localgraph --warc $web.warc.gz --crawl c --target http://a.test/":                "one of them",
		"localgraph --warc $web.warc.gz --vertices $vertices.txt --target http://a.test/": "are those of --edges",
		"localgraph --warc $web.warc.gz --above 0.5":                                      "of the pages of --crawl",
		"localgraph --warc $web.warc.gz --target a":                                       "--target: ",
		"localgraph --warc $web.warc.gz --targets $none":                                  "no such file",
		"localgraph --warc $web.warc.gz --target http://a.test/ --depth 0":                "--depth 0",
	} {
		if out, problem, code := run(t, dir, args); code != cli.ExitUsage || !strings.Contains(problem, expected) {
			t.Errorf("%s: exit %d, %s%s, want %q", args, code, out, problem, expected)
		}
	}
	for args, expected := range map[string]string{
		"localgraph --warc $web.warc.gz --target http://nowhere.test/":                                "none of the 1 targets is a page of web.warc.gz, such as http://nowhere.test/",
		"localgraph --edges $edges.txt --target http://nowhere.test/":                                 "none of the 1 targets",
		"localgraph --warc $web.warc.gz --targets $targets.jsonl --topic Z":                           "no page is a target",
		"localgraph --edges $edges.txt --targets $targets.urls --broken 0":                            "too many lines are broken",
		"localgraph --edges $web.warc.gz --targets $targets.urls":                                     "too many lines are broken",
		"localgraph --warc $edges.txt --targets $targets.urls":                                        "edges.txt",
		"guide train memm --warc $web.warc.gz --target http://two.test/0 --depth 1 --walks 9 -o $g/g": "no such file or directory",
		"guide train memm " + from + "-o $g --keywords 0":                                             "0 keywords",
	} {
		if out, problem, code := run(t, dir, args); code != cli.ExitFailure || !strings.Contains(problem, expected) {
			t.Errorf("%s: exit %d, %s%s, want %q", args, code, out, problem, expected)
		}
	}
}
