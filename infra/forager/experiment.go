package main

import (
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

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
	if b.Grounds, err = experiment.Prepare(file, filepath.Dir(c.Tasks), tasks, linkfeature.Settings{DMax: c.DMax, Topics: learning.Topics}); err != nil {
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
	groups, err := experiment.Summarise(results)
	if err != nil {
		return err
	}
	return s.print(map[string]any{"groups": groups, "results": results}, func(w io.Writer) {
		for _, g := range groups {
			printGroup(w, g)
		}
	})
}

func printGroup(w io.Writer, g experiment.Group) {
	fmt.Fprintf(w, "\n%s: %d tasks, %d draws; mean ± 95 %% interval over draws\n", g.Name, g.Tasks, g.Draws)
	columns := []string{"label@25", "label@50", "label@100", "recall", "AUC", "nAUC", "critic@25", "critic@50", "critic@100", "loss-cut@25", "loss-cut@100"}
	fmt.Fprintf(w, "%-20s", "ranker")
	for _, c := range columns {
		fmt.Fprintf(w, " %13s", c)
	}
	fmt.Fprintln(w)
	for _, r := range g.Rankers {
		fmt.Fprintf(w, "%-20s", r.Ranker)
		for _, c := range columns {
			v, ok := r.Measures[c]
			switch {
			case !ok:
				fmt.Fprintf(w, " %13s", "–")
			case len(v.Interval()) == 0:
				fmt.Fprintf(w, " %13.3f", v.Mean)
			default:
				fmt.Fprintf(w, "   %.3f ±%s", v.Mean, strings.TrimPrefix(v.Interval(), "0"))
			}
		}
		fmt.Fprintln(w)
	}
	ends := make(map[string][]string)
	for _, r := range g.Rankers {
		for _, e := range slices.Sorted(maps.Keys(r.Ends)) {
			ends[e] = append(ends[e], fmt.Sprintf("%s %d", r.Ranker, r.Ends[e]))
		}
	}
	for _, e := range slices.Sorted(maps.Keys(ends)) {
		fmt.Fprintf(w, "  ended with %q: %s\n", e, strings.Join(ends[e], ", "))
	}
}
