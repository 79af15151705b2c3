package demo

import (
	"cmp"
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

	datacmd "forager/cmd/forager/data"
	"forager/cmd/forager/deploy"
	"forager/cmd/internal/cli"
	"forager/cmd/internal/crawls"
	"forager/cmd/internal/models"
	"forager/infra/simweb"
	"forager/internal/audit"
	"forager/internal/classify/critic"
	"forager/internal/crawl/crawlfile"
	"forager/internal/operate"
	"forager/internal/page/dom"
	"forager/internal/platform/freeport"
	"forager/internal/platform/objects"
	"forager/internal/platform/pipeline"
	"forager/internal/rank/apprentice"
	"forager/schemas"
)

// Command is the command "forager demo".
type Command struct {
	Flags
	Pages uint64 `help:"Budget of each crawl, pages." default:"3000"`
	Web   string `hidden:""`
	Task  string `hidden:""`
	Tasks string `hidden:""`
}

// Flags are what a demo of any web is given.
type Flags struct {
	Out    string `help:"Folder of the demo: configuration, data, logs, report." default:"build/demo" type:"path"`
	Bin    string `help:"Folder of the programs; by default the folder of this one." type:"path"`
	Keep   bool   `help:"Leave everything running at the end."`
	Config string `name:"from" help:"Pipeline file to start from." default:"pipeline.yaml" type:"path"`
}

func (c *Command) Help() string {
	return `Starts the embedded parts and every stage, crawls a synthetic web twice (soft focus, then the apprentice),
prints the report of both side by side and verifies each crawl. The apprentice was trained by a crawl of
another synthetic web. forager-lab demo does the same on a frozen web.`
}

// Run is one crawl of the demo in report.json.
type Run struct {
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

// Report is the result of a demo.
type Report struct {
	Web    string `json:"web"`
	Topic  string `json:"topic"`
	Runs   []Run  `json:"runs"`
	Verify struct {
		OK     bool            `json:"ok"`
		Crawls []*audit.Result `json:"crawls"`
	} `json:"verify"`
	// PeakMemory by process, bytes.
	PeakMemory map[string]int64 `json:"peak_memory"`
}

// Environment is the environment of a demo: a web served by a proxy, a critic and the truth.
type Environment struct {
	Name, Topic string
	Handler     http.Handler
	Critic      *critic.Model
	Seeds       []string
	URLList     []string
	Budget      uint64
	// Truth reports whether a page is about the topic.
	Truth func(url string) bool
	// training is a web to train on first; nil = train during the crawl.
	training *trainingWeb
}

type trainingWeb struct {
	seeds  []string
	budget uint64
}

func (c *Command) Run(s *cli.Session) error {
	if c.Web != "" || c.Task != "" || c.Tasks != "" {
		return cli.Usagef("the demo of a frozen web is a command of forager-lab: forager-lab demo --web %s --task TASK", cmp.Or(c.Web, "FILE"))
	}
	return c.RunOn(s, func() (*Environment, error) { return SimEnvironment(s, c.Pages) })
}

// RunOn runs the demo on what open returns.
func (f *Flags) RunOn(s *cli.Session, open func() (*Environment, error)) error {
	d := &Demo{Flags: f, S: s}
	err := d.run(open)
	if f.Keep {
		if err == nil {
			d.Printf("watch the crawls at %s", deploy.MonitorAddress(d.Config))
		}
		return err
	}
	return errors.Join(err, d.Stop())
}

// Demo is one run of the command.
type Demo struct {
	Flags       *Flags
	S           *cli.Session
	Stack       *deploy.Stack
	Config      *pipeline.Config
	Books       *cli.Topics
	Environment *Environment
}

// Stop ends what was started, also after an interruption.
func (d *Demo) Stop() error {
	if d.Stack == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(d.S), time.Minute)
	defer cancel()
	wait := 30 * time.Second
	if d.S.Err() != nil {
		wait = cli.Grace / 4 // stages and parts each; the next run removes their data
	}
	_, err := d.Stack.Stop(ctx, wait)
	return err
}

// WriteReport writes the document of a run into its folder.
func WriteReport(dir, name string, report any) error {
	b, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, name), append(b, '\n'), 0o644)
}

func (d *Demo) Printf(format string, args ...any) { fmt.Fprintf(d.S.Stderr, format+"\n", args...) }

func (d *Demo) run(open func() (*Environment, error)) error {
	began := time.Now()
	if err := d.prepare(open); err != nil {
		return err
	}
	defer d.Books.Close()
	d.Printf("ready after %.0f s: Kafka, S3, ClickHouse and %d stages run; logs in %s",
		time.Since(began).Seconds(), len(cli.StageNames), d.Stack.Logs())

	published, err := models.PublishCritic(d.S, d.Config, d.Books, "demo", d.Environment.Critic, nil)
	if err != nil {
		return err
	}
	var prior string
	var names []string
	if t := d.Environment.training; t != nil {
		d.Printf("\nteaching: the apprentice learns on another synthetic web, topic %s, %d pages", d.Environment.Topic, t.budget)
		if _, err := d.crawl("teacher", "apprentice", published.GetVersion(), t.seeds, t.budget, ""); err != nil {
			return err
		}
		names = append(names, "teacher")
		if prior, err = d.newestModel("teacher"); err != nil {
			return err
		}
	}
	report := &Report{Web: d.Environment.Name, Topic: d.Environment.Topic}
	for _, ranker := range []string{"soft-focus", "apprentice"} {
		d.Printf("\ncrawling %s with %s: topic %s, %d pages", d.Environment.Name, ranker, d.Environment.Topic, d.Environment.Budget)
		p := ""
		if ranker == "apprentice" {
			p = prior
		}
		run, err := d.crawl(ranker, ranker, published.GetVersion(), d.Environment.Seeds, d.Environment.Budget, p)
		if err != nil {
			return err
		}
		report.Runs = append(report.Runs, *run)
		names = append(names, ranker)
	}
	report.PeakMemory = d.PeakMemory()
	d.Printf("")
	report.Verify.OK = true
	for _, n := range names {
		result, err := datacmd.AuditCrawl(d.S, d.Config, d.Books, n)
		if err != nil {
			return fmt.Errorf("verify %s: %w", n, err)
		}
		report.Verify.Crawls = append(report.Verify.Crawls, result)
		report.Verify.OK = report.Verify.OK && result.OK
	}
	if err := WriteReport(d.Flags.Out, "report.json", report); err != nil {
		return err
	}
	if err := d.S.Print(report, func(w io.Writer) { printDemo(w, report, d.Flags, deploy.MonitorAddress(d.Config)) }); err != nil {
		return err
	}
	if !report.Verify.OK {
		return errors.New("verify found differences")
	}
	return nil
}

// prepare starts the web, the embedded parts and the stages in an empty folder.
func (d *Demo) prepare(open func() (*Environment, error)) error {
	if err := d.Clear(); err != nil {
		return err
	}
	var err error
	if d.Environment, err = open(); err != nil {
		return err
	}
	proxy, err := d.serve(d.Environment.Handler)
	if err != nil {
		return err
	}
	return d.Start(proxy)
}

// Start starts the embedded parts and the stages, on free ports, for a web served by a proxy.
func (d *Demo) Start(proxy string, more ...Setting) error {
	c := d.Flags
	path, err := WriteDemoPipeline(c.Config, c.Out, proxy, more...)
	if err != nil {
		return err
	}
	if d.Config, err = pipeline.Load(path); err != nil {
		return err
	}
	if d.Stack, err = deploy.NewStack(path, d.Config, c.Bin); err != nil {
		return err
	}
	if !c.Keep {
		d.Stack.Processes.Ending = d.S
	}
	if _, err := d.Stack.StartParts(d.S, time.Minute); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(d.S, time.Minute)
	defer cancel()
	if err := deploy.SetUp(ctx, d.Config, d.S.Log); err != nil {
		return err
	}
	if err := d.Stack.StartStages(cli.Programs); err != nil {
		return err
	}
	d.Books, err = cli.OpenTopics(d.S, d.S, d.Config)
	return err
}

// Clear removes the data of an earlier demo from the folder, after ending its processes.
func (d *Demo) Clear() error {
	data := filepath.Join(d.Flags.Out, "data")
	p, err := deploy.OpenProcesses(data)
	if err != nil {
		return err
	}
	old := &deploy.Stack{Config: &pipeline.Config{Data: data}, Processes: p}
	if _, err := old.Stop(d.S, 10*time.Second); err != nil {
		return err
	}
	if err := os.RemoveAll(data); err != nil {
		return err
	}
	return os.MkdirAll(d.Flags.Out, 0o755)
}

// serve starts the web in this process, on a free loopback port.
func (d *Demo) serve(h http.Handler) (proxy string, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	srv := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(d.S, func() { srv.Close() })
	go srv.Serve(l)
	return "http://" + l.Addr().String(), nil
}

// Setting is one value of a pipeline file.
type Setting struct {
	Value any
	Path  []string
}

// SettingOf reads NAME=VALUE, as "stages.fetch.concurrency=8"; the value is YAML.
func SettingOf(text string) (Setting, error) {
	name, value, ok := strings.Cut(text, "=")
	if !ok || name == "" {
		return Setting{}, errors.New("it must be a setting's name, = and its value, as stages.fetch.concurrency=8")
	}
	x := Setting{Path: strings.Split(name, ".")}
	return x, yaml.Unmarshal([]byte(value), &x.Value)
}

// WriteDemoPipeline writes a pipeline file with free ports, the demo's folder, its proxy and
// more settings.
func WriteDemoPipeline(from, out, proxy string, more ...Setting) (string, error) {
	b, err := os.ReadFile(from)
	if err != nil {
		return "", err
	}
	var root map[string]any
	if err := yaml.Unmarshal(b, &root); err != nil {
		return "", fmt.Errorf("%s: %w", from, err)
	}
	ports, err := freeport.Addresses(4)
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
	set(ports[3], "stages", "monitor", "address")
	for _, x := range more {
		set(x.Value, x.Path...)
	}
	path := filepath.Join(out, "pipeline.yaml")
	if b, err = yaml.Marshal(root); err != nil {
		return "", err
	}
	return path, os.WriteFile(path, b, 0o644)
}

// SimEnvironment is a synthetic web: the critic is trained on pages of a third web of the same language, the apprentice on a second.
func SimEnvironment(ctx context.Context, pages uint64) (*Environment, error) {
	const crawled, taught, examples = 1, 2, 3
	webs := make(map[uint64]*simweb.Web)
	for _, seed := range []uint64{crawled, taught, examples} {
		w, err := simweb.New(simweb.Default(seed))
		if err != nil {
			return nil, err
		}
		webs[seed] = w
	}
	model, err := SimCritic(ctx, webs[examples])
	if err != nil {
		return nil, err
	}
	topic := webs[crawled].Topics()[5]
	return &Environment{
		Name: "synthetic web of 100,000 pages", Topic: topic, Handler: simweb.Handler(webs[crawled], webs[taught]), Critic: model,
		Seeds: webs[crawled].Examples(topic, 5), Budget: pages,
		Truth: func(url string) bool {
			t := webs[crawled].Truth(url)
			return t.Exists && !t.Hub && t.Topic == topic
		},
		training: &trainingWeb{seeds: webs[taught].Examples(topic, 5), budget: max(300, pages/2)},
	}, nil
}

// SimCritic is a critic of the topics of a synthetic web, and of pages about none of them, trained on 60 pages of each.
func SimCritic(ctx context.Context, w *simweb.Web) (*critic.Model, error) {
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
	model, _, err := critic.Train(ctx, &set, critic.Settings{Exact: true, Cap: 300, Provenance: map[string]string{"examples": from}})
	return model, err
}

// Control is the crawl file of one crawl of the demo, as data.
func (d *Demo) Control(name, ranker, version string, budget uint64, prior string) (*schemas.CrawlControl, error) {
	ranking, err := crawlfile.Rank(ranker)
	if err != nil {
		return nil, err
	}
	return &schemas.CrawlControl{
		Crawl: name, State: schemas.CrawlState_CRAWL_STATE_RUNNING, Focus: []string{d.Environment.Topic}, Critic: version,
		Budget: &schemas.Budget{Pages: budget}, Policies: ranking.Policies, Mixture: ranking.Mixture, Scope: &schemas.Scope{},
		Politeness: &schemas.Politeness{UserAgent: crawlfile.UserAgentProduct + "/1.0 (+mailto:demo@localhost)"},
		Learning:   &schemas.Learning{DMax: 5, Prior: prior},
	}, nil
}

func (d *Demo) crawl(name, ranker, version string, seeds []string, budget uint64, prior string) (*Run, error) {
	ctl, err := d.Control(name, ranker, version, budget, prior)
	if err != nil {
		return nil, err
	}
	return d.Measure(&crawlfile.Crawl{Control: ctl, Seeds: seeds, URLList: d.Environment.URLList}, ranker)
}

// Measure starts a crawl, follows it to its end and measures it.
func (d *Demo) Measure(c *crawlfile.Crawl, ranker string) (*Run, error) {
	name := c.Control.GetCrawl()
	before := d.Stack.CPUTimes()
	began := time.Now()
	if err := crawls.StartCrawl(d.S, d.Config, d.Books, c, false); err != nil {
		return nil, err
	}
	st, err := d.follow(name, began)
	if err != nil {
		return nil, err
	}
	seconds := time.Since(began).Seconds()
	if err := crawls.Settle(d.S, d.Books, time.Minute); err != nil {
		return nil, fmt.Errorf("%s has finished, but %w; logs are in %s", name, err, d.Stack.Logs())
	}
	run := &Run{
		Crawl: name, Ranker: ranker, Pages: st.GetPages(), Requests: st.GetRequests(), Seconds: seconds,
		PagesPerSecond: float64(st.GetPages()) / seconds, EndReason: st.GetEndReason(), LatencyMS: st.GetLatencyP50Ms(), LatencyP95MS: st.GetLatencyP95Ms(),
		Outcomes: st.GetOutcomes(), Trained: st.GetTrained(), CPUMSPerPage: make(map[string]float64), LossAt: make(map[string]float64),
	}
	if st.GetPages() > 0 {
		run.Harvest = st.GetRelevanceRaw() / float64(st.GetPages())
		run.Loss = 1 - run.Harvest
		for stage, t := range d.Stack.CPUTimes() {
			run.CPUMSPerPage[stage] = float64((t - before[stage]).Microseconds()) / 1000 / float64(st.GetPages())
		}
	}
	return run, d.judge(run)
}

// follow prints a line of progress a second until the crawl has finished.
func (d *Demo) follow(name string, began time.Time) (*schemas.CrawlStatus, error) {
	terminal := cli.Interactive(d.S.Stderr)
	var lastPages uint64
	last := began
	for n := 0; ; n++ {
		select {
		case <-d.S.Done():
			return nil, d.S.Err()
		case <-time.After(time.Second):
		}
		if err := d.Stack.Ended(); err != nil {
			return nil, err
		}
		st := d.Books.Status(name)
		x := crawls.Summarize(d.Books, name, st, nil)
		now := time.Now()
		rate := float64(x.Pages-lastPages) / now.Sub(last).Seconds()
		last, lastPages = now, x.Pages
		finished := operate.Ended(st)
		if terminal || n%5 == 0 || finished {
			line := fmt.Sprintf("%4.0fs  pages %5d  %4.0f/s  harvest %.3f  loss %.3f  frontier %6d  in flight %3d  lag %s",
				now.Sub(began).Seconds(), x.Pages, rate, x.Harvest, x.Loss, x.Queued, x.InFlight, d.Lag())
			if terminal && !finished {
				d.S.Status("%s", line)
			} else {
				d.Printf("%s", line)
			}
		}
		if finished {
			return st, nil
		}
	}
}

// Lag is the number of records that wait before each stage, as one word each.
func (d *Demo) Lag() string {
	ctx, cancel := context.WithTimeout(d.S, 500*time.Millisecond)
	defer cancel()
	var b strings.Builder
	for _, stage := range cli.StageNames {
		n, err := d.Books.Client.Lag(ctx, stage, cli.StageInputs[stage]...)
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
func (d *Demo) newestModel(crawl string) (string, error) {
	m := d.Books.Apprentice(crawl)
	if m == nil {
		return "", fmt.Errorf("the crawl %s has published no model", crawl)
	}
	store, err := objects.Open(d.Config.S3)
	if err != nil {
		return "", err
	}
	data, err := store.Get(d.S, m.GetObject())
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

func (d *Demo) PeakMemory() map[string]int64 {
	out := make(map[string]int64)
	for _, p := range d.Stack.Processes.List {
		if n, err := deploy.PeakMemory(p.PID); err == nil {
			out[p.Name] = n
		}
	}
	return out
}
