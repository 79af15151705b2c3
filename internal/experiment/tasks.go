package experiment

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"forager/internal/weburl"
)

// TaskFile is a set of tasks over frozen webs that lie in one folder.
type TaskFile struct {
	About   string               `json:"about"`
	Critics map[string]CriticSet `json:"critics"`
	Tasks   []Task               `json:"tasks"`
	dir     string
}

// CriticSet are the examples of a critic: URLs by class.
type CriticSet struct {
	Examples map[string][]string `json:"examples"`
	// NotCounted are pages that count neither as targets nor in the harvest: a list of URLs, or
	// a sentence about labels of pages that no task may fetch.
	NotCounted json.RawMessage `json:"not_counted"`
}

// Task is one crawl to be tried with every ranker.
type Task struct {
	Name string `json:"name"`
	// Warc is the web's file; labels lie beside it (NAME.labels.tsv).
	Warc string `json:"warc"`
	// Pages that may be fetched: "all" or "label ends in SUFFIX".
	Pages string `json:"pages"`
	// TargetLabel is the label of the target pages, or what stands before a "/" in it.
	TargetLabel string `json:"target_label"`
	Critic      string `json:"critic"`
	// FocusClass is the critic's class for R.
	FocusClass string `json:"focus_class"`
	// Targets is their number, as a check.
	Targets int `json:"targets"`
	// Budget in pages delivered.
	Budget uint64 `json:"budget"`
	// Seeds by draw.
	Seeds [][]string `json:"seeds"`
	// LabelsFromURL: labels follow from URLs, so no ranker may read URLs.
	LabelsFromURL bool `json:"labels_from_url"`
	// DiagnosticOnly: rankers are not to be judged on it.
	DiagnosticOnly bool `json:"diagnostic_only"`
}

// LoadTasks reads a task file (JSON, gzipped where its name ends in .gz). The webs that it
// names lie in the same folder.
func LoadTasks(path string) (*TaskFile, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read the task file: %w", err)
	}
	defer f.Close()
	var r io.Reader = f
	if strings.HasSuffix(path, ".gz") {
		z, err := gzip.NewReader(f)
		if err != nil {
			return nil, fmt.Errorf("%s is not gzipped: %w", path, err)
		}
		r = z
	}
	t := &TaskFile{dir: filepath.Dir(path)}
	d := json.NewDecoder(r)
	d.DisallowUnknownFields()
	if err := d.Decode(t); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var errs []error
	for i, task := range t.Tasks {
		if err := task.check(t); err != nil {
			errs = append(errs, fmt.Errorf("%s: task %d (%q): %w", path, i+1, task.Name, err))
		}
	}
	return t, errors.Join(errs...)
}

func (t *Task) check(f *TaskFile) error {
	switch {
	case t.Name == "" || t.Warc == "" || t.TargetLabel == "" || t.FocusClass == "":
		return errors.New("name, warc, target_label and focus_class must be set")
	case f.Critics[t.Critic].Examples == nil:
		return fmt.Errorf("its critic %q is not in the file", t.Critic)
	case f.Critics[t.Critic].Examples[t.FocusClass] == nil:
		return fmt.Errorf("its critic %q has no class %q", t.Critic, t.FocusClass)
	case t.Budget == 0 || len(t.Seeds) == 0:
		return errors.New("budget and seeds must be set")
	}
	if _, err := t.allows("x"); err != nil {
		return err
	}
	return nil
}

// allows says whether a page with that label may be fetched.
func (t *Task) allows(label string) (bool, error) {
	if t.Pages == "all" {
		return true, nil
	}
	suffix, ok := strings.CutPrefix(t.Pages, "label ends in ")
	if !ok || suffix == "" {
		return false, fmt.Errorf("pages is %q; known are \"all\" and \"label ends in SUFFIX\"", t.Pages)
	}
	return strings.HasSuffix(label, suffix), nil
}

// wants says whether a page with that label is a target.
func (t *Task) wants(label string) bool {
	rest, ok := strings.CutPrefix(label, t.TargetLabel)
	return ok && (rest == "" || rest[0] == '/' || strings.HasSuffix(t.TargetLabel, "/"))
}

// Select returns the tasks whose names match one of the patterns (path.Match syntax), all
// without a pattern, in the file's order.
func (f *TaskFile) Select(patterns ...string) ([]*Task, error) {
	var out []*Task
	for i := range f.Tasks {
		match := len(patterns) == 0
		for _, p := range patterns {
			// "/" is a separator to filepath.Match; task names may hold one.
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

// labels reads NAME.labels.tsv: canonical URL → label.
func readLabels(path string) (map[string]string, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the labels: %w", err)
	}
	labels := make(map[string]string)
	for n, line := range strings.Split(strings.TrimRight(string(b), "\n"), "\n") {
		raw, label, ok := strings.Cut(strings.TrimRight(line, "\r"), "\t")
		if !ok {
			return nil, fmt.Errorf("%s line %d: want URL, tab, label", path, n+1)
		}
		u, err := weburl.Parse(raw)
		if err != nil {
			continue // a page that no crawler can ask for (ftp)
		}
		// As with answers, the first of several spellings of a URL wins.
		if _, known := labels[u.String()]; !known {
			labels[u.String()] = label
		}
	}
	return labels, nil
}

// notCounted says whether a page is left out of every measure.
func (c *CriticSet) notCounted() (func(url, label string) bool, error) {
	var list []string
	if json.Unmarshal(c.NotCounted, &list) == nil {
		urls := make(map[string]bool, len(list))
		for _, raw := range list {
			if u, err := weburl.Parse(raw); err == nil {
				urls[u.String()] = true
			}
		}
		return func(url, _ string) bool { return urls[url] }, nil
	}
	var sentence string
	if err := json.Unmarshal(c.NotCounted, &sentence); err != nil {
		return nil, fmt.Errorf("not_counted is neither a list nor a sentence: %w", err)
	}
	suffix, ok := strings.CutPrefix(sentence, "every page whose label does not end in ")
	if !ok || suffix == "" {
		return nil, fmt.Errorf("not_counted is %q; known is \"every page whose label does not end in SUFFIX\"", sentence)
	}
	return func(_, label string) bool { return !strings.HasSuffix(label, suffix) }, nil
}

// classes are the classes of a critic set in a fixed order.
func (c *CriticSet) classes() []string {
	names := make([]string, 0, len(c.Examples))
	for n := range c.Examples {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}
