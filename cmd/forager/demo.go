package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"forager/infra/simweb"
	"forager/internal/audit"
	"forager/internal/classify/critic"
	"forager/internal/crawl/crawlfile"
	"forager/internal/lab/experiment"
	"forager/internal/page/dom"
	"forager/internal/platform/freeport"
	"forager/internal/platform/objects"
	"forager/internal/platform/pipeline"
	"forager/internal/rank/apprentice"
	"forager/internal/rank/linkfeature"
	"forager/internal/web/webarchive"
	"forager/schemas"
)

type demoCommand struct {
	Out    string `help:"Folder of the demo: configuration, data, logs, report." default:"build/demo" type:"path"`
	Bin    string `help:"Folder of the programs; by default the folder of this one." type:"path"`
	Pages  uint64 `help:"Budget of each crawl on the synthetic web, pages." default:"3000"`
	Web    string `help:"Crawl this frozen web (WARC) instead; needs --task." type:"existingfile"`
	Tasks  string `help:"Task file; by default tasks.json.gz beside the web." type:"path"`
	Task   string `help:"Task of the task file (\"webkb:course/cornell\")."`
	Draw   int    `help:"Seed draw of the task."`
	Keep   bool   `help:"Leave everything running at the end."`
	Config string `name:"from" help:"Pipeline file to start from." default:"pipeline.yaml" type:"path"`
}

func (c *demoCommand) Help() string {
	return `Starts the embedded parts and every stage, crawls a web twice (soft focus, then the apprentice), prints
the report of both side by side and verifies each crawl. The apprentice of the synthetic web was taught by
a crawl of another synthetic web; on a frozen web it learns while it crawls.

  forager demo
  forager demo --web webkb.warc.gz --task webkb:course/cornell`
}

// demoRun is one crawl of the demo in report.json.
type demoRun struct {
	Crawl          string             `json:"crawl"`
	Ranker         string             `json:"ranker"`
	Pages          uint64             `json:"pages"`
	Requests       uint64             `json:"requests"`
	Seconds        float64            `json:"seconds"`
	PagesPerSecond float64            `json:"pages_per_second"`
	Harvest        float64            `json:"harvest"`
	Loss           float64            `json:"loss"`
	HarvestTruth   float64            `json:"harvest_truth"`
	LossAt         map[string]float64 `json:"loss_at"`
	EndReason      string             `json:"end_reason"`
	LatencyMS      uint32             `json:"latency_ms"`
	LatencyP95MS   uint32             `json:"latency_p95_ms"`
	// CPUMSPerPage is CPU time, user and system, by process.
	CPUMSPerPage map[string]float64 `json:"cpu_ms_per_page"`
	Outcomes     map[string]uint64  `json:"outcomes"`
	Trained      uint64             `json:"trained"`
}

type demoReport struct {
	Web    string    `json:"web"`
	Topic  string    `json:"topic"`
	Runs   []demoRun `json:"runs"`
	Verify struct {
		OK     bool            `json:"ok"`
		Crawls []*audit.Result `json:"crawls"`
	} `json:"verify"`
	// PeakMemory by process, bytes.
	PeakMemory map[string]int64 `json:"peak_memory"`
}

// demoGround is the environment of a demo: a web served by a proxy, a critic and the truth.
type demoGround struct {
	name, topic string
	handler     http.Handler
	critic      *critic.Model
	seeds       []string
	urlList     []string
	budget      uint64
	// truth reports whether a page is about the topic.
	truth func(url string) bool
	// teach is a web to train on first; nil = train during the crawl.
	teach *teaching
}

type teaching struct {
	seeds  []string
	budget uint64
}

func (c *demoCommand) Run(s *session) error {
	d := &demo{command: c, s: s}
	err := d.run()
	if c.Keep {
		return err
	}
	return errors.Join(err, d.stop())
}

// demo is one run of the command.
type demo struct {
	command *demoCommand
	s       *session
	stack   *stack
	config  *pipeline.Config
	books   *books
	ground  *demoGround
}

// stop ends what was started, also after an interruption.
func (d *demo) stop() error {
	if d.stack == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(d.s), time.Minute)
	defer cancel()
	wait := 30 * time.Second
	if d.s.Err() != nil {
		wait = grace / 4 // stages and parts each; the next run removes their data
	}
	_, err := d.stack.stop(ctx, wait)
	return err
}

// writeReport writes the document of a run into its folder.
func writeReport(dir, name string, report any) error {
	b, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, name), append(b, '\n'), 0o644)
}

func (d *demo) say(format string, args ...any) { fmt.Fprintf(d.s.err, format+"\n", args...) }

func (d *demo) run() error {
	began := time.Now()
	if err := d.prepare(); err != nil {
		return err
	}
	defer d.books.close()
	d.say("ready after %.0f s: Kafka, S3, ClickHouse and %d stages run; logs in %s",
		time.Since(began).Seconds(), len(stageNames), d.stack.logs())

	published, err := publishCritic(d.s, d.config, d.books, "demo", d.ground.critic, nil)
	if err != nil {
		return err
	}
	var prior string
	var names []string
	if t := d.ground.teach; t != nil {
		d.say("\nteaching: the apprentice learns on another synthetic web, topic %s, %d pages", d.ground.topic, t.budget)
		if _, err := d.crawl("teacher", "apprentice", published.GetVersion(), t.seeds, t.budget, ""); err != nil {
			return err
		}
		names = append(names, "teacher")
		if prior, err = d.newestModel("teacher"); err != nil {
			return err
		}
	}
	report := &demoReport{Web: d.ground.name, Topic: d.ground.topic}
	for _, ranker := range []string{"soft-focus", "apprentice"} {
		d.say("\ncrawling %s with %s: topic %s, %d pages", d.ground.name, ranker, d.ground.topic, d.ground.budget)
		p := ""
		if ranker == "apprentice" {
			p = prior
		}
		run, err := d.crawl(ranker, ranker, published.GetVersion(), d.ground.seeds, d.ground.budget, p)
		if err != nil {
			return err
		}
		report.Runs = append(report.Runs, *run)
		names = append(names, ranker)
	}
	report.PeakMemory = d.peakMemory()
	d.say("")
	report.Verify.OK = true
	for _, n := range names {
		result, err := auditCrawl(d.s, d.config, d.books, n)
		if err != nil {
			return fmt.Errorf("verify %s: %w", n, err)
		}
		report.Verify.Crawls = append(report.Verify.Crawls, result)
		report.Verify.OK = report.Verify.OK && result.OK
	}
	if err := writeReport(d.command.Out, "report.json", report); err != nil {
		return err
	}
	if err := d.s.print(report, func(w io.Writer) { printDemo(w, report, d.command) }); err != nil {
		return err
	}
	if !report.Verify.OK {
		return errors.New("verify found differences")
	}
	return nil
}

// prepare starts the web, the embedded parts and the stages in an empty folder.
func (d *demo) prepare() error {
	c := d.command
	if err := d.clear(); err != nil {
		return err
	}
	var err error
	if c.Web != "" {
		d.ground, err = frozenGround(d.s, c)
	} else {
		d.ground, err = simGround(c.Pages)
	}
	if err != nil {
		return err
	}
	proxy, err := d.serve(d.ground.handler)
	if err != nil {
		return err
	}
	return d.start(proxy)
}

// start starts the embedded parts and the stages, on free ports, for a web served by a proxy.
func (d *demo) start(proxy string, more ...setting) error {
	c := d.command
	path, err := writeDemoPipeline(c.Config, c.Out, proxy, more...)
	if err != nil {
		return err
	}
	if d.config, err = pipeline.Load(path); err != nil {
		return err
	}
	if d.stack, err = newStack(path, d.config, c.Bin); err != nil {
		return err
	}
	if !c.Keep {
		d.stack.processes.ending = d.s
	}
	if _, err := d.stack.startParts(d.s, time.Minute); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(d.s, time.Minute)
	defer cancel()
	if err := setUp(ctx, d.config, d.s.log); err != nil {
		return err
	}
	if err := d.stack.startStages(stageNames); err != nil {
		return err
	}
	d.books, err = openBooks(d.s, d.s, d.config)
	return err
}

// clear removes the data of an earlier demo from the folder, after ending its processes.
func (d *demo) clear() error {
	data := filepath.Join(d.command.Out, "data")
	p, err := openProcesses(data)
	if err != nil {
		return err
	}
	old := &stack{config: &pipeline.Config{Data: data}, processes: p}
	if _, err := old.stop(d.s, 10*time.Second); err != nil {
		return err
	}
	if err := os.RemoveAll(data); err != nil {
		return err
	}
	return os.MkdirAll(d.command.Out, 0o755)
}

// serve starts the web in this process, on a free loopback port.
func (d *demo) serve(h http.Handler) (proxy string, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	srv := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(d.s, func() { srv.Close() })
	go srv.Serve(l)
	return "http://" + l.Addr().String(), nil
}

// setting is one value of a pipeline file.
type setting struct {
	value any
	path  []string
}

// settingOf reads NAME=VALUE, as "stages.fetch.concurrency=8"; the value is YAML.
func settingOf(text string) (setting, error) {
	name, value, ok := strings.Cut(text, "=")
	if !ok || name == "" {
		return setting{}, errors.New("it must be a setting's name, = and its value, as stages.fetch.concurrency=8")
	}
	x := setting{path: strings.Split(name, ".")}
	return x, yaml.Unmarshal([]byte(value), &x.value)
}

// writeDemoPipeline writes a pipeline file with free ports, the demo's folder, its proxy and
// more settings.
func writeDemoPipeline(from, out, proxy string, more ...setting) (string, error) {
	b, err := os.ReadFile(from)
	if err != nil {
		return "", err
	}
	var root map[string]any
	if err := yaml.Unmarshal(b, &root); err != nil {
		return "", fmt.Errorf("%s: %w", from, err)
	}
	ports, err := freeport.Addresses(3)
	if err != nil {
		return "", err
	}
	set := func(value any, path ...string) {
		m := root
		for _, p := range path[:len(path)-1] {
			next, ok := m[p].(map[string]any)
			if !ok {
				next = make(map[string]any)
				m[p] = next
			}
			m = next
		}
		m[path[len(path)-1]] = value
	}
	set("data", "data")
	set([]string{ports[0]}, "kafka", "brokers")
	set("http://"+ports[1], "s3", "endpoint")
	set("http://"+ports[2], "clickhouse", "url")
	set(proxy, "stages", "fetch", "proxy")
	for _, x := range more {
		set(x.value, x.path...)
	}
	path := filepath.Join(out, "pipeline.yaml")
	if b, err = yaml.Marshal(root); err != nil {
		return "", err
	}
	return path, os.WriteFile(path, b, 0o644)
}

// simGround is a synthetic web: the critic is trained on pages of a third web of the same language, the apprentice on a second.
func simGround(pages uint64) (*demoGround, error) {
	const crawled, taught, examples = 1, 2, 3
	webs := make(map[uint64]*simweb.Web)
	for _, seed := range []uint64{crawled, taught, examples} {
		w, err := simweb.New(simweb.Default(seed))
		if err != nil {
			return nil, err
		}
		webs[seed] = w
	}
	model, err := simCritic(webs[examples])
	if err != nil {
		return nil, err
	}
	topic := webs[crawled].Topics()[5]
	return &demoGround{
		name: "synthetic web of 100,000 pages", topic: topic, handler: simweb.Handler(webs[crawled], webs[taught]), critic: model,
		seeds: webs[crawled].Examples(topic, 5), budget: pages,
		truth: func(url string) bool {
			t := webs[crawled].Truth(url)
			return t.Exists && !t.Hub && t.Topic == topic
		},
		teach: &teaching{seeds: webs[taught].Examples(topic, 5), budget: max(300, pages/2)},
	}, nil
}

// simCritic is a critic of the topics of a synthetic web, and of pages about none of them, trained on 60 pages of each.
func simCritic(w *simweb.Web) (*critic.Model, error) {
	var set critic.Examples
	for _, topic := range append([]string{simweb.Other}, w.Topics()...) {
		for _, url := range w.Examples(topic, 60) {
			html, _, _ := w.Page(url)
			p, err := dom.Parse([]byte(html), "text/html; charset=utf-8", url, dom.Settings{})
			if err != nil {
				return nil, err
			}
			if err := set.AddPage(url, []string{topic}, p); err != nil {
				return nil, err
			}
		}
	}
	from := fmt.Sprintf("synthetic web, seed %d", w.Config().Seed)
	model, _, err := critic.Train(context.Background(), &set, critic.Settings{Exact: true, Cap: 300, Provenance: map[string]string{"examples": from}})
	return model, err
}

// frozenGround is a WARC file with a task.
func frozenGround(ctx context.Context, c *demoCommand) (*demoGround, error) {
	if c.Task == "" {
		return nil, usagef("--web needs --task")
	}
	tasks := c.Tasks
	if tasks == "" {
		tasks = filepath.Join(filepath.Dir(c.Web), "tasks.json.gz")
	}
	file, err := experiment.LoadTasks(tasks)
	if err != nil {
		return nil, err
	}
	selected, err := file.Select(c.Task)
	if err != nil {
		return nil, err
	}
	if len(selected) != 1 {
		return nil, usagef("--task %q names %d tasks, want one", c.Task, len(selected))
	}
	task := selected[0]
	if c.Draw < 0 || c.Draw >= len(task.Seeds) {
		return nil, usagef("--draw %d: task %s has %d", c.Draw, task.Name, len(task.Seeds))
	}
	grounds, err := experiment.Prepare(ctx, file, filepath.Dir(c.Web), selected, linkfeature.Settings{DMax: 5})
	if err != nil {
		return nil, err
	}
	archive, err := webarchive.Open(ctx, c.Web)
	if err != nil {
		return nil, err
	}
	g := grounds[task]
	seeds, err := g.Seeds(c.Draw)
	if err != nil {
		return nil, err
	}
	return &demoGround{
		name: filepath.Base(c.Web), topic: task.FocusClass, handler: archive.Handler(nil), critic: g.Critic(),
		seeds: seeds, urlList: g.URLs(), budget: task.Budget, truth: g.Target,
	}, nil
}

// control is the crawl file of one crawl of the demo, as data.
func (d *demo) control(name, ranker, version string, budget uint64, prior string) (*schemas.CrawlControl, error) {
	ranking, err := crawlfile.Rank(ranker)
	if err != nil {
		return nil, err
	}
	return &schemas.CrawlControl{
		Crawl: name, State: schemas.CrawlState_CRAWL_STATE_RUNNING, Focus: []string{d.ground.topic}, Critic: version,
		Budget: &schemas.Budget{Pages: budget}, Policies: ranking.Policies, Mixture: ranking.Mixture, Scope: &schemas.Scope{},
		Politeness: &schemas.Politeness{UserAgent: crawlfile.UserAgentProduct + "/1.0 (+mailto:demo@localhost)"},
		Learning:   &schemas.Learning{DMax: 5, Prior: prior},
	}, nil
}

func (d *demo) crawl(name, ranker, version string, seeds []string, budget uint64, prior string) (*demoRun, error) {
	ctl, err := d.control(name, ranker, version, budget, prior)
	if err != nil {
		return nil, err
	}
	return d.measure(&crawlfile.Crawl{Control: ctl, Seeds: seeds, URLList: d.ground.urlList}, ranker)
}

// measure starts a crawl, follows it to its end and measures it.
func (d *demo) measure(c *crawlfile.Crawl, ranker string) (*demoRun, error) {
	name := c.Control.GetCrawl()
	before := d.stack.cpuTimes()
	began := time.Now()
	if err := startCrawl(d.s, d.config, d.books, c, false); err != nil {
		return nil, err
	}
	st, err := d.follow(name, began)
	if err != nil {
		return nil, err
	}
	seconds := time.Since(began).Seconds()
	if err := d.books.settle(d.s, time.Minute); err != nil {
		return nil, fmt.Errorf("%s has finished, but %w; logs are in %s", name, err, d.stack.logs())
	}
	run := &demoRun{
		Crawl: name, Ranker: ranker, Pages: st.GetPages(), Requests: st.GetRequests(), Seconds: seconds,
		PagesPerSecond: float64(st.GetPages()) / seconds, EndReason: st.GetEndReason(), LatencyMS: st.GetLatencyP50Ms(), LatencyP95MS: st.GetLatencyP95Ms(),
		Outcomes: st.GetOutcomes(), Trained: st.GetTrained(), CPUMSPerPage: make(map[string]float64), LossAt: make(map[string]float64),
	}
	if st.GetPages() > 0 {
		run.Harvest = st.GetRelevanceRaw() / float64(st.GetPages())
		run.Loss = 1 - run.Harvest
		for stage, t := range d.stack.cpuTimes() {
			run.CPUMSPerPage[stage] = float64((t - before[stage]).Microseconds()) / 1000 / float64(st.GetPages())
		}
	}
	return run, d.judge(run)
}

// follow prints a line of progress a second until the crawl has finished.
func (d *demo) follow(name string, began time.Time) (*schemas.CrawlStatus, error) {
	terminal := interactive(d.s.err)
	var lastPages uint64
	last := began
	for n := 0; ; n++ {
		select {
		case <-d.s.Done():
			return nil, d.s.Err()
		case <-time.After(time.Second):
		}
		if err := d.stack.ended(); err != nil {
			return nil, err
		}
		st := d.books.status(name)
		x := stand(name, st)
		now := time.Now()
		rate := float64(x.Pages-lastPages) / now.Sub(last).Seconds()
		last, lastPages = now, x.Pages
		finished := ended(st)
		if terminal || n%5 == 0 || finished {
			line := fmt.Sprintf("%4.0fs  pages %5d  %4.0f/s  harvest %.3f  loss %.3f  frontier %6d  in flight %3d  lag %s",
				now.Sub(began).Seconds(), x.Pages, rate, x.Harvest, x.Loss, x.Queued, x.InFlight, d.lag())
			if terminal && !finished {
				d.s.status("%s", line)
			} else {
				d.say("%s", line)
			}
		}
		if finished {
			return st, nil
		}
	}
}

// lag is the number of records that wait before each stage, as one word each.
func (d *demo) lag() string {
	ctx, cancel := context.WithTimeout(d.s, 500*time.Millisecond)
	defer cancel()
	var b strings.Builder
	for _, stage := range stageNames {
		n, err := d.books.client.Lag(ctx, stage, stageInputs[stage]...)
		if err != nil {
			return "?"
		}
		if n > 0 {
			fmt.Fprintf(&b, "%s %d ", stage, n)
		}
	}
	if b.Len() == 0 {
		return "none"
	}
	return strings.TrimSpace(b.String())
}

// newestModel is the newest apprentice model that a crawl published.
func (d *demo) newestModel(crawl string) (string, error) {
	m := d.books.apprentice(crawl)
	if m == nil {
		return "", fmt.Errorf("the crawl %s has published no model", crawl)
	}
	store, err := objects.Open(d.config.S3)
	if err != nil {
		return "", err
	}
	data, err := store.Get(d.s, m.GetObject())
	if err != nil {
		return "", err
	}
	model, err := apprentice.Unmarshal(data)
	if err != nil {
		return "", fmt.Errorf("model %s: %w", m.GetVersion(), err)
	}
	if !model.Trained() {
		return "", fmt.Errorf("model %s has learnt nothing", m.GetVersion())
	}
	return m.GetVersion(), nil
}

func (d *demo) peakMemory() map[string]int64 {
	out := make(map[string]int64)
	for _, p := range d.stack.processes.List {
		if n, err := peakMemory(p.PID); err == nil {
			out[p.Name] = n
		}
	}
	return out
}
