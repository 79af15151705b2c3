package study

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"forager/internal/lab/experiment"
)

// logVersion is the version of the lines of runs.jsonl.
const logVersion = 1

// Origin has what the results of a log depend on, in addition to their names.
type Origin struct {
	Version int `json:"version"`
	// Study is the plan's name.
	Study string `json:"study"`
	// Program is the SHA-256 of the program that made the runs, Tasks that of the task file.
	Program string `json:"program"`
	Tasks   string `json:"tasks"`
	// Blank is that of experiment.Parsing.
	Blank string `json:"blank,omitempty"`
	// Services are the rankers over HTTP, by name.
	Services map[string]Service `json:"services,omitempty"`
	// Webs and Critics are digests by name: of the web's file and its labels, and of the critic.
	Webs    map[string]string `json:"webs"`
	Critics map[string]string `json:"critics"`
}

// name identifies a result. It contains the settings of the variant: a variant of the same name may have others in another
// plan.
type name struct {
	task, variant, settings string
	draw                    int
	seed                    uint64
}

// line is one of runs.jsonl after the first.
type line struct {
	Settings string `json:"settings"`
	experiment.Result
}

// Log is the runs made so far, in a file that only grows. It is not safe for concurrent use.
type Log struct {
	file  *os.File
	known map[name]*experiment.Result
	// Torn is the length of an incomplete last line that was dropped, bytes.
	Torn int64
}

// OpenLog opens or makes the log of an origin; "" is no file, so that no run is known. An incomplete last line, as a killed program leaves it, is dropped. A log of
// another origin is an error, which names the differences.
func OpenLog(path string, o Origin) (*Log, error) {
	if path == "" {
		return new(Log), nil
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the log of runs: %w", err)
	}
	l := &Log{file: f, known: make(map[name]*experiment.Result)}
	if err := l.read(o); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("log of runs %s: %w", path, err)
	}
	return l, nil
}

func (l *Log) read(o Origin) error {
	r := bufio.NewReaderSize(l.file, 1<<20)
	var whole int64 // bytes of complete lines
	for n := 1; ; n++ {
		text, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			l.Torn = int64(len(text))
			break
		}
		if err != nil {
			return err
		}
		whole += int64(len(text))
		if n == 1 {
			err = l.sameOrigin(text, o)
		} else {
			err = l.take(text)
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
	if err := l.file.Truncate(whole); err != nil {
		return err
	}
	if _, err := l.file.Seek(whole, io.SeekStart); err != nil {
		return err
	}
	if whole > 0 {
		return nil
	}
	return l.write(o)
}

// sameOrigin compares the first line with an origin.
func (l *Log) sameOrigin(text []byte, want Origin) error {
	var have Origin
	if err := json.Unmarshal(text, &have); err != nil {
		return err
	}
	differ := func(what string) error {
		return fmt.Errorf("its runs were made with another %s; name another folder for the results, or remove this one", what)
	}
	switch {
	case have.Version != want.Version:
		return fmt.Errorf("it has version %d, this program reads %d", have.Version, want.Version)
	case have.Study != want.Study:
		return fmt.Errorf("it is of the study %q, not of %q; name another folder for the results", have.Study, want.Study)
	case have.Program != want.Program:
		return differ("build of the program")
	case have.Tasks != want.Tasks:
		return differ("task file")
	case have.Blank != want.Blank:
		return differ("setting of blank")
	}
	for name, service := range want.Services {
		if old, ok := have.Services[name]; ok && old != service {
			return differ(fmt.Sprintf("service %q", name))
		}
	}
	for kind, maps := range map[string][2]map[string]string{"web": {have.Webs, want.Webs}, "critic": {have.Critics, want.Critics}} {
		for k, digest := range maps[1] {
			if old, ok := maps[0][k]; ok && old != digest {
				return differ(fmt.Sprintf("%s %q", kind, k))
			}
		}
	}
	return nil
}

func (l *Log) take(text []byte) error {
	var one line
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&one); err != nil {
		return fmt.Errorf("%w; remove the file to start over", err)
	}
	r := one.Result
	l.known[name{r.Task, r.Variant, one.Settings, r.Draw, r.Seed}] = &r
	return nil
}

// Known returns the result of a job, or nil.
func (l *Log) Known(j experiment.Job) *experiment.Result {
	return l.known[name{j.Task.Name, j.Variant.Name, settingsOf(j.Variant), j.Draw, j.Seed}]
}

// Add writes the result of a variant's run.
func (l *Log) Add(v *experiment.Variant, r *experiment.Result) error {
	return l.write(line{settingsOf(v), *r})
}

func (l *Log) write(v any) error {
	if l.file == nil {
		return nil
	}
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = l.file.Write(append(b, '\n'))
	return err
}

// Close closes the file.
func (l *Log) Close() error { return l.file.Close() }
