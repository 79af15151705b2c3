package experiment

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"forager/cmd/internal/cli"
	"forager/internal/lab/experiment"
	"forager/internal/lab/study"
	"forager/internal/lab/taskfile"
)

type experimentBench struct {
	Tasks      []string          `arg:"" help:"Task files (JSON, .gz is unpacked); their webs lie in the same folder." type:"existingfile"`
	Task       []string          `help:"Only tasks whose name matches; \"*\" matches any letters (\"webkb-uni:*\")."`
	Draws      int               `help:"Number of seed draws." default:"10"`
	FirstDraw  int               `help:"The first of them, from 0." default:"0"`
	Rankers    []string          `help:"Rankers to compare, with commas between them; all." default:"random,oracle,oracle-labels,oracle-hubs,soft-focus,soft-focus@perfect,hard-defer,link-value,mixture"`
	Ranker     map[string]string `help:"A ranker that is an HTTP service, as NAME=URL; several are possible."`
	Access     experiment.Access `help:"What these read in addition to verdicts: seeds (nothing), examples, foreign, site, backlinks." enum:"seeds,examples,foreign,site,backlinks" default:"seeds"`
	RandomRuns int               `help:"Runs of rankers of random order, each draw." default:"10"`
	Out        string            `short:"o" help:"Folder of the results, as of \"run\"; what it has is not run again." type:"path"`
	List       bool              `help:"List the tasks and stop."`

	webCache `embed:""`
}

func (c *experimentBench) Help() string {
	return `Crawls the frozen webs of task files in this process, with every ranker from the same seeds, and prints for each
group of tasks ("webkb-uni": the part of their names before ":") a table of means with 95 % intervals over the
draws, then the differences between rankers over the sites of all groups with p-values. The same command prints
the same numbers every time. Settings of rankers that learn are those of a plan ("run").

Task files are described in docs/experiments.md, rankers over HTTP in docs/bench/README.md.

  forager-lab experiment tasks.json.gz --list
  forager-lab experiment tasks.json.gz --task 'webkb-uni:course/*' --draws 2 --rankers soft-focus,apprentice,random,oracle
  forager-lab experiment bench tasks.json.gz tasks-more.json.gz --first-draw 10 --ranker mine=http://127.0.0.1:8080/ -o results

Rankers: ` + strings.Join(experiment.Rankers, ", ") + `;
and mixtures of them: arms with "+" between them (smooth-soft-focus+hard-defer). "@" and a critic after
a ranker: the same under that critic: bayes, bayes-tree, logistic, positives-only (from half of the examples
of the focus), perfect (by the labels), "errors 0.85/0.10" (by the labels, where .85 of the targets and .10
of the other pages are taken for targets).

Columns: label@25, @50, @100: share of targets (by human label) among the pages of the first 25, 50
and 100 % of the budget; recall: share of all targets found; AUC: its mean over the budget; nAUC: AUC
with random order at 0 and the all-knowing oracle at 1; gap:critic, gap:labels, gap:hubs, gap:all: share
of the distance in AUC from soft-focus to soft-focus@perfect, oracle-labels, oracle-hubs and oracle that was closed; critic@…: mean
relevance by the critic; loss-cut@…: share of soft focus's loss that was avoided. nAUC needs the rankers
random and oracle, differences, gaps and loss cuts need soft-focus.`
}

func (c *experimentBench) Run(s *cli.Session) error {
	switch {
	case c.Draws < 1 || c.FirstDraw < 0:
		return cli.Usagef("--draws is %d, --first-draw %d: want at least 1 and 0", c.Draws, c.FirstDraw)
	case c.RandomRuns < 1:
		return cli.Usagef("--random-runs is %d: want at least 1", c.RandomRuns)
	}
	if c.List {
		return c.list(s)
	}
	plan := &study.Plan{Name: "bench", Tasks: c.Tasks, Only: c.Task, RandomRuns: c.RandomRuns, DMax: int(study.Learning().GetDMax()), Services: make(map[string]study.Service)}
	for d := range c.Draws {
		plan.Draws = append(plan.Draws, c.FirstDraw+d)
	}
	for name, url := range c.Ranker {
		plan.Services[name] = study.Service{URL: url, Access: c.Access}
	}
	rankers := c.Rankers
	if slices.Equal(rankers, []string{"all"}) {
		rankers = experiment.Rankers
	}
	for _, r := range slices.Concat(rankers, slices.Sorted(maps.Keys(c.Ranker))) {
		v, err := plan.Variant(r, study.Learning())
		if err != nil {
			return cli.AsUsage(err)
		}
		plan.Variants = append(plan.Variants, v)
	}
	return c.run(s, plan, c.Out)
}

// taskLine is a task as --list shows it.
type taskLine struct {
	Task       string `json:"task"`
	Web        string `json:"web"`
	Focus      string `json:"focus"`
	Targets    int    `json:"targets"`
	Budget     uint64 `json:"budget"`
	Draws      int    `json:"draws"`
	Diagnostic bool   `json:"diagnostic"`
}

func (c *experimentBench) list(s *cli.Session) error {
	file, err := taskfile.Load(c.Tasks...)
	if err != nil {
		return err
	}
	tasks, err := file.Select(c.Task...)
	if err != nil {
		return cli.AsUsage(err)
	}
	lines := make([]taskLine, len(tasks))
	for i, t := range tasks {
		lines[i] = taskLine{t.Name, t.Warc, t.FocusClass, t.Targets, t.Budget, len(t.Seeds), t.DiagnosticOnly}
	}
	return s.Print(lines, func(w io.Writer) {
		fmt.Fprintf(w, "%-30s %-22s %-14s %7s %7s %6s\n", "task", "web", "focus", "targets", "budget", "draws")
		for _, l := range lines {
			note := ""
			if l.Diagnostic {
				note = "  diagnostic only"
			}
			fmt.Fprintf(w, "%-30s %-22s %-14s %7d %7d %6d%s\n", l.Task, l.Web, l.Focus, l.Targets, l.Budget, l.Draws, note)
		}
	})
}
