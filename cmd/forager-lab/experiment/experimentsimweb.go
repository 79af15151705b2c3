package experiment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"forager/cmd/forager/demo"
	"forager/cmd/internal/cli"
	"forager/infra/simweb"
	"forager/internal/classify/critic"
	"forager/internal/crawl/crawlfile"
	"forager/internal/lab/experiment"
	"forager/internal/lab/measure"
	"forager/internal/lab/tables"
	"forager/internal/lab/taskfile"
	"forager/internal/platform/progress"
	"forager/internal/rank/linkfeature"
	"forager/schemas"
)

// SimwebCommand is the command "forager-lab experiment-simweb".
type SimwebCommand struct {
	Seeds   []uint64 `help:"A web for each seed, from 401 on: simweb was made with those below." default:"401,402,403,404,405,406"`
	Teacher uint64   `help:"Seed of the web on which the taught apprentice learns." default:"451"`
	Critic  uint64   `help:"Seed of the web on which the critic learns." default:"452"`
	Cues    []string `help:"Where around links the words about their targets stand." enum:"peaked,uniform,absent" default:"peaked,uniform,absent"`
	Pages   uint64   `help:"Pages of each web." default:"100000"`
	Budget  uint64   `help:"Pages of each crawl." default:"3000"`
	Topic   string   `help:"Focus topic; by default the sixth."`
	Overlap bool     `help:"Let requests overlap, as in a pipeline, in a time that is computed."`

	HostWindow uint32        `help:"With --overlap: requests at most to one host; 0 = as in any crawl."`
	Pause      time.Duration `help:"With --overlap: pause that every host is left alone."`

	Rankers []string `help:"Rankers to compare." default:"unfocused,soft-focus,hard-defer,apprentice,apprentice-gated,taught"`
}

// Taught is the apprentice that starts from a model trained on another web (protocol T).
const Taught = "taught"

func (c *SimwebCommand) Help() string {
	return `Crawls synthetic webs in this process, with every ranker from the same seeds, once for each setting of
cues, and prints means over the webs with 95 % intervals. The same command prints the same numbers
every time. These results test the code only; they say nothing about real crawls: see infra/simweb.

  forager-lab experiment-simweb --cues peaked --rankers soft-focus,apprentice --budget 500

Rankers trained on another web (access foreign) are in one table, those that learn during the crawl (seeds) in
another; rankers that learn nothing are in both.

Rankers: those of "forager-lab experiment" that need not see the whole web, and "taught": the gated
apprentice with a model that learned from a crawl, half as long, of another synthetic web.

Columns: truth@25, @100: share of pages on the topic, by the web's own truth, among the pages of the first
25 and 100 % of the budget; critic@100: mean relevance by the critic; loss-cut@25, @100: share of soft
focus's loss, by the critic, that was avoided; recall: share of the topic's pages that was found.

With --overlap a request takes 60 ms from dispatch to verdict, and a page 2 ms of a machine that all
share; pages/s is the rate of the crawl in that time.`
}

// SimRow is a line of the table.
type SimRow struct {
	Cues string `json:"cues"`
	// Access of the line's table; rankers that do not learn are in the tables of all.
	Access   experiment.Access           `json:"access"`
	Ranker   string                      `json:"ranker"`
	Measures map[string]measure.Estimate `json:"measures"`
}

var simColumns = []string{"truth@25", "truth@100", "critic@100", "loss-cut@25", "loss-cut@100", "recall", "pages/s"}

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
	var rows []SimRow
	ctx, end := progress.Start(s, "crawls", int64(len(c.Cues)*len(c.Seeds)*len(c.Rankers)))
	defer end()
	for _, cues := range c.Cues {
		byRanker, err := c.crawls(ctx, cues)
		if err != nil {
			return err
		}
		for _, p := range c.accesses() {
			for _, r := range c.Rankers {
				if accessOf(r) == p || tables.Refers(r) {
					rows = append(rows, SimRow{cues, p, r, summary(byRanker[r], byRanker["soft-focus"])})
				}
			}
		}
	}
	return s.Print(rows, func(w io.Writer) {
		for i, row := range rows {
			if i == 0 || row.Access != rows[i-1].Access || row.Cues != rows[i-1].Cues {
				printSimHead(w, row.Access)
			}
			fmt.Fprintf(w, "\n%-9s%-18s", row.Cues, row.Ranker)
			for _, column := range simColumns {
				e, ok := row.Measures[column]
				cell := "–"
				if ok {
					cell = fmt.Sprintf("%.3f ± %.3f", e.Mean, e.Half)
				}
				fmt.Fprintf(w, "%16s", cell)
			}
		}
		fmt.Fprintln(w)
	})
}

// printSimHead prints the head of a table.
func printSimHead(w io.Writer, access experiment.Access) {
	fmt.Fprintf(w, "\naccess %s\n%-9s%-18s", access, "cues", "ranker")
	for _, column := range simColumns {
		fmt.Fprintf(w, "%16s", column)
	}
}

// accessOf returns the access of a ranker here: synthetic webs are sites that differ.
func accessOf(ranker string) experiment.Access {
	if ranker == Taught {
		return experiment.AccessForeign
	}
	return experiment.AccessOf(ranker, new(taskfile.Task))
}

// accesses returns those of the rankers that learn; if none does, the least.
func (c *SimwebCommand) accesses() []experiment.Access {
	var used []experiment.Access
	for _, p := range experiment.Accesses {
		if slices.ContainsFunc(c.Rankers, func(r string) bool { return accessOf(r) == p && !tables.Refers(r) }) {
			used = append(used, p)
		}
	}
	if len(used) == 0 {
		used = experiment.Accesses[:1]
	}
	return used
}

// summary of one ranker over the webs; base is soft focus on the same webs, if it was tried.
func summary(of, base []simCrawl) map[string]measure.Estimate {
	values := make(map[string][]float64)
	for i, m := range of {
		for column, v := range map[string]float64{
			"truth@25": m.HarvestLabel[0], "truth@100": m.HarvestLabel[2], "critic@100": m.HarvestCritic[2], "recall": m.Recall,
		} {
			values[column] = append(values[column], v)
		}
		if m.took > 0 {
			values["pages/s"] = append(values["pages/s"], float64(m.Pages)/m.took.Seconds())
		}
		if len(base) == len(of) && base[i].Loss[0] > 0 {
			values["loss-cut@25"] = append(values["loss-cut@25"], 1-m.Loss[0]/base[i].Loss[0])
			values["loss-cut@100"] = append(values["loss-cut@100"], 1-m.Loss[1]/base[i].Loss[1])
		}
	}
	out := make(map[string]measure.Estimate)
	for column, list := range values {
		out[column] = measure.Interval(list)
	}
	return out
}

// simCrawl is the measures of one crawl, and the time that it would take over a network.
type simCrawl struct {
	experiment.Measures
	took time.Duration
}

// crawls runs those of one setting of cues: measures by ranker, one for each web.
func (c *SimwebCommand) crawls(ctx context.Context, cues string) (map[string][]simCrawl, error) {
	samples, err := c.web(c.Critic, cues)
	if err != nil {
		return nil, cli.AsUsage(err)
	}
	topic := cmp.Or(c.Topic, samples.Topics()[min(5, len(samples.Topics())-1)])
	if !slices.Contains(samples.Topics(), topic) {
		return nil, cli.Usagef("no topic %q; there are: %s", topic, strings.Join(samples.Topics(), ", "))
	}
	model, err := demo.SimCritic(ctx, samples)
	if err != nil {
		return nil, err
	}
	var prior []byte
	if slices.Contains(c.Rankers, Taught) {
		if prior, err = c.train(ctx, topic, cues, model); err != nil {
			return nil, err
		}
	}
	out := make(map[string][]simCrawl)
	for _, seed := range c.Seeds {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		g, err := c.Environment(seed, cues, topic, c.Budget, model)
		if err != nil {
			return nil, err
		}
		var all sync.WaitGroup
		made, errs := make([]*experiment.Crawl, len(c.Rankers)), make([]error, len(c.Rankers))
		for k, ranker := range c.Rankers {
			all.Go(func() {
				if made[k], errs[k] = c.try(ctx, g, ranker, prior); errs[k] == nil {
					errs[k] = progress.Add(ctx, 1)
				}
			})
		}
		all.Wait()
		if err := errors.Join(errs...); err != nil {
			return nil, fmt.Errorf("seed %d: %w", seed, err)
		}
		for k, ranker := range c.Rankers {
			out[ranker] = append(out[ranker], simCrawl{g.Measure(made[k]), made[k].Took})
		}
	}
	return out, nil
}

// Time of a request over a network: slightly more than the loop of the embedded parts when idle, and the time at 500 pages a second.
const (
	simLoop = 60 * time.Millisecond
	simWork = 2 * time.Millisecond
)

var simLearning = &schemas.Learning{DMax: 5}

// try runs one crawl of the only draw of g.
func (c *SimwebCommand) try(ctx context.Context, g *experiment.Environment, ranker string, prior []byte) (*experiment.Crawl, error) {
	var network *experiment.Network
	if c.Overlap {
		network = &experiment.Network{HostWindow: c.HostWindow, Pause: c.Pause, Loop: simLoop, Work: simWork}
	}
	if ranker != Taught {
		return g.TryOver(ctx, network, ranker, 0, 0, simLearning)
	}
	ranking, err := crawlfile.Rank("apprentice-gated")
	if err != nil {
		return nil, err
	}
	seeds, err := g.Seeds(0)
	if err != nil {
		return nil, err
	}
	return (&experiment.Run{Environment: g, Seeds: seeds, Policies: ranking.Policies, Learning: simLearning, Prior: prior, Network: network}).Crawl(ctx)
}

// train crawls the training web and returns the resulting model.
func (c *SimwebCommand) train(ctx context.Context, topic, cues string, model *critic.Model) ([]byte, error) {
	g, err := c.Environment(c.Teacher, cues, topic, max(c.Budget/2, 1), model)
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
	return simweb.New(config)
}

// Environment is a web with five pages of the topic as seeds.
func (c *SimwebCommand) Environment(seed uint64, cues, topic string, budget uint64, model *critic.Model) (*experiment.Environment, error) {
	w, err := c.web(seed, cues)
	if err != nil {
		return nil, cli.AsUsage(err)
	}
	_, g, err := syntheticEnvironment(w, fmt.Sprintf("simweb-%s:%d", cues, seed), topic, budget, [][]string{w.Examples(topic, 5)}, model, 5)
	return g, err
}

// syntheticEnvironment is a task on a synthetic web.
func syntheticEnvironment(w *simweb.Web, name, topic string, budget uint64, seeds [][]string, model *critic.Model, dMax int) (*taskfile.Task, *experiment.Environment, error) {
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
	task := &taskfile.Task{Name: name, Pages: taskfile.PageSet{All: true}, TargetLabel: topic, FocusClass: topic, Budget: budget, Seeds: seeds}
	g, err := experiment.NewComputedEnvironment(task, computed, model, linkfeature.Settings{DMax: dMax})
	return task, g, err
}
