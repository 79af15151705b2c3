package study

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protojson"

	"forager/internal/lab/experiment"
	"forager/internal/lab/taskfile"
	"forager/internal/rank/linkfeature"
	"forager/schemas"
)

// Progress is notified of the progress of a study.
type Progress interface {
	// Prepared is called once webs are read and critics trained; known of all runs were made before.
	Prepared(known, all int, torn int64)
	// Ran is called after each run, with the CPU time of its thread.
	Ran(r *experiment.Result, spent time.Duration, done, all int)
}

// Run makes the runs of a plan that the log at path lacks, and reports on all runs of the plan. When ctx ends, finished
// runs stay in the log, and the next call continues. Without a path there is no log.
func Run(ctx context.Context, p *Plan, path string, progress Progress) (*Report, error) {
	file, err := taskfile.Load(p.Tasks...)
	if err != nil {
		return nil, err
	}
	tasks, err := file.Select(p.Only...)
	if err != nil {
		return nil, err
	}
	folder := filepath.Dir(p.Tasks[0])
	load := p.Load
	if load == nil {
		load = experiment.LoadWeb
	}
	environments, err := experiment.PrepareFrom(ctx, load, file, folder, tasks, linkfeature.Settings{DMax: p.DMax}, experiment.Parsing{Leaves: schemas.LeafMode_LEAF_MODE_COMPACT, Blank: p.Blank})
	if err != nil {
		return nil, err
	}
	if tasks, err = p.started(tasks, environments); err != nil {
		return nil, err
	}
	if err := finishes(p, tasks, environments); err != nil {
		return nil, err
	}
	origin, err := originOf(ctx, p, folder, tasks, environments)
	if err != nil {
		return nil, err
	}
	log, err := OpenLog(path, *origin)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	b := &experiment.Bench{
		Tasks: tasks, Draws: p.Draws, Variants: p.Variants, RandomRuns: p.RandomRuns, Environments: environments, Known: log.Known,
		Done: func(j experiment.Job, r *experiment.Result, spent time.Duration, done, all int) error {
			progress.Ran(r, spent, done, all)
			return log.Add(j.Variant, r)
		},
	}
	jobs, err := b.Jobs()
	if err != nil {
		return nil, err
	}
	known := 0
	for _, j := range jobs {
		if log.Known(j) != nil {
			known++
		}
	}
	progress.Prepared(known, len(jobs), log.Torn)
	results, err := b.Run(ctx)
	if err != nil {
		return nil, err
	}
	jobs, results, failed := experiment.Whole(jobs, results)
	if len(jobs) == 0 {
		return nil, fmt.Errorf("of every task a run failed, such as: %s", failed[0])
	}
	rep, err := newReport(p, origin, jobs, results, environments)
	if err != nil {
		return nil, err
	}
	rep.Failed = failed
	rep.Refused = b.Refused()
	return rep, nil
}

// started returns each task once for each of the plan's ways to choose seeds: "web:task" with another way is "web@way:task", which makes it one
// of another group.
func (p *Plan) started(tasks []*taskfile.Task, environments map[*taskfile.Task]*experiment.Environment) ([]*taskfile.Task, error) {
	var all []*taskfile.Task
	for _, way := range append(p.Starts, experiment.StartsGiven)[:max(1, len(p.Starts))] {
		for _, t := range tasks {
			if way == experiment.StartsGiven {
				all = append(all, t)
				continue
			}
			other := *t
			other.Name = t.Group() + "@" + way + strings.TrimPrefix(t.Name, t.Group())
			other.Seeds = slices.Clone(t.Seeds)
			for _, d := range p.Draws {
				seeds, err := experiment.Start(environments[t], way, d)
				if err != nil {
					return nil, err
				}
				other.Seeds = append(other.Seeds, make([][]string, max(0, d+1-len(other.Seeds)))...)
				other.Seeds[d] = seeds
			}
			var err error
			if environments[&other], err = experiment.For(environments[t], &other); err != nil {
				return nil, err
			}
			all = append(all, &other)
		}
	}
	return all, nil
}

// finishes checks for tasks on which no crawl can show anything.
func finishes(p *Plan, tasks []*taskfile.Task, environments map[*taskfile.Task]*experiment.Environment) error {
	var errs []error
	for _, t := range tasks {
		if environments[t].Targets() == 0 {
			errs = append(errs, fmt.Errorf("task %s: no page of its web is a target (%s)", t.Name, t.TargetLabel))
		}
		for _, d := range p.Draws {
			if d >= len(t.Seeds) {
				errs = append(errs, fmt.Errorf("task %s has %d draws, no draw %d", t.Name, len(t.Seeds), d))
				break
			}
			if seed := environments[t].Lost(d); seed != "" {
				errs = append(errs, fmt.Errorf("task %s, draw %d: seed %s is no page of the web", t.Name, d, seed))
			}
		}
	}
	return errors.Join(errs...)
}

func originOf(ctx context.Context, p *Plan, folder string, tasks []*taskfile.Task, environments map[*taskfile.Task]*experiment.Environment) (*Origin, error) {
	o := &Origin{Version: logVersion, Study: p.Name, Blank: p.Blank, Services: p.Services, Webs: make(map[string]string), Critics: make(map[string]string)}
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	if o.Program, err = experiment.Digest(program); err != nil {
		return nil, err
	}
	if o.Tasks, err = experiment.Digest(p.Tasks...); err != nil {
		return nil, err
	}
	for _, t := range tasks {
		if o.Webs[t.Warc] == "" {
			if o.Webs[t.Warc], err = experiment.Digest(filepath.Join(folder, t.Warc), experiment.LabelsOf(filepath.Join(folder, t.Warc))); err != nil {
				return nil, err
			}
		}
		for i := range p.Variants {
			v := &p.Variants[i]
			if o.Critics[v.CriticOf(t)] != "" {
				continue
			}
			g, err := environments[t].Under(ctx, v.Critic)
			if err != nil {
				return nil, fmt.Errorf("task %s: %w", t.Name, err)
			}
			sum := sha256.Sum256(append([]byte(v.Critic), g.Critic().Marshal()...))
			o.Critics[v.CriticOf(t)] = hex.EncodeToString(sum[:])
		}
	}
	return o, nil
}

// settingsOf returns a variant's settings as JSON; equal settings give the same text.
func settingsOf(v *experiment.Variant) string {
	b, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(v.Learning)
	if err != nil {
		panic(err) // only messages with strings that are not UTF-8 fail
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, b); err != nil {
		panic(err)
	}
	if v.Ration == 0 {
		return compact.String()
	}
	return fmt.Sprintf(`{"learning":%s,"ration":%v}`, compact.String(), v.Ration)
}
