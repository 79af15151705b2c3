package experiment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"forager/cmd/forager/demo"
	"forager/cmd/internal/cli"
	"forager/infra/simweb"
	"forager/internal/classify/critic"
	"forager/internal/lab/experiment"
	"forager/internal/lab/tables"
	"forager/internal/lab/taskfile"
	"forager/internal/platform/progress"
	"forager/internal/rank/linkfeature"
	"forager/schemas"
)

// SimwebCommand is the command "forager-lab experiment-simweb".
type SimwebCommand struct {
	Seeds    []uint64 `help:"A web for each seed, from 401 on: simweb was made with those below." default:"401,402,403,404,405,406"`
	Teacher  uint64   `help:"Seed of the web on which the taught apprentice learns." default:"451"`
	Critic   uint64   `help:"Seed of the web on which the critic learns." default:"452"`
	Cues     []string `help:"Where around links the words about their targets stand." enum:"peaked,uniform,absent" default:"peaked,uniform,absent"`
	Pages    uint64   `help:"Pages of each web." default:"100000"`
	Branches int      `help:"Branches of the topic tree; 0 = 6."`
	Leaves   int      `help:"Topics of each branch; 0 = 4. With more topics fewer pages are about the focus."`
	Budget   uint64   `help:"Pages of each crawl." default:"3000"`
	Topic    string   `help:"Focus topic; by default the sixth."`
	Overlap  bool     `help:"Let requests overlap, as in a pipeline, in a time that is computed."`

	HostWindow uint32        `help:"With --overlap: requests at most to one host; 0 = as in any crawl."`
	Pause      time.Duration `help:"With --overlap: pause that every host is left alone."`

	Rankers []string `help:"Rankers to compare." default:"unfocused,soft-focus,hard-defer,apprentice,apprentice-gated,taught"`

	// Of the experiment papers: draws of each web, and the largest offset of features; 0 = 1, and that of simLearning.
	draws, dMax int
}

// Taught is the apprentice that starts from a model trained on another web (protocol T).
const Taught = "taught"

func (c *SimwebCommand) Help() string {
	return `Crawls synthetic webs in this process, with every ranker from the same seeds, once for each setting of
cues, and prints means over the webs with 95 % intervals. The same command prints the same numbers
every time. These results test the code only; they are no evidence about real crawls: see infra/simweb.

  forager-lab experiment-simweb --cues peaked --rankers soft-focus,apprentice --budget 500

Rankers trained on another web (access foreign) are in one table, those that learn during the crawl (seeds) in
another; rankers that learn nothing are in both.

Rankers: those of "forager-lab experiment" that need not see the whole web, and "taught": the gated
apprentice with a model that learned from a crawl, half as long, of another synthetic web.

A table is that of "forager-lab experiment bench" over the webs of one setting of cues, which are its draws; labels are the web's
own truth.

With --overlap a request takes 60 ms from dispatch to verdict, and a page 2 ms of a machine that all
share; pages/s is the rate of the crawl in that time.`
}

func (c *SimwebCommand) Run(s *cli.Session) error {
	for _, seed := range append([]uint64{c.Teacher, c.Critic}, c.Seeds...) {
		if seed < simweb.FirstJudge {
			return cli.Usagef("seed %d: simweb was made with seeds below %d; judge rankers on others", seed, simweb.FirstJudge)
		}
	}
	for _, r := range c.Rankers {
		if err := experiment.KnowRanker(r); r != Taught && err != nil {
			return cli.Usagef("%v, %s", err, Taught)
		}
	}
	ctx, end := progress.Start(s, "crawls", int64(len(c.Cues)*len(c.Seeds)*len(c.Rankers)))
	defer end()
	var tasks []*taskfile.Task
	var results []experiment.Result
	for _, cues := range c.Cues {
		task, made, err := c.crawls(ctx, cues)
		if err != nil {
			return err
		}
		tasks, results = append(tasks, task), append(results, made...)
	}
	sum, err := tables.Summarise(tasks, results)
	if err != nil {
		return err
	}
	return s.Print(sum.Groups, func(w io.Writer) {
		for _, g := range sum.Groups {
			fmt.Fprintln(w, g.Table())
		}
	})
}

// crawls makes those of one setting of cues. The webs are the draws of the task of the first one.
func (c *SimwebCommand) crawls(ctx context.Context, cues string) (first *taskfile.Task, all []experiment.Result, err error) {
	topic, model, err := c.critic(ctx, cues)
	if err != nil {
		return nil, nil, err
	}
	variants, err := c.variants(ctx, topic, cues, model)
	if err != nil {
		return nil, nil, err
	}
	bench := &experiment.Bench{Draws: []int{0}, Variants: variants, Done: func(experiment.Job, *experiment.Result, time.Duration, int, int) error {
		return progress.Add(ctx, 1)
	}}
	if c.Overlap {
		bench.Network = &experiment.Network{HostWindow: c.HostWindow, Pause: c.Pause, Loop: simLoop, Work: simWork}
	}
	for draw, seed := range c.Seeds {
		task, g, err := c.Environment(seed, cues, topic, c.Budget, model)
		if err != nil {
			return nil, nil, err
		}
		first = cmp.Or(first, task)
		bench.Tasks, bench.Environments = []*taskfile.Task{task}, map[*taskfile.Task]*experiment.Environment{task: g}
		if refused := bench.Refused(); len(refused) > 0 {
			return nil, nil, errors.New(refused[0])
		}
		results, err := bench.Run(ctx)
		if err != nil {
			return nil, nil, err
		}
		for _, r := range results {
			if r.Failed != "" {
				return nil, nil, errors.New(r.Failed)
			}
			r.Task, r.Draw = first.Name, draw
			all = append(all, r)
		}
	}
	return first, all, nil
}

// critic returns the topic of the crawls and the critic, which is trained on a web of its own.
func (c *SimwebCommand) critic(ctx context.Context, cues string) (topic string, model *critic.Model, err error) {
	samples, err := c.web(c.Critic, cues)
	if err != nil {
		return "", nil, err
	}
	topic = cmp.Or(c.Topic, samples.Topics()[min(5, len(samples.Topics())-1)])
	if !slices.Contains(samples.Topics(), topic) {
		return "", nil, cli.Usagef("no topic %q; there are: %s", topic, strings.Join(samples.Topics(), ", "))
	}
	model, err = demo.SimCritic(ctx, samples)
	return topic, model, err
}

// Time of a request over a network: slightly more than the loop of the embedded parts when idle, and the time at 500 pages a second.
const (
	simLoop = 60 * time.Millisecond
	simWork = 2 * time.Millisecond
)

var simLearning = &schemas.Learning{DMax: 5}

// variants returns the rankers to compare.
func (c *SimwebCommand) variants(ctx context.Context, topic, cues string, model *critic.Model) (all []experiment.Variant, err error) {
	for _, ranker := range c.Rankers {
		v := experiment.Variant{Name: ranker, Ranker: ranker, Learning: simLearning}
		if ranker == Taught {
			v.Ranker, v.Access = "apprentice-gated", experiment.AccessForeign
			if v.Prior, err = c.train(ctx, topic, cues, model); err != nil {
				return nil, err
			}
		}
		all = append(all, v)
	}
	return all, nil
}

// train crawls the training web and returns the resulting model.
func (c *SimwebCommand) train(ctx context.Context, topic, cues string, model *critic.Model) ([]byte, error) {
	_, g, err := c.Environment(c.Teacher, cues, topic, max(c.Budget/2, 1), model)
	if err != nil {
		return nil, err
	}
	crawl, err := g.Try(ctx, "apprentice", 0, 0, simLearning)
	if err != nil {
		return nil, fmt.Errorf("teach on seed %d: %w", c.Teacher, err)
	}
	if crawl.Learnt.Leaps() == 0 {
		return nil, fmt.Errorf("the crawl of the teacher's web, seed %d, settled no leap", c.Teacher)
	}
	return crawl.Learnt.Marshal(), nil
}

func (c *SimwebCommand) web(seed uint64, cues string) (*simweb.Web, error) {
	config := simweb.Default(seed)
	config.Pages, config.Cues = c.Pages, simweb.CuesByName[cues]
	config.Branches, config.Leaves = cmp.Or(c.Branches, config.Branches), cmp.Or(c.Leaves, config.Leaves)
	w, err := simweb.New(config)
	if err != nil {
		return nil, cli.AsUsage(err)
	}
	return w, nil
}

// Environment is a task on a synthetic web. Each draw has five pages of the topic as seeds.
func (c *SimwebCommand) Environment(seed uint64, cues, topic string, budget uint64, model *critic.Model) (*taskfile.Task, *experiment.Environment, error) {
	w, err := c.web(seed, cues)
	if err != nil {
		return nil, nil, err
	}
	computed := &experiment.Computed{
		Labels: make(map[string]string, w.Size()), Redirects: make(map[string]string, w.Size()),
		Page: func(url string) ([]byte, string) {
			html, _, _ := w.Page(url)
			return []byte(html), "text/html; charset=utf-8"
		},
	}
	for n := range w.Size() {
		url := w.URL(n)
		computed.Labels[url] = w.Truth(url).Topic
		computed.Redirects[w.Alias(n)] = url
	}
	task := &taskfile.Task{
		Name: fmt.Sprintf("simweb-%s:%d", cues, seed), Pages: taskfile.PageSet{All: true}, TargetLabel: topic, FocusClass: topic, Budget: budget,
		DiagnosticOnly: true,
	}
	draws := max(1, c.draws)
	seeds := w.Examples(topic, 5*draws)
	for d := range draws {
		task.Seeds = append(task.Seeds, seeds[d*len(seeds)/draws:(d+1)*len(seeds)/draws])
	}
	g, err := experiment.NewComputedEnvironment(task, computed, model, linkfeature.Settings{DMax: cmp.Or(c.dMax, int(simLearning.DMax))})
	return task, g, err
}
