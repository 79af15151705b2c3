package taskfile

import (
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"forager/internal/classify/critic"
	"forager/internal/web/weburl"
)

// File is a set of tasks over frozen webs in one directory.
type File struct {
	About   string               `json:"about"`
	Critics map[string]CriticSet `json:"critics"`
	Tasks   []Task               `json:"tasks"`
}

// CriticSet are the examples of a critic.
type CriticSet struct {
	// Examples are URLs of pages of the web by class.
	Examples map[string][]string `json:"examples"`
	// Files are further examples: JSON Lines in the directory of the task file, as written by "forager critic import".
	// Their topics are classes.
	Files []string `json:"files"`
	// NotCounted are pages that count neither as targets nor in the harvest.
	NotCounted NotCounted `json:"not_counted"`
	// Method is the learner of the critic; "" = naive Bayes.
	Method critic.Method `json:"method"`
}

// PageSet is the pages that may be fetched: "all", or {"label_suffix": S} for those whose label ends in S.
type PageSet struct {
	All         bool
	LabelSuffix string
	wrong       string // the JSON value, if it has neither form
}

// Has reports whether a page with that label is in the set.
func (p PageSet) Has(label string) bool { return p.All || strings.HasSuffix(label, p.LabelSuffix) }

// Sentences of older task files in place of the objects; they are still read.
const (
	oldPages      = "label ends in "
	oldNotCounted = "every page whose label does not end in "
)

// UnmarshalJSON reads either form; check returns the error, with the task.
func (p *PageSet) UnmarshalJSON(b []byte) error {
	*p = PageSet{All: string(b) == `"all"`, LabelSuffix: suffixIn(b, "label_suffix", oldPages)}
	if !p.All && p.LabelSuffix == "" {
		p.wrong = string(b)
	}
	return nil
}

func (p PageSet) check() error {
	if p.All || p.LabelSuffix != "" {
		return nil
	}
	return fmt.Errorf(`pages is %s, want "all" or {"label_suffix": "..."}`, cmp.Or(p.wrong, "missing"))
}

// suffixIn returns the suffix of labels in a JSON value: that of an object with one field, or behind the words of an old sentence. It is
// "" if the value has neither form.
func suffixIn(b []byte, field, sentence string) string {
	var text string
	if json.Unmarshal(b, &text) == nil {
		if rest, ok := strings.CutPrefix(text, sentence); ok {
			return rest
		}
		return ""
	}
	var object map[string]string
	if json.Unmarshal(b, &object) != nil || len(object) != 1 {
		return ""
	}
	return object[field]
}

// NotCounted is a list of URLs, or {"label_without_suffix": S} for the pages whose label does not end in S.
type NotCounted struct {
	URLs               []string
	LabelWithoutSuffix string // "" = URLs counts
	wrong              string // the JSON value, if it has neither form
}

// UnmarshalJSON reads either form; check returns the error, with the critic.
func (n *NotCounted) UnmarshalJSON(b []byte) error {
	*n = NotCounted{}
	if json.Unmarshal(b, &n.URLs) == nil {
		return nil
	}
	n.URLs, n.LabelWithoutSuffix = nil, suffixIn(b, "label_without_suffix", oldNotCounted)
	if n.LabelWithoutSuffix == "" {
		n.wrong = string(b)
	}
	return nil
}

func (n *NotCounted) check() error {
	if n.wrong == "" {
		return nil
	}
	return fmt.Errorf(`not_counted is %s, want a list of URLs or {"label_without_suffix": "..."}`, n.wrong)
}

// Task is one crawl to be run with every ranker.
type Task struct {
	Name string `json:"name"`
	// Warc is the web's file; its labels are next to it (NAME.labels.tsv).
	Warc string `json:"warc"`
	// Pages that may be fetched.
	Pages PageSet `json:"pages"`
	// TargetLabel is the label of the target pages, or the part of it before a "/".
	TargetLabel string `json:"target_label"`
	Critic      string `json:"critic"`
	// FocusClass is the critic's class for R.
	FocusClass string `json:"focus_class"`
	// Targets is the number of targets, as a check.
	Targets int `json:"targets"`
	// Budget in pages delivered.
	Budget uint64 `json:"budget"`
	// Seeds by draw.
	Seeds [][]string `json:"seeds"`
	// LabelsFromURL: labels follow from URLs, so rankers must not read URLs. Families of features that do are refused.
	LabelsFromURL bool `json:"labels_from_url"`
	// DiagnosticOnly: rankers are not to be compared on it.
	DiagnosticOnly bool `json:"diagnostic_only"`
}

// maxBudget bounds budgets, pages; measures take time and memory for each page.
const maxBudget = 10_000_000

// Load reads task files (JSON, gzipped if its name ends in .gz) as one. The webs are in their directory, of which there is one. The error
// lists every bad task of a file, and a critic or task that two of them have.
func Load(paths ...string) (*File, error) {
	all := &File{Critics: make(map[string]CriticSet)}
	names := make(map[string]bool)
	for _, path := range paths {
		if filepath.Dir(path) != filepath.Dir(paths[0]) {
			return nil, fmt.Errorf("task files %s and %s are in different folders; want the webs of all in one", paths[0], path)
		}
		f, err := load(path)
		if err != nil {
			return nil, err
		}
		for name, set := range f.Critics {
			if _, twice := all.Critics[name]; twice {
				return nil, fmt.Errorf("task file %s: another one has a critic %q", path, name)
			}
			all.Critics[name] = set
		}
		for _, t := range f.Tasks {
			if names[t.Name] {
				return nil, fmt.Errorf("task file %s: another one has a task %q", path, t.Name)
			}
			names[t.Name] = true
		}
		all.About, all.Tasks = f.About, append(all.Tasks, f.Tasks...)
	}
	return all, nil
}

func load(path string) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read the task file: %w", err)
	}
	defer f.Close()
	var r io.Reader = f
	if strings.HasSuffix(path, ".gz") {
		z, err := gzip.NewReader(f)
		if err != nil {
			return nil, fmt.Errorf("task file %s is not gzipped: %w", path, err)
		}
		r = z
	}
	t, err := read(r)
	if err != nil {
		return nil, fmt.Errorf("task file %s: %w", path, err)
	}
	return t, nil
}

func read(r io.Reader) (*File, error) {
	t := &File{}
	d := json.NewDecoder(r)
	d.DisallowUnknownFields()
	if err := d.Decode(t); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("there is more behind its JSON object")
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(t.Critics)) {
		set := t.Critics[name]
		if err := set.NotCounted.check(); err != nil {
			errs = append(errs, fmt.Errorf("critic %q: %w", name, err))
		}
		if len(set.Examples)+len(set.Files) == 0 {
			errs = append(errs, fmt.Errorf("critic %q: it has neither examples nor files", name))
		}
		for _, file := range set.Files {
			if filepath.Base(file) != file {
				errs = append(errs, fmt.Errorf("critic %q: files has %q, want names of files in the same folder", name, file))
			}
		}
		if set.Method != "" && !slices.Contains(critic.Methods, set.Method) {
			errs = append(errs, fmt.Errorf("critic %q: method %q is none of %s", name, set.Method, strings.Join(critic.MethodNames(), ", ")))
		}
	}
	names := make(map[string]bool)
	for i := range t.Tasks {
		task := &t.Tasks[i]
		err := task.check(t)
		if names[task.Name] {
			err = errors.Join(err, errors.New("another task has the same name"))
		}
		names[task.Name] = true
		if err != nil {
			errs = append(errs, fmt.Errorf("task %d (%q): %w", i+1, task.Name, err))
		}
	}
	return t, errors.Join(errs...)
}

func (t *Task) check(f *File) error {
	var set *CriticSet
	if s, ok := f.Critics[t.Critic]; ok {
		set = &s
	}
	switch {
	case t.Name == "" || t.Warc == "" || t.TargetLabel == "" || t.FocusClass == "":
		return errors.New("name, warc, target_label and focus_class must be set")
	case filepath.Base(t.Warc) != t.Warc:
		return fmt.Errorf("warc is %q, want the name of a file in the same folder", t.Warc)
	case set == nil:
		return fmt.Errorf("its critic %q is not in the file", t.Critic)
	case t.Pages.check() != nil:
		return t.Pages.check()
	case set.Examples[t.FocusClass] == nil && len(set.Files) == 0:
		return fmt.Errorf("its critic %q has no class %q", t.Critic, t.FocusClass)
	case t.Budget == 0 || t.Budget > maxBudget:
		return fmt.Errorf("budget is %d pages, want 1 to %d", t.Budget, maxBudget)
	case len(t.Seeds) == 0:
		return errors.New("it has no seeds")
	}
	for draw, seeds := range t.Seeds {
		if len(seeds) == 0 {
			return fmt.Errorf("draw %d has no seeds", draw)
		}
		for _, raw := range seeds {
			if _, err := weburl.Parse(raw); err != nil {
				return fmt.Errorf("draw %d: seed: %w", draw, err)
			}
		}
	}
	return nil
}

// IsTarget reports whether a page with that label is a target.
func (t *Task) IsTarget(label string) bool {
	rest, ok := strings.CutPrefix(label, t.TargetLabel)
	return ok && (rest == "" || rest[0] == '/' || strings.HasSuffix(t.TargetLabel, "/"))
}

// Select returns the tasks whose names match one of the patterns (path.Match syntax), in the file's order; all if there is
// no pattern.
func (f *File) Select(patterns ...string) ([]*Task, error) {
	var out []*Task
	for i := range f.Tasks {
		match := len(patterns) == 0
		for _, p := range patterns {
			// "/" is a separator to filepath.Match; task names may have one.
			ok, err := filepath.Match(strings.ReplaceAll(p, "/", "|"), strings.ReplaceAll(f.Tasks[i].Name, "/", "|"))
			if err != nil {
				return nil, fmt.Errorf("pattern %q: %w", p, err)
			}
			match = match || ok
		}
		if match {
			out = append(out, &f.Tasks[i])
		}
	}
	if len(out) == 0 {
		names := make([]string, len(f.Tasks))
		for i, t := range f.Tasks {
			names[i] = t.Name
		}
		return nil, fmt.Errorf("no task matches %s; there are: %s", strings.Join(patterns, ", "), strings.Join(names, ", "))
	}
	return out, nil
}

// Has returns a function that reports whether a page is left out of every measure.
func (n *NotCounted) Has() func(url, label string) bool {
	if n.LabelWithoutSuffix != "" {
		return func(_, label string) bool { return !strings.HasSuffix(label, n.LabelWithoutSuffix) }
	}
	urls := make(map[string]bool, len(n.URLs))
	for _, raw := range n.URLs {
		if u, err := weburl.Parse(raw); err == nil {
			urls[u.String()] = true
		}
	}
	return func(url, _ string) bool { return urls[url] }
}

// Classes returns the classes of a critic set in a fixed order.
func (c *CriticSet) Classes() []string {
	return slices.Sorted(maps.Keys(c.Examples))
}

// Group returns the part of the task's name before ":".
func (t *Task) Group() string {
	name, _, _ := strings.Cut(t.Name, ":")
	return name
}

// Site identifies the pages that the task may fetch: tasks of one site crawl the same graph.
func (t *Task) Site() string { return t.Warc + " " + t.Pages.LabelSuffix }
