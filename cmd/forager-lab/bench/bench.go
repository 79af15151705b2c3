package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	labdemo "forager/cmd/forager-lab/demo"
	"forager/cmd/forager/demo"
	"forager/cmd/forager/deploy"
	"forager/cmd/internal/cli"
	"forager/cmd/internal/models"
	"forager/internal/crawl/crawlfile"
	"forager/internal/measure/sizing"
	"forager/internal/platform/freeport"
	"forager/internal/stream"
	"forager/schemas"
)

// Command is the command "forager-lab bench".
type Command struct {
	Out      string   `help:"Folder of the bench: configuration, data, logs, bench.json." default:"build/bench" type:"path"`
	Bin      string   `help:"Folder of the programs; by default the folder of this one." type:"path"`
	Pages    uint64   `help:"Budget of each crawl on the synthetic web, pages." default:"4000"`
	Cores    int      `help:"Processors that all processes share, the web server too; 0 = all there are." default:"2"`
	Rankers  []string `help:"Rankers to crawl with; the first is that of a crawl file that names none." default:"link-value,soft-focus,apprentice"`
	Crawls   []string `help:"Crawls to make: simweb and, with --web, its name and its name with -404; by default all of them."`
	Window   uint32   `help:"Requests under way at a time; 0 = found by trying, as in any crawl."`
	Web      string   `help:"Crawl this frozen web (WARC), too." type:"existingfile"`
	Tasks    string   `help:"Task file; by default tasks.json.gz in the folder of the web." type:"path"`
	Task     string   `help:"Task of the task file." default:"webkb:course/cornell"`
	Requests uint64   `help:"Budget of the crawl of the frozen web with its dead links, requests; 0 = 6.5 for each page of the task's budget."`
	Profiles bool     `help:"Write CPU and allocation profiles of every process to OUT/profiles."`
	Config   string   `name:"from" help:"Pipeline file to start from." default:"pipeline.yaml" type:"path"`
}

func (c *Command) Help() string {
	return `Crawls a synthetic web at full speed through every stage: the embedded parts, all stages and the web
server are processes that share a few processors, and everything is stored as in any crawl. With --web
also a frozen web, twice: with its list of URLs as the scope, and without it, so that links to pages
that are not in the file are requested and answered with 404. Afterwards the same URLs are fetched and
parsed by net/http and html.Parse alone, on the same processors: the floor.

CPU is user and system time of each process from the first request until every stage has read all
records, over the pages delivered. Latency is that of the loop, from a request to its verdict: at
full speed, and idle with one request under way. Memory is the largest resident size of a process.

  forager-lab bench
  forager-lab bench --web webkb.warc.gz --profiles
  forager-lab bench --cores 4 --pages 20000 --rankers soft-focus --crawls simweb
  forager-lab bench --web webkb.warc.gz --rankers soft-focus --crawls webkb-404`
}

// Run is one crawl of the bench in bench.json.
type Run struct {
	Web string `json:"web"`
	// Latency and CPU time are those at full speed.
	demo.Run
	// IdleLatencyMS is the median of the loop's latency when idle, milliseconds.
	IdleLatencyMS uint32 `json:"idle_latency_ms"`
	// Sum of the CPU time of all processes.
	Sum   float64      `json:"cpu_ms_per_page_sum"`
	Floor FloorFigures `json:"floor"`
	// Ratio is Sum to the floor with html.Parse.
	Ratio float64 `json:"ratio_to_floor"`
	// Crawled is what docs/sizing.md computes from, Stored the bytes that the crawl has added.
	Crawled sizing.Crawl     `json:"crawled"`
	Stored  map[string]int64 `json:"stored"`
	// Crawls of one web follow one another, so later peaks include earlier ones.
	MemoryPeaks
}

// Report is the result of a bench.
type Report struct {
	Cores int    `json:"cores"`
	Go    string `json:"go"`
	Runs  []Run  `json:"runs"`
}

// benchWeb is a web of the bench with its crawls; serve is the command line of its server.
type benchWeb struct {
	name  string
	env   func() (*demo.Environment, error)
	serve []string
	// crawls by the suffix of their names; budgets, and whether dead links are requested.
	crawls []benchCrawl
}

type benchCrawl struct {
	name   string
	budget func(g *demo.Environment) *schemas.Budget
	// dead: there is no URL list, so links to URLs that the web does not have are requested.
	dead bool
}

func pagesBudget(g *demo.Environment) *schemas.Budget { return &schemas.Budget{Pages: g.Budget} }

// requestsPerPage of webkb with dead links: two of three links are dead.
const requestsPerPage = 6.5

func (c *Command) webs(ctx context.Context) []benchWeb {
	list := []benchWeb{{
		name: "simweb", env: func() (*demo.Environment, error) { return demo.SimEnvironment(ctx, c.Pages) },
		serve: []string{"serve-simweb"}, crawls: []benchCrawl{{name: "simweb", budget: pagesBudget}},
	}}
	if c.Web != "" {
		name, _, _ := strings.Cut(filepath.Base(c.Web), ".")
		list = append(list, benchWeb{
			name: name, env: func() (*demo.Environment, error) {
				return (&labdemo.Frozen{Web: c.Web, Tasks: c.Tasks, Task: c.Task}).Open(ctx)
			},
			serve: []string{"serve-web", c.Web},
			crawls: []benchCrawl{{name: name, budget: pagesBudget}, {name: name + "-404", dead: true, budget: func(g *demo.Environment) *schemas.Budget {
				if c.Requests > 0 {
					return &schemas.Budget{Requests: c.Requests}
				}
				return &schemas.Budget{Requests: uint64(requestsPerPage * float64(g.Budget))}
			}}},
		})
	}
	return list
}

// chosen returns the webs with the crawls that --crawls names.
func (c *Command) chosen(ctx context.Context) ([]benchWeb, error) {
	webs := c.webs(ctx)
	if len(c.Crawls) == 0 {
		return webs, nil
	}
	known := make(map[string]bool)
	for i := range webs {
		for _, crawl := range webs[i].crawls {
			known[crawl.name] = true
		}
		webs[i].crawls = slices.DeleteFunc(webs[i].crawls, func(crawl benchCrawl) bool { return !slices.Contains(c.Crawls, crawl.name) })
	}
	for _, name := range c.Crawls {
		if !known[name] {
			return nil, cli.Usagef("--crawls %s: there are %s", name, strings.Join(slices.Sorted(maps.Keys(known)), ", "))
		}
	}
	return slices.DeleteFunc(webs, func(w benchWeb) bool { return len(w.crawls) == 0 }), nil
}

func (c *Command) Run(s *cli.Session) error {
	report := &Report{Cores: c.Cores, Go: runtime.Version()}
	if c.Cores == 0 {
		report.Cores = runtime.NumCPU()
	}
	webs, err := c.chosen(s)
	if err != nil {
		return err
	}
	for _, w := range webs {
		runs, err := c.crawl(s, w)
		if err != nil {
			return fmt.Errorf("bench of %s: %w", w.name, err)
		}
		report.Runs = append(report.Runs, runs...)
	}
	if err := demo.WriteReport(c.Out, "bench.json", report); err != nil {
		return err
	}
	return s.Print(report, func(w io.Writer) { printBench(w, report) })
}

// crawl makes all crawls of one web.
func (c *Command) crawl(s *cli.Session, w benchWeb) (runs []Run, err error) {
	out := filepath.Join(c.Out, w.name)
	d := &demo.Demo{Flags: &demo.Flags{Out: out, Bin: c.Bin, Config: c.Config}, S: s}
	if err := d.Clear(); err != nil {
		return nil, err
	}
	if d.Environment, err = w.env(); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.Stop()) }()
	b := &bench{Demo: d, command: c, web: w}
	if err := onCores(c.Cores, b.start); err != nil {
		return nil, err
	}
	defer d.Books.Close()
	published, err := models.PublishCritic(s, d.Config, d.Books, "bench", d.Environment.Critic, nil)
	if err != nil {
		return nil, err
	}
	for _, crawl := range w.crawls {
		for _, ranker := range c.Rankers {
			d.Printf("\ncrawling %s with %s on %d processors", crawl.name, ranker, c.Cores)
			run, err := b.run(crawl, ranker, published.GetVersion())
			if err != nil {
				return nil, err
			}
			runs = append(runs, *run)
		}
	}
	return runs, nil
}

// program is the program that serves the web.
func (w benchWeb) program() string {
	if w.serve[0] == "serve-web" {
		return "forager"
	}
	return "forager-lab"
}

// bench is the crawls of one web.
type bench struct {
	*demo.Demo
	command *Command
	web     benchWeb
	proxy   string
	// more settings of the pipeline file.
	more []demo.Setting
	// debug are the addresses of the processes' profiles, by name.
	debug map[string]string
}

// start starts the web server, the embedded parts and the stages.
func (b *bench) start() error {
	addresses, err := freeport.Addresses(2 + len(cli.Programs))
	if err != nil {
		return err
	}
	b.proxy = "http://" + addresses[0]
	profiles := b.command.Profiles
	more := append(b.more, demo.Setting{Value: addresses[1], Path: []string{"local", "metrics"}}, demo.Setting{Value: profiles, Path: []string{"local", "profiles"}})
	for i, stage := range cli.Programs {
		more = append(more, demo.Setting{Value: addresses[2+i], Path: []string{"stages", stage, "metrics"}}, demo.Setting{Value: profiles, Path: []string{"stages", stage, "profiles"}})
	}
	if err := b.Demo.Start(b.proxy, more...); err != nil {
		return err
	}
	program := filepath.Join(b.Stack.Bin, b.web.program())
	if err := b.Stack.Processes.Start("web", b.Stack.Logs(), nil, program, append(b.web.serve, "--listen", addresses[0])...); err != nil {
		return err
	}
	if err := b.await("web", addresses[0]); err != nil {
		return err
	}
	b.debug = map[string]string{"local": addresses[1]}
	for i, stage := range cli.Programs {
		for n := 0; ; n++ { // replica n has the port + n
			name := fmt.Sprintf("%s-%d", stage, n)
			if _, ok := b.Stack.Processes.Running(name); !ok && n > 0 {
				break
			}
			if b.debug[name], err = nextPort(addresses[2+i], n); err != nil {
				return err
			}
		}
	}
	for name, address := range b.debug {
		if err := b.await(name, address); err != nil {
			return err
		}
	}
	return nil
}

// nextPort returns an address with the n-th port after its own.
func nextPort(address string, n int) (string, error) {
	a, err := netip.ParseAddrPort(address)
	return netip.AddrPortFrom(a.Addr(), a.Port()+uint16(n)).String(), err
}

// await waits until a process answers at its address.
func (b *bench) await(name, address string) error {
	for end := time.Now().Add(time.Minute); !deploy.Answers(address); time.Sleep(50 * time.Millisecond) {
		if _, ok := b.Stack.Processes.Running(name); !ok || time.Now().After(end) {
			return fmt.Errorf("%s does not answer:\n%s", name, deploy.LastLines(filepath.Join(b.Stack.Logs(), name+".log"), 5))
		}
	}
	return nil
}

// idlePages is the budget of the crawl that measures the loop's latency without other load.
const idlePages = 12

// run makes one crawl, the same crawl with one request at a time, and the floor.
func (b *bench) run(crawl benchCrawl, ranker, critic string) (*Run, error) {
	c, err := b.Control(crawl.name+"-"+ranker, ranker, critic, 0, "")
	if err != nil {
		return nil, err
	}
	c.Budget, c.Window = crawl.budget(b.Environment), b.command.Window
	urls := b.Environment.URLList
	if crawl.dead {
		urls = nil
	}
	before, err := b.stored()
	if err != nil {
		return nil, err
	}
	stop := b.profile(c.GetCrawl())
	m, err := b.Measure(&crawlfile.Crawl{Control: c, Seeds: b.Environment.Seeds, URLList: urls}, ranker)
	stop()
	if err != nil {
		return nil, err
	}
	run := &Run{Web: crawl.name, Run: *m, MemoryPeaks: b.memoryPeaks()}
	for _, x := range run.CPUMSPerPage {
		run.Sum += x
	}
	if run.Stored, err = b.stored(); err != nil {
		return nil, err
	}
	for name, bytes := range before {
		run.Stored[name] -= bytes
	}
	var requested []string
	if run.Crawled, requested, err = b.crawled(c); err != nil {
		return nil, err
	}
	idle := proto.CloneOf(c)
	idle.Crawl, idle.Window, idle.HostWindow, idle.Budget = c.GetCrawl()+"-idle", 1, 1, &schemas.Budget{Pages: idlePages}
	m, err = b.Measure(&crawlfile.Crawl{Control: idle, Seeds: b.Environment.Seeds, URLList: urls}, ranker)
	if err != nil {
		return nil, err
	}
	run.IdleLatencyMS = m.LatencyMS
	if err := onCores(b.command.Cores, func() error {
		run.Floor, err = b.floor(requested)
		return err
	}); err != nil {
		return nil, fmt.Errorf("floor of %s: %w", crawl.name, err)
	}
	if run.Floor.Parse > 0 {
		run.Ratio = run.Sum / run.Floor.Parse
	}
	return run, nil
}

// fetched returns the URLs of a crawl's requests that got a response, whose records it gives to each.
func (b *bench) fetched(crawl string, each func(stream.Record) error) ([]string, error) {
	var urls []string
	n, err := b.Books.Client.Partitions(b.S, schemas.TopicPageFetched)
	if err != nil {
		return nil, err
	}
	for p := range n {
		first, end, err := b.Books.Client.Offsets(b.S, schemas.TopicPageFetched, p)
		if err != nil {
			return nil, err
		}
		err = b.Books.Client.Read(b.S, schemas.TopicPageFetched, p, first, end, func(r stream.Record) error {
			if r.Headers[schemas.HeaderCrawl] == crawl {
				urls = append(urls, r.Headers[schemas.HeaderURL])
				return each(r)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(urls)
	return slices.Compact(urls), nil
}

// profileSeconds is the duration of CPU profiles.
const profileSeconds = 8

// profile starts a CPU profile of every process; the function it returns waits for them and adds profiles of allocations.
func (b *bench) profile(crawl string) (wait func()) {
	if !b.command.Profiles {
		return func() {}
	}
	dir := filepath.Join(b.command.Out, "profiles")
	done := make(chan error, len(b.debug))
	get := func(name, what, file string) error {
		resp, err := http.Get("http://" + b.debug[name] + "/debug/pprof/" + what)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		data, err := io.ReadAll(resp.Body)
		if err != nil {
			return err
		}
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("%s: %s", resp.Status, data)
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, crawl+"-"+name+"."+file), data, 0o644)
	}
	for name := range b.debug {
		go func() { done <- get(name, fmt.Sprintf("profile?seconds=%d", profileSeconds), "cpu.pprof") }()
	}
	return func() {
		var errs []error
		for range b.debug {
			errs = append(errs, <-done)
		}
		for name := range b.debug {
			errs = append(errs, get(name, "allocs", "allocs.pprof"))
		}
		if err := errors.Join(errs...); err != nil {
			b.Printf("profiles of %s: %v", crawl, err)
		}
	}
}
