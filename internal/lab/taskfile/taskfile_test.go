package taskfile

import (
	"bytes"
	"compress/gzip"
	"forager/internal/web/weburl"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

const goodTasks = `{"about": "x", "critics": {
	"list": {"examples": {"a": ["http://x.test/"], "b": ["http://x.test/b"]}, "not_counted": ["http://x.test/", "no URL"]},
	"rest": {"examples": {"a": ["http://x.test/"]}, "not_counted": "every page whose label does not end in /one"}},
	"tasks": [
	{"name": "w:a/1", "warc": "w.warc.gz", "pages": "all", "target_label": "a", "critic": "list", "focus_class": "a", "targets": 1, "budget": 2, "seeds": [["http://x.test/"]]},
	{"name": "w:b/2", "warc": "w.warc.gz", "pages": "label ends in /one", "target_label": "a/", "critic": "rest", "focus_class": "a", "budget": 2, "seeds": [["http://x.test/"], ["http://x.test/b"]], "diagnostic_only": true}]}`

func TestLoadTasks(t *testing.T) {
	dir := t.TempDir()
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	z.Write([]byte(goodTasks))
	z.Close()
	for name, content := range map[string]string{"t.json": goodTasks, "t.json.gz": zipped.String()} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := Load(path)
		if err != nil {
			t.Fatal(err)
		}
		if len(f.Tasks) != 2 || f.Tasks[1].Budget != 2 || !f.Tasks[1].DiagnosticOnly || len(f.Tasks[1].Seeds) != 2 {
			t.Errorf("%s: %+v", name, f.Tasks)
		}
		for _, c := range []struct {
			patterns []string
			want     int
		}{{nil, 2}, {[]string{"w:*"}, 2}, {[]string{"w:a*"}, 1}, {[]string{"*1", "*2"}, 2}, {[]string{"w:b/2"}, 1}} {
			if got, err := f.Select(c.patterns...); err != nil || len(got) != c.want {
				t.Errorf("%v selects %d tasks: %v", c.patterns, len(got), err)
			}
		}
		for pattern, want := range map[string]string{"x*": "there are: w:a/1, w:b/2", "[": "pattern"} {
			if _, err := f.Select(pattern); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", pattern, err)
			}
		}
	}
	if _, err := Load(filepath.Join(dir, "none.json")); err == nil || !strings.Contains(err.Error(), "none.json") {
		t.Errorf("no file: %v", err)
	}
	plain := filepath.Join(dir, "plain.json.gz")
	if err := os.WriteFile(plain, []byte(goodTasks), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(plain); err == nil || !strings.Contains(err.Error(), "not gzipped") {
		t.Errorf("plain: %v", err)
	}
}

// TestLoadSeveral: files of one folder are one file; a critic or a task that two of them have is an error, and so is another folder.
func TestLoadSeveral(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	other := strings.NewReplacer(`"list"`, `"list 2"`, `"rest"`, `"rest 2"`).Replace(goodTasks)
	first, second := write("a.json", goodTasks), write("b.json", strings.ReplaceAll(other, `"name": "w:`, `"name": "v:`))
	f, err := Load(first, second)
	if err != nil || len(f.Tasks) != 4 || len(f.Critics) != 4 || f.Tasks[2].Group() != "v" {
		t.Fatalf("%+v, %v", f, err)
	}
	for path, want := range map[string]string{
		write("c.json", other):     `another one has a task "w:a/1"`,
		write("d.json", goodTasks): "another one has a critic",
		write("e/b.json", strings.ReplaceAll(other, `"name": "w:`, `"name": "v:`)): "different folders",
	} {
		if _, err := Load(first, path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestBadTasks(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{`"budget": 2, "seeds": [["http://x.test/"], `, `"budget": 0, "seeds": [["http://x.test/"], `, `task 2 ("w:b/2"): budget is 0`},
		{`"budget": 2`, `"budget": 99999999`, `task 1 ("w:a/1"): budget is 99999999`},
		{`"w:b/2"`, `"w:a/1"`, "same name"},
		{`"target_label": "a/"`, `"target_label": ""`, "must be set"},
		{`"w.warc.gz"`, `"../w.warc.gz"`, "same folder"},
		{`"critic": "rest"`, `"critic": "nix"`, `critic "nix" is not in the file`},
		{`"focus_class": "a"`, `"focus_class": "z"`, `no class "z"`},
		{`[["http://x.test/"]]`, `[]`, "no seeds"},
		{`[["http://x.test/"]]`, `[[]]`, "draw 0 has no seeds"},
		{`[["http://x.test/"]]`, `[["mailto:x"]]`, "draw 0: seed"},
		{`"pages": "all"`, `"pages": "some"`, `pages is "some", want`},
		{`"label ends in /one"`, `"label ends in "`, "pages is \"label ends in \""},
		{"every page whose label does not end in /one", "all others", `critic "rest": not_counted is "all others", want`},
		{`["http://x.test/", "no URL"]`, `7`, `critic "list"`},
		{`"not_counted"`, `"method": "magic", "not_counted"`, `method "magic" is none of bayes, bayes-tree, logistic`},
		{`"pages": "all"`, `"pages": {"label_sufix": "/one"}`, `pages is {"label_sufix": "/one"}, want`},
		{`"pages": "all", `, ``, "pages is missing"},
		{`"every page whose label does not end in /one"`, `{"label_without_suffix": ""}`, `critic "rest": not_counted is {"label_without_suffix": ""}, want`},
		{`"not_counted"`, `"files": ["../x.jsonl"], "not_counted"`, `files has "../x.jsonl"`},
		{`"examples": {"a": ["http://x.test/"]}, `, ``, `critic "rest": it has neither examples nor files`},
		{`"about"`, `"abuot"`, "abuot"},
		{`true}]}`, `true}]} {}`, "more behind"},
		{`"tasks": [`, `"tasks": `, "invalid"},
	} {
		text := strings.Replace(goodTasks, c.old, c.new, 1)
		if text == goodTasks {
			t.Fatalf("%q is not in the file", c.old)
		}
		if _, err := read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.new, err)
		}
	}
}

func TestTargetsByLabel(t *testing.T) {
	for _, c := range []struct {
		target, label string
		want          bool
	}{
		{"svg", "svg", true}, {"svg", "svg_reference", false}, {"svg", "svg/attributes", true}, {"svg", "", false},
		{"course/", "course/texas", true}, {"course/texas", "course/texas", true}, {"course/texas", "course/texas2", false}, {"a/", "a/", true},
	} {
		if got := (&Task{TargetLabel: c.target}).IsTarget(c.label); got != c.want {
			t.Errorf("target %q, label %q: %v", c.target, c.label, got)
		}
	}
}

func TestNotCounted(t *testing.T) {
	f, err := read(strings.NewReader(goodTasks))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		critic, url, label string
		want               bool
	}{
		{"list", "http://x.test/", "a/one", true}, {"list", "http://x.test/b", "a/one", false},
		{"rest", "http://x.test/", "a/one", false}, {"rest", "http://x.test/", "a/two", true}, {"rest", "http://x.test/", "", true},
	} {
		set := f.Critics[c.critic]
		if set.NotCounted.Has()(c.url, c.label) != c.want {
			t.Errorf("%+v", c)
		}
	}
}

// TestOldSentencesAreRead: task files had sentences where objects are now.
func TestOldSentencesAreRead(t *testing.T) {
	now := strings.NewReplacer(`"label ends in /one"`, `{"label_suffix": "/one"}`, `"every page whose label does not end in /one"`, `{"label_without_suffix": "/one"}`).Replace(goodTasks)
	if now == goodTasks {
		t.Fatal("the file has no sentences")
	}
	old, err := read(strings.NewReader(goodTasks))
	if err != nil {
		t.Fatal(err)
	}
	have, err := read(strings.NewReader(now))
	if err != nil || !reflect.DeepEqual(have, old) {
		t.Errorf("%+v and %+v, %v", have, old, err)
	}
}

// FuzzLoadTasks: what is read holds what a crawl needs.
func FuzzLoadTasks(f *testing.F) {
	f.Add([]byte(goodTasks))
	f.Add([]byte(`{"tasks": [{}]}`))
	f.Add([]byte(`{"critics": {"c": {"not_counted": []}}, "tasks": null}`))
	f.Add([]byte(`{"tasks": [{"seeds": [null]}]} x`))
	f.Fuzz(func(t *testing.T, b []byte) {
		file, err := read(bytes.NewReader(b))
		if err != nil {
			return
		}
		for i := range file.Tasks {
			task := &file.Tasks[i]
			set, ok := file.Critics[task.Critic]
			if !ok || len(set.Classes())+len(set.Files) == 0 {
				t.Fatalf("task %q: critic %v", task.Name, ok)
			}
			if task.Pages.check() != nil || task.Budget == 0 || task.Budget > maxBudget {
				t.Fatalf("task %+v", task)
			}
			for _, seeds := range task.Seeds {
				if _, err := weburl.Parse(seeds[0]); err != nil {
					t.Fatalf("task %q: seeds %q, %v", task.Name, seeds, err)
				}
			}
		}
		if _, err := file.Select(); (err == nil) != (len(file.Tasks) > 0) {
			t.Fatalf("%d tasks: %v", len(file.Tasks), err)
		}
	})
}
