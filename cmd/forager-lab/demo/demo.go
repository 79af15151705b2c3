package demo

import (
	"context"
	"path/filepath"

	"forager/cmd/forager/demo"
	"forager/cmd/internal/cli"
	"forager/internal/lab/experiment"
	"forager/internal/lab/taskfile"
	"forager/internal/rank/linkfeature"
	"forager/internal/web/webarchive"
)

// Command is the command "forager-lab demo".
type Command struct {
	demo.Flags
	Frozen
}

// Frozen names a task on a frozen web.
type Frozen struct {
	Web   string `help:"Frozen web (WARC)." required:"" type:"existingfile"`
	Tasks string `help:"Task file; by default tasks.json.gz in the folder of the web." type:"path"`
	Task  string `help:"Task of the task file (\"webkb:course/cornell\")." required:""`
	Draw  int    `help:"Seed draw of the task."`
}

func (c *Command) Help() string {
	return `Starts the embedded parts and every stage, crawls a frozen web twice (soft focus, then the apprentice, which
learns while it crawls), prints the report of both side by side and verifies each crawl.

  forager-lab demo --web webkb.warc.gz --task webkb:course/cornell`
}

func (c *Command) Run(s *cli.Session) error {
	return c.RunOn(s, func() (*demo.Environment, error) { return c.Open(s) })
}

// Open returns the web with its task.
func (f *Frozen) Open(ctx context.Context) (*demo.Environment, error) {
	tasks := f.Tasks
	if tasks == "" {
		tasks = filepath.Join(filepath.Dir(f.Web), "tasks.json.gz")
	}
	file, err := taskfile.Load(tasks)
	if err != nil {
		return nil, err
	}
	selected, err := file.Select(f.Task)
	if err != nil {
		return nil, err
	}
	if len(selected) != 1 {
		return nil, cli.Usagef("--task %q names %d tasks, want one", f.Task, len(selected))
	}
	task := selected[0]
	if f.Draw < 0 || f.Draw >= len(task.Seeds) {
		return nil, cli.Usagef("--draw %d: task %s has %d", f.Draw, task.Name, len(task.Seeds))
	}
	environments, err := experiment.Prepare(ctx, file, filepath.Dir(f.Web), selected, linkfeature.Settings{DMax: 5})
	if err != nil {
		return nil, err
	}
	archive, err := webarchive.Open(ctx, f.Web)
	if err != nil {
		return nil, err
	}
	g := environments[task]
	seeds, err := g.Seeds(f.Draw)
	if err != nil {
		return nil, err
	}
	return &demo.Environment{
		Name: filepath.Base(f.Web), Topic: task.FocusClass, Handler: archive.Handler(nil), Critic: g.Critic(),
		Seeds: seeds, URLList: g.URLs(), Budget: task.Budget, Truth: g.Target,
	}, nil
}
