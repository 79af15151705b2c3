package main

import (
	"fmt"
	"io"
	"path/filepath"

	"forager/internal/experiment"
	"forager/internal/linkfeature"
	"forager/schemas"
)

type experimentCommand struct {
	Tasks      string   `arg:"" help:"Task file (JSON, .gz is unpacked); its webs lie in the same folder." type:"existingfile"`
	Task       []string `help:"Only tasks whose name matches (\"webkb-uni:*\")."`
	Draws      int      `help:"Number of seed draws." default:"10"`
	FirstDraw  int      `help:"First draw."`
	Rankers    []string `help:"Rankers to compare; by default all."`
	RandomRuns int      `help:"Runs of the ranker random, each draw." default:"10"`
	DMax       uint32   `help:"Largest DOM offset of a feature." default:"5"`
	Pairs      string   `help:"Which leaps train." enum:"both,forward" default:"both"`
	Topics     bool     `help:"The top classes of a page are features of its links."`
}

func (c *experimentCommand) Help() string {
	return `Crawls the frozen webs of a task file in this process, deterministically, with every ranker, and
prints means and 95 % intervals over the draws (tasks averaged within a draw).

  forager experiment tasks.json.gz --task 'webkb-uni:*' --draws 4 --rankers soft-focus,apprentice,oracle`
}

func (c *experimentCommand) Run(s *session) error {
	file, err := experiment.LoadTasks(c.Tasks)
	if err != nil {
		return err
	}
	tasks, err := file.Select(c.Task...)
	if err != nil {
		return err
	}
	learning := &schemas.Learning{DMax: c.DMax, Pairs: schemas.Pairs_PAIRS_BOTH}
	if c.Pairs == "forward" {
		learning.Pairs = schemas.Pairs_PAIRS_FORWARD
	}
	if c.Topics {
		learning.Topics = schemas.TopicFeatures_TOPIC_FEATURES_TOP2
	}
	rankers := c.Rankers
	if len(rankers) == 0 {
		rankers = experiment.Rankers
	}
	b := &experiment.Bench{Tasks: tasks, Rankers: rankers, RandomRuns: c.RandomRuns, Learning: learning}
	for d := range c.Draws {
		b.Draws = append(b.Draws, c.FirstDraw+d)
	}
	if b.Grounds, err = experiment.Prepare(file, filepath.Dir(c.Tasks), tasks, linkfeature.Settings{DMax: int(c.DMax), Topics: learning.Topics}); err != nil {
		return err
	}
	if terminal := interactive(s.err); !s.json {
		b.Progress = func(done, all int) {
			switch {
			case terminal:
				fmt.Fprintf(s.err, "\r\x1b[K%d of %d crawls", done, all)
				if done == all {
					fmt.Fprintln(s.err)
				}
			case done%100 == 0 || done == all:
				fmt.Fprintf(s.err, "%d of %d crawls\n", done, all)
			}
		}
	}
	results, err := b.Run(s)
	if err != nil {
		return err
	}
	groups, err := experiment.Summarise(tasks, results)
	if err != nil {
		return err
	}
	return s.print(map[string]any{"groups": groups, "results": results}, func(w io.Writer) {
		for _, g := range groups {
			fmt.Fprintf(w, "\n%s", g.Table())
		}
	})
}
