package experiment

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"forager/internal/classify/critic"
	"forager/internal/lab/taskfile"
	"forager/internal/rank/linkfeature"
	"forager/schemas"
)

// Prepare loads the webs of the tasks from a directory and trains their critics: the result is the environments on which crawls
// are run. Each web is read once.
func Prepare(ctx context.Context, f *taskfile.File, dir string, tasks []*taskfile.Task, settings linkfeature.Settings) (map[*taskfile.Task]*Environment, error) {
	return PrepareFrom(ctx, LoadWeb, f, dir, tasks, settings, Parsing{Leaves: schemas.LeafMode_LEAF_MODE_COMPACT})
}

// PrepareFrom is Prepare with webs from load.
func PrepareFrom(ctx context.Context, load Loader, f *taskfile.File, dir string, tasks []*taskfile.Task, settings linkfeature.Settings, by Parsing) (map[*taskfile.Task]*Environment, error) {
	webs := make(map[string]*Web)
	models := make(map[string]*critic.Model)
	for _, t := range tasks {
		if webs[t.Warc] == nil {
			w, err := load(ctx, filepath.Join(dir, t.Warc), by)
			if err != nil {
				return nil, err
			}
			webs[t.Warc] = w
		}
		if models[t.Critic] == nil {
			set := f.Critics[t.Critic]
			m, err := webs[t.Warc].trainCritic(ctx, &set, dir)
			if err != nil {
				return nil, fmt.Errorf("critic %q: %w", t.Critic, err)
			}
			if !slices.Contains(m.Classes(), t.FocusClass) {
				return nil, fmt.Errorf("task %s: its critic %q has no class %q; it has %s", t.Name, t.Critic, t.FocusClass, strings.Join(m.Classes(), ", "))
			}
			models[t.Critic] = m
		}
	}
	made, errs := make([]*Environment, len(tasks)), make([]error, len(tasks))
	each(len(tasks), func(i int) {
		t := tasks[i]
		set := f.Critics[t.Critic]
		g, err := newEnvironment(t, &set, webs[t.Warc], models[t.Critic], settings)
		if err != nil {
			err = fmt.Errorf("task %s: %w", t.Name, err)
		} else {
			g.dir = dir
		}
		made[i], errs[i] = g, err
	})
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	environments := make(map[*taskfile.Task]*Environment, len(tasks))
	for i, t := range tasks {
		environments[t] = made[i]
	}
	return environments, nil
}
