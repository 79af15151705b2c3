package experiment

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"forager/cmd/forager/model"
	"forager/cmd/internal/cli"
	"forager/internal/lab/experiment"
	"forager/internal/lab/study"
	"forager/internal/platform/progress"
)

// Command is the commands below "forager-lab experiment".
type Command struct {
	Run    experimentRun    `cmd:"" help:"Make the runs of a plan file, going on where they were stopped, and report on them."`
	Bench  experimentBench  `cmd:"" default:"withargs" help:"Compare rankers on the tasks of files, also rankers of your own over HTTP, and print tables."`
	Papers experimentPapers `cmd:"" help:"Repeat the measurements of the papers, and write their results next to those of this program."`
	Report experimentReport `cmd:"" help:"Print the report of a study, or write it as a page."`
}

type experimentRun struct {
	Plan string `arg:"" help:"Plan file (YAML)." type:"existingfile"`
	Out  string `short:"o" required:"" help:"Folder of the results; what it holds of this plan is not run again." type:"path"`

	Tasks []string `help:"Task files in the place of the plan's." type:"existingfile"`
	Draws int      `help:"Number of draws in the place of the plan's." default:"0"`

	webCache `embed:""`
}

// webCache is where parsed webs are kept.
type webCache struct {
	Cache   string `help:"Folder in which parsed webs are kept; by default forager/webs in the user's cache." type:"path"`
	NoCache bool   `help:"Parse webs again, keep nothing."`
}

// softMemory is the memory from which garbage is collected more often, bytes. A web takes some 3 KB a page, the
// data kept of its pages is bounded, and crawls take memory by their budgets. It is not a bound. GOMEMLIMIT
// overrides it.
const softMemory = 512 << 20

// loader returns a loader of webs that prints a line for each web it opens.
func (c *webCache) loader(to io.Writer) (experiment.Loader, error) {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(softMemory)
	}
	folder := c.Cache
	if c.NoCache {
		return experiment.LoadWeb, nil
	}
	if folder == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return nil, cli.Usagef("%v: name a folder for parsed webs (--cache), or none (--no-cache)", err)
		}
		folder = filepath.Join(user, "forager", "webs")
	}
	cache := &experiment.Cache{Folder: folder, Opened: func(o experiment.Opened) {
		name, took := filepath.Base(o.Web), o.Took.Round(time.Millisecond)
		switch {
		case o.Cached:
			fmt.Fprintf(to, "%s: %d pages, parsed before, read in %s\n", name, o.Pages, took)
			return
		case o.Damage != nil:
			fmt.Fprintf(to, "%s: what was kept of it is damaged (%v) and is made again\n", name, o.Damage)
		}
		fmt.Fprintf(to, "%s: %d pages, parsed in %s", name, o.Pages, took)
		if o.Unkept != nil {
			fmt.Fprintf(to, "; they are not kept for the next time: %v", o.Unkept)
		}
		fmt.Fprintln(to)
	}}
	return cache.Load, nil
}

// Files of a study's folder.
const (
	StudyLog     = "runs.jsonl"
	studyCSV     = "runs.csv"
	studyParquet = "runs.parquet"
	studyReport  = "study.json"
	studyPage    = "report.html"
)

func (c *experimentRun) Help() string {
	return `A plan names a task file and what is compared on it:

  name: offsets
  tasks: [tasks.json.gz]            # one or more, relative to the plan
  only: ["webkb-uni:*"]
  draws: {first: 0, count: 10}
  random_runs: 10                   # of rankers of random order, each draw
  critics: [bayes, logistic, positives-only, perfect, "errors 0.85/0.10"] # instead of those of the task file: see bench
  blank: '(?s)<ol[^>]*class="breadcrumbs".*?</ol>' # of what matches in a page the texts between tags are removed, not the links
  services: {mine: {url: "http://127.0.0.1:8080/", access: seeds}} # a ranker over HTTP: see bench
  rankers: [mine, soft-focus, apprentice, apprentice-gated, random, oracle]
  settings: {d_max: [0, 2, 5]}      # every combination, with every ranker that learns; also switch_pages,
                                    # refit_pages, max_pairs, pairs, topics, learner, count, smooth, features, active;
                                    # ration, with every ranker that asks for backlinks: queries as a share of the budget

  forager-lab experiment run plan.yaml -o results
  forager-lab experiment report results

Each run is kept as soon as it is made; the same command goes on after it was stopped. At the end the folder has
runs.csv and runs.parquet (a row a run, with digests of web, critic, tasks and program), study.json and report.html.
The same plan gives the same files. Webs are parsed once and kept (--cache). The last lines are the CPU time of the runs of each
ranker, and the peak of memory.

Rankers: those of "forager-lab experiment bench", or all.`
}

func (c *experimentRun) Run(s *cli.Session) error {
	plan, err := study.LoadPlan(c.Plan)
	if err != nil {
		return cli.AsUsage(err)
	}
	if len(c.Tasks) > 0 {
		plan.Tasks = c.Tasks
	}
	if c.Draws < 0 || c.Draws > len(plan.Draws) {
		return cli.Usagef("--draws is %d, the plan has %d", c.Draws, len(plan.Draws))
	}
	if c.Draws > 0 {
		plan.Draws = plan.Draws[:c.Draws]
	}
	return c.run(s, plan, c.Out)
}

// run runs a plan with webs from the cache, writes its files into a folder unless that is "", and prints the tables.
func (c *webCache) run(s *cli.Session, plan *study.Plan, out string) (err error) {
	if plan.Load, err = c.loader(s.Stderr); err != nil {
		return err
	}
	log := ""
	if out != "" {
		if err := os.MkdirAll(out, 0o755); err != nil {
			return fmt.Errorf("make the folder of results: %w", err)
		}
		log = filepath.Join(out, StudyLog)
	}
	ctx, task, end := progress.StartTask(s, "runs")
	defer end()
	shown := &studyProgress{to: s.Stderr, task: task}
	rep, err := study.Run(ctx, plan, log, shown)
	if err != nil {
		return err
	}
	end()
	shown.cost.print(s.Stderr)
	for name, write := range map[string]func(io.Writer) error{
		studyCSV:     func(w io.Writer) error { return study.WriteCSV(w, rep.Rows()) },
		studyParquet: func(w io.Writer) error { return study.WriteParquet(w, rep.Rows()) },
		studyReport:  func(w io.Writer) error { return json.NewEncoder(w).Encode(rep) },
		studyPage:    rep.WriteHTML,
	} {
		if out == "" {
			break
		}
		if err := model.WriteWhole(s, filepath.Join(out, name), write); err != nil {
			return err
		}
	}
	if err := s.Print(rep, rep.Print); err != nil {
		return err
	}
	if n := len(rep.Failed); n > 0 {
		return fmt.Errorf("%d runs failed; the same command makes them again, and what is printed is of the other tasks", n)
	}
	return nil
}

// studyProgress shows the progress of a study.
type studyProgress struct {
	to   io.Writer
	task *progress.Task
	cost *runCosts
}

func (p *studyProgress) Prepared(known, all int, torn int64) {
	p.cost = newRunCosts()
	if torn > 0 {
		fmt.Fprintf(p.to, "the last run of the log was not whole (%d bytes): it is made again\n", torn)
	}
	fmt.Fprintf(p.to, "%d runs, %d of them made before\n", all, known)
	p.task.Begin(int64(known), int64(all))
}

func (p *studyProgress) Ran(r *experiment.Result, cpu time.Duration, done, all int) {
	p.cost.add(r, cpu)
	p.task.Reach(int64(done), int64(all))
}
