package experiment

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	modelcmd "forager/cmd/forager/model"
	"forager/cmd/internal/cli"
	"forager/internal/lab/experiment"
	"forager/internal/lab/papers"
	"forager/internal/lab/taskfile"
	"forager/internal/platform/progress"
	"forager/internal/rank/linkfeature"
	"forager/schemas"
)

type experimentPapers struct {
	Tasks     []string `arg:"" optional:"" help:"Task files of frozen webs; without them there are synthetic webs only." type:"existingfile"`
	Out       string   `short:"o" required:"" help:"Markdown file; its figures are written to a folder of the same name next to it." type:"path"`
	Draws     int      `help:"Number of seed draws." default:"4"`
	FirstDraw int      `help:"The first of them." default:"10"`
	MEMM      int      `name:"memm-tasks" help:"Number of tasks on which MEMMs are tried, which are trained for each." default:"6"`
	Study     string   `help:"Folder of a study of all rankers, whose tables are added." type:"existingdir"`
	SimSeeds  []uint64 `name:"sim-seeds" help:"A synthetic web for each seed." default:"401"`
	Teacher   uint64   `help:"Seed of the synthetic web on which the transferred apprentice learns." default:"451"`
	Critic    uint64   `help:"Seed of the synthetic web on which the critic learns." default:"452"`
	Pages     uint64   `help:"Pages of a synthetic web." default:"20000"`
	Budget    uint64   `help:"Pages of a crawl of a synthetic web." default:"500"`

	webCache `embed:""`
}

func (c *experimentPapers) Help() string {
	return `Repeats, on synthetic webs and on the frozen webs of a task file, the figures and tables of the four papers that can be tested there,
and writes for each what the paper found, what is found here, and, where they differ, why. All numbers and verdicts are
computed; the same command writes the same bytes.

  forager-lab experiment papers tasks.json.gz -o papers.md
  forager-lab experiment papers tasks.json.gz -o papers.md --study build/all-rankers
  forager-lab experiment papers tasks.json.gz -o papers.md --draws 10 --memm-tasks 12 --sim-seeds 401,402,403 --pages 100000 --budget 3000
  forager-lab experiment papers -o papers.md --pages 5000 --budget 200      # synthetic webs only, small

The first takes about an hour on four cores with the webs of two task files, the third many times that. The end of the page names the data and the settings.

Results on synthetic webs test the code only; they are no evidence about real crawls.`
}

func (c *experimentPapers) Run(s *cli.Session) error {
	if c.Draws < 2 || c.FirstDraw < 0 {
		return cli.Usagef("--draws is %d, --first-draw %d: want at least 2 and 0", c.Draws, c.FirstDraw)
	}
	worlds, err := c.frozen(s)
	if err != nil {
		return err
	}
	for _, cues := range []string{"peaked", "uniform", "absent"} {
		w, err := c.synthetic(s, cues)
		if err != nil {
			return err
		}
		worlds = append(worlds, w)
	}
	ctx, task, end := progress.StartTask(s, "measuring")
	defer end()
	report, err := papers.Reproduce(ctx, worlds, func(what string, done, all int) {
		fmt.Fprintln(s.Stderr, what)
		task.Reach(int64(done), int64(all))
	})
	end()
	if err != nil {
		return err
	}
	if c.Study != "" {
		if err := c.addStudy(report); err != nil {
			return err
		}
	}
	folder := strings.TrimSuffix(c.Out, filepath.Ext(c.Out))
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("make the folder of figures: %w", err)
	}
	return modelcmd.WriteWhole(s, c.Out, func(w io.Writer) error {
		return report.WriteMarkdown(w, filepath.Base(folder), func(name, svg string) error {
			return modelcmd.WriteWhole(s, filepath.Join(folder, name), func(w io.Writer) error { _, err := io.WriteString(w, svg); return err })
		})
	})
}

// frozen returns the worlds of the task file: its groups of tasks on which rankers may be compared.
func (c *experimentPapers) frozen(s *cli.Session) ([]*papers.World, error) {
	if len(c.Tasks) == 0 {
		return nil, nil
	}
	file, err := taskfile.Load(c.Tasks...)
	if err != nil {
		return nil, err
	}
	var tasks []*taskfile.Task
	for i := range file.Tasks {
		if t := &file.Tasks[i]; !t.DiagnosticOnly {
			if len(t.Seeds) < c.FirstDraw+c.Draws {
				return nil, cli.Usagef("task %s has %d draws, no draw %d", t.Name, len(t.Seeds), c.FirstDraw+c.Draws-1)
			}
			tasks = append(tasks, t)
		}
	}
	load, err := c.loader(s.Stderr)
	if err != nil {
		return nil, err
	}
	prepare := func(leaves schemas.LeafMode) (map[*taskfile.Task]*experiment.Environment, error) {
		return experiment.PrepareFrom(s, load, file, filepath.Dir(c.Tasks[0]), tasks, linkfeature.Settings{DMax: papers.Reach}, experiment.Parsing{Leaves: leaves})
	}
	environments, err := prepare(schemas.LeafMode_LEAF_MODE_COMPACT)
	if err != nil {
		return nil, err
	}
	leaves, err := prepare(schemas.LeafMode_LEAF_MODE_PAPER)
	if err != nil {
		return nil, err
	}
	list, err := experiment.Digest(c.Tasks...)
	if err != nil {
		return nil, err
	}
	var draws []int
	for d := range c.Draws {
		draws = append(draws, c.FirstDraw+d)
	}
	var worlds []*papers.World
	for _, t := range tasks {
		i := slices.IndexFunc(worlds, func(w *papers.World) bool { return w.Name == t.Group() })
		if i < 0 {
			digest, err := experiment.Digest(filepath.Join(filepath.Dir(c.Tasks[0]), t.Warc))
			if err != nil {
				return nil, err
			}
			i = len(worlds)
			worlds = append(worlds, &papers.World{Name: t.Group(), Environments: environments, Leaves: leaves, MEMM: c.MEMM, Draws: draws, Origin: fmt.Sprintf(
				"%s (SHA-256 %s), tasks %s (%s), draws %d to %d, MEMMs on %d tasks at most", t.Warc, digest[:12], filepath.Base(c.Tasks[0]), list[:12], c.FirstDraw, c.FirstDraw+c.Draws-1, c.MEMM)})
		}
		worlds[i].Tasks = append(worlds[i].Tasks, t)
	}
	slices.SortStableFunc(worlds, func(a, b *papers.World) int { return strings.Compare(a.Name, b.Name) })
	return worlds, nil
}

// synthetic returns the world of the synthetic webs with cues.
func (c *experimentPapers) synthetic(ctx context.Context, cues string) (*papers.World, error) {
	sim := &SimwebCommand{Teacher: c.Teacher, Critic: c.Critic, Pages: c.Pages, Budget: c.Budget, draws: 2, dMax: papers.Reach}
	topic, model, err := sim.critic(ctx, cues)
	if err != nil {
		return nil, err
	}
	w := &papers.World{
		Name: "simweb, cues " + cues, Synthetic: true, Draws: []int{0, 1}, Environments: make(map[*taskfile.Task]*experiment.Environment),
		Origin: fmt.Sprintf("synthetic webs of %d pages, seeds %v, cues %s, topic %s, budget %d pages; critic of seed %d, teacher of seed %d", c.Pages, c.SimSeeds, cues, topic, c.Budget, c.Critic, c.Teacher),
	}
	if w.Prior, err = sim.train(ctx, topic, cues, model); err != nil {
		return nil, err
	}
	for _, seed := range c.SimSeeds {
		task, g, err := sim.Environment(seed, cues, topic, c.Budget, model)
		if err != nil {
			return nil, err
		}
		w.Tasks = append(w.Tasks, task)
		w.Environments[task] = g
	}
	return w, nil
}

// addStudy adds the tables of a study.
func (c *experimentPapers) addStudy(report *papers.Report) error {
	rep, err := readStudy(c.Study)
	if err != nil {
		return err
	}
	for _, g := range rep.Groups {
		report.Rankers = append(report.Rankers, g.Group)
	}
	report.Compared = rep.Comparisons
	report.About = fmt.Sprintf("The study \"%s\": %d tasks, draws %d to %d, %d crawls.", rep.Origin.Study, rep.Tasks, rep.Draws[0], rep.Draws[len(rep.Draws)-1], rep.Runs)
	for _, sentence := range rep.Refused {
		report.About += "\n\n" + sentence + "."
	}
	return nil
}
