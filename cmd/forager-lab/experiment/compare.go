package experiment

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"forager/cmd/forager/model"
	"forager/cmd/internal/cli"
	"forager/internal/classify/critic"
	"forager/internal/crawl/crawlfile"
	"forager/internal/lab/experiment"
	"forager/internal/lab/tables"
	"forager/internal/lab/taskfile"
	"forager/internal/platform/progress"
	"forager/internal/rank/apprentice"
	"forager/internal/rank/linkfeature"
	"forager/schemas"
)

type experimentCompare struct {
	Tasks      string   `arg:"" help:"Task file (JSON, .gz is unpacked); its webs lie in the same folder." type:"existingfile"`
	Task       []string `help:"Only tasks whose name matches; \"*\" matches any letters (\"webkb-uni:*\")."`
	Draws      int      `help:"Number of seed draws." default:"10"`
	FirstDraw  int      `help:"The first of them, from 0." default:"0"`
	Rankers    []string `help:"Rankers to compare, with commas between them; by default all."`
	RandomRuns int      `help:"Runs of rankers of random order, each draw." default:"10"`
	Critic     string   `help:"How the critics of the tasks learn: bayes, bayes-tree, logistic; by default as in the task file, or bayes." enum:",bayes,bayes-tree,logistic" default:""`
	DMax       uint32   `help:"Largest DOM offset of a feature, 0 to 100." default:"5"`
	Pairs      string   `help:"Which leaps train: both, forward." enum:"both,forward" default:"both"`
	MaxPairs   uint32   `help:"Leaps that one target may train; 0 = 5." default:"0"`
	Switch     uint64   `name:"switch-pages" help:"Pages before the apprentice's order is used; 0 = a twentieth of the budget, at least 30." default:"0"`
	Refit      uint64   `name:"refit-pages" help:"Pages between its models; 0 = a fortieth of the budget, 10 to 100 (or a 200th, if that is more); from 20,000 pages on a tenth of these, if that is more." default:"0"`
	Features   []string `help:"Families of an apprentice's features: offsets, near-text, anchor, rel, position, same-site, url-tokens, url-ngrams, co-citation, far, tag-path, path-length, ancestor." default:"offsets"`
	Active     float64  `help:"Leaps train where |R(u) − R(v)| is at least so much." default:"0"`
	Learner    string   `help:"What an apprentice learns by: bayes, logistic." enum:"bayes,logistic" default:"bayes"`
	Count      string   `help:"How a feature that occurs several times counts: raw, normalised, binary." enum:"raw,normalised,binary" default:"raw"`
	Smooth     uint32   `help:"How often naive Bayes spreads counts over neighbouring offsets, 0 to 4." default:"0"`
	Rate       float64  `help:"Learning rate of logistic regression; 0 = the default."`
	L1         float64  `name:"l1" help:"Its penalty λ1." default:"0"`
	L2         float64  `name:"l2" help:"Its penalty λ2." default:"1"`
	List       bool     `help:"List the tasks and stop."`

	webCache `embed:""`
}

func (c *experimentCompare) Help() string {
	return `Crawls the frozen webs of a task file in this process, with every ranker from the same seeds, and
prints for each group of tasks ("webkb-uni": the part of their names before ":") a table of means with 95 %
intervals over the draws, then the differences between rankers over tasks with p-values. The
same command prints the same numbers every time.

The task file is described in docs/experiments.md.

  forager-lab experiment tasks.json.gz --list
  forager-lab experiment tasks.json.gz --task 'webkb-uni:*'
  forager-lab experiment tasks.json.gz --task 'webkb-uni:course/*' --draws 2 --rankers soft-focus,apprentice,random,oracle
  forager-lab experiment tasks.json.gz --first-draw 10 --draws 20 --json > results.json

Rankers: ` + strings.Join(experiment.Rankers, ", ") + `;
and mixtures of them: arms with "+" between them (smooth-soft-focus+hard-defer).

Columns: label@25, @50, @100: share of targets (by human label) among the pages of the first 25, 50
and 100 % of the budget; recall: share of all targets found; AUC: its mean over the budget; nAUC: AUC
with random order at 0 and the all-knowing oracle at 1; gap:labels, gap:hubs, gap:all: share of the
distance in AUC from soft-focus to oracle-labels, oracle-hubs and oracle that was closed; critic@…: mean
relevance by the critic; loss-cut@…: share of soft focus's loss that was avoided. nAUC needs the rankers
random and oracle, differences, gaps and loss cuts need soft-focus.`
}

func (c *experimentCompare) Run(s *cli.Session) error {
	switch {
	case c.Draws < 1 || c.FirstDraw < 0:
		return cli.Usagef("--draws is %d, --first-draw %d: want at least 1 and 0", c.Draws, c.FirstDraw)
	case c.RandomRuns < 1:
		return cli.Usagef("--random-runs is %d: want at least 1", c.RandomRuns)
	case c.Learner == "bayes" && (c.Rate != 0 || c.L1 != 0 || c.L2 != 1):
		return cli.Usagef("--rate, --l1 and --l2 are settings of logistic regression (--learner logistic)")
	case !(c.Active >= 0 && c.Active <= 1):
		return cli.Usagef("--active is %v: want 0 to 1", c.Active)
	case c.DMax > linkfeature.MaxOffset:
		return cli.Usagef("--d-max is %d: want 0 to %d", c.DMax, linkfeature.MaxOffset)
	}
	learning, err := c.learning()
	if err != nil {
		return cli.AsUsage(err)
	}
	rankers := c.Rankers
	if len(rankers) == 0 {
		rankers = experiment.Rankers
	}
	for _, r := range rankers {
		if err := experiment.KnowRanker(r); err != nil {
			return cli.AsUsage(err)
		}
	}
	file, err := taskfile.Load(c.Tasks)
	if err != nil {
		return err
	}
	if c.Critic != "" {
		file.Judge(critic.Method(c.Critic))
	}
	tasks, err := file.Select(c.Task...)
	if err != nil {
		return cli.AsUsage(err)
	}
	if c.List {
		return c.list(s, tasks)
	}
	var cost *runCosts
	ctx, crawls, end := progress.StartTask(s, "crawls")
	defer end()
	b := &experiment.Bench{
		Tasks: tasks, Variants: experiment.Variants(rankers, learning), RandomRuns: c.RandomRuns,
		Done: func(_ experiment.Job, r *experiment.Result, cpu time.Duration, done, all int) error {
			cost.add(r, cpu)
			crawls.Reach(int64(done), int64(all))
			return nil
		},
	}
	for d := range c.Draws {
		b.Draws = append(b.Draws, c.FirstDraw+d)
	}
	load, err := c.loader(s.Stderr)
	if err != nil {
		return err
	}
	b.Grounds, err = experiment.PrepareFrom(ctx, load, file, filepath.Dir(c.Tasks), tasks, linkfeature.Settings{DMax: int(c.DMax)}, schemas.LeafMode_LEAF_MODE_COMPACT)
	if err != nil {
		return err
	}
	for _, sentence := range b.Refused() {
		fmt.Fprintln(s.Stderr, sentence)
	}
	cost = newRunCosts()
	results, err := b.Run(ctx)
	if err != nil {
		return err
	}
	cost.print(s.Stderr)
	jobs, err := b.Jobs()
	if err != nil {
		return err
	}
	var failed []string
	if jobs, results, failed = experiment.Whole(jobs, results); len(jobs) == 0 {
		return fmt.Errorf("of every task a run failed, such as: %s", failed[0])
	}
	for _, sentence := range failed {
		fmt.Fprintln(s.Stderr, "failed:", sentence)
	}
	tasks = slices.DeleteFunc(tasks, func(t *taskfile.Task) bool {
		return !slices.ContainsFunc(jobs, func(j experiment.Job) bool { return j.Task == t })
	})
	groups, err := tables.Summarise(tasks, results)
	if err != nil {
		return err
	}
	for i := range results {
		results[i].Course = experiment.Course{} // only a table of numbers is printed
	}
	err = s.Print(map[string]any{"groups": groups, "results": results, "failed": failed}, func(w io.Writer) {
		for i, g := range groups {
			if i > 0 {
				fmt.Fprintln(w)
			}
			fmt.Fprint(w, g.Table())
		}
	})
	return cmp.Or(err, failedRuns(len(failed)))
}

func (c *experimentCompare) learning() (*schemas.Learning, error) {
	l := &schemas.Learning{
		DMax: c.DMax, Pairs: schemas.Pairs_PAIRS_BOTH, MaxPairsPerTarget: c.MaxPairs, SwitchPages: c.Switch, RefitPages: c.Refit,
	}
	if c.Pairs == "forward" {
		l.Pairs = schemas.Pairs_PAIRS_FORWARD
	}
	if l.Learner = crawlfile.Learners[c.Learner]; l.Learner == schemas.Learner_LEARNER_LOGISTIC {
		l.Logistic = &schemas.Logistic{Rate: c.Rate, L1: c.L1, L2: c.L2}
	}
	families, err := linkfeature.FamiliesNamed(c.Features)
	l.Features, l.Active, l.Count, l.Smooth = families.List(), c.Active, crawlfile.Countings[c.Count], c.Smooth
	if err != nil {
		return l, err
	}
	if _, err := apprentice.SettingsOf(l); err != nil {
		return l, model.UsageError(err)
	}
	return l, nil
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

func (c *experimentCompare) list(s *cli.Session, tasks []*taskfile.Task) error {
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
