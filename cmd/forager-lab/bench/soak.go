package bench

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"forager/cmd/forager/demo"
	"forager/cmd/forager/deploy"
	"forager/cmd/internal/cli"
	"forager/cmd/internal/crawls"
	"forager/cmd/internal/models"
	"forager/infra/simweb"
	"forager/internal/crawl/crawlfile"
	"forager/internal/frontier"
	"forager/internal/operate"
	"forager/schemas"
)

// SoakCommand is the command "forager-lab soak".
type SoakCommand struct {
	Out    string   `help:"Folder of the run: configuration, data, logs, soak.json." default:"build/soak" type:"path"`
	Bin    string   `help:"Folder of the programs; by default the folder of this one." type:"path"`
	Pages  uint64   `help:"Pages to crawl." default:"200000"`
	Cores  int      `help:"Processors that all processes share, the web server too; 0 = all there are." default:"0"`
	Ranker string   `help:"Ranker to crawl with." default:"apprentice"`
	Config string   `name:"from" help:"Pipeline file to start from." default:"pipeline.yaml" type:"path"`
	Set    []string `help:"Setting of the pipeline file to have another value; may be given more than once." placeholder:"NAME=VALUE" sep:"none"`
}

func (c *SoakCommand) Help() string {
	return `A long crawl of a synthetic web with the embedded parts and every stage as processes. Each second the
resident memory, open files, goroutines and CPU time of every process are noted; for each tenth of the pages the
table gives the largest memory and the means of the others, and the last tenth over the first. It is followed by the
largest memory ever, and its bound: memory_bytes of the pipeline file. Rate and CPU are given apart for the seconds in
which entries of the frontier were scored again under a new model, and for the others. Disk is the size of the
folders at the end of each tenth. Interrupted, it reports the tenths of what it has crawled. Records of
page.fetched, page.parsed and page.judged are kept for five minutes.

As shipped, the caches of the frontier are full after some 40,000 pages, and until then prioritize takes more from
tenth to tenth. Smaller ones are full within the first tenth:

  forager-lab soak
  forager-lab soak --pages 20000 --cores 2
  forager-lab soak --set stages.prioritize.frontier_bytes=33554432 --set stages.prioritize.cache_bytes=16777216`
}

// SoakSample is all measurements of one moment.
type SoakSample struct {
	Seconds float64                `json:"seconds"` // since the crawl began
	Pages   uint64                 `json:"pages"`
	Latency uint32                 `json:"latency_ms"`
	Queued  uint64                 `json:"queued"`
	Passing bool                   `json:"passing"` // entries are being scored again under a new model
	By      map[string]ProcessLoad `json:"processes"`
}

// ProcessLoad is the load of one process.
type ProcessLoad struct {
	Memory     int64   `json:"memory"` // resident, bytes
	Files      int     `json:"files"`  // open
	Goroutines int     `json:"goroutines"`
	CPU        float64 `json:"cpu_seconds"` // user and system, since it began
}

// SoakReport is the result of a soak: samples in the course of the crawl.
type SoakReport struct {
	Pages     uint64  `json:"pages"`
	Seconds   float64 `json:"seconds"`
	EndReason string  `json:"end_reason"`
	MemoryPeaks
	Samples []SoakSample `json:"samples"`
	Disk    []SoakDisk   `json:"disk"`
}

// SoakDisk is the size of the folders that grow, bytes, after a number of pages.
type SoakDisk struct {
	Pages uint64           `json:"pages"`
	Sizes map[string]int64 `json:"sizes"`
}

func (c *SoakCommand) Run(s *cli.Session) (err error) {
	more, err := c.settings()
	if err != nil {
		return err
	}
	config := simweb.Default(1)
	config.Pages = max(config.Pages, 10*c.Pages)
	web, err := simweb.New(config)
	if err != nil {
		return err
	}
	d := &demo.Demo{Flags: &demo.Flags{Out: c.Out, Bin: c.Bin, Config: c.Config}, S: s}
	if err := d.Clear(); err != nil {
		return err
	}
	if d.Environment, err = demo.SimEnvironment(s, c.Pages); err != nil { // its critic has the vocabulary of every web
		return err
	}
	d.Environment.Seeds = web.Examples(d.Environment.Topic, 5)
	b := &bench{Demo: d, command: &Command{Cores: c.Cores}, web: benchWeb{serve: []string{"serve-simweb", "--pages", fmt.Sprint(config.Pages)}}, more: more}
	defer func() { err = errors.Join(err, d.Stop()) }()
	if err := onCores(c.Cores, b.start); err != nil {
		return err
	}
	defer d.Books.Close()
	report, err := c.crawl(b)
	if err != nil {
		return err
	}
	if err := demo.WriteReport(c.Out, "soak.json", report); err != nil {
		return err
	}
	return s.Print(report, func(w io.Writer) { PrintSoak(w, report) })
}

// settings returns those of the pipeline file that differ from the default.
func (c *SoakCommand) settings() (list []demo.Setting, err error) {
	for _, topic := range []string{schemas.TopicPageFetched, schemas.TopicPageParsed, schemas.TopicPageJudged} {
		list = append(list, demo.Setting{Value: "5m", Path: []string{"topics", topic, "retention"}})
	}
	for _, text := range c.Set {
		x, err := demo.SettingOf(text)
		if err != nil {
			return nil, cli.Usagef("--set %s: %w", text, err)
		}
		list = append(list, x)
	}
	return list, nil
}

// crawl runs the crawl and takes the samples.
func (c *SoakCommand) crawl(b *bench) (*SoakReport, error) {
	published, err := models.PublishCritic(b.S, b.Config, b.Books, "soak", b.Environment.Critic, nil)
	if err != nil {
		return nil, err
	}
	ctl, err := b.Control("soak", c.Ranker, published.GetVersion(), c.Pages, "")
	if err != nil {
		return nil, err
	}
	if err := crawls.StartCrawl(b.S, b.Config, b.Books, &crawlfile.Crawl{Control: ctl, Seeds: b.Environment.Seeds}, false); err != nil {
		return nil, err
	}
	r, began := &SoakReport{}, time.Now()
	for tick := time.NewTicker(time.Second); ; {
		select {
		case <-b.S.Done():
			if len(r.Samples) == 0 {
				return nil, b.S.Err()
			}
			r.end(b, "interrupted")
			return r, nil
		case <-tick.C:
		}
		if err := b.Stack.Ended(); err != nil {
			return nil, err
		}
		st := b.Books.Status("soak")
		x, err := b.sample(st)
		if err != nil {
			return nil, err
		}
		x.Seconds = time.Since(began).Seconds()
		r.Samples = append(r.Samples, x)
		if len(r.Samples)%20 == 0 {
			b.Printf("%5.0fs  pages %7d  frontier %8d  loop %d ms  lag %s", x.Seconds, x.Pages, x.Queued, x.Latency, b.Lag())
		}
		if x.Pages*50 >= c.Pages*uint64(len(r.Disk)+1) {
			r.Disk = append(r.Disk, SoakDisk{x.Pages, b.disk()})
		}
		if operate.Ended(st) {
			r.end(b, st.GetEndReason())
			return r, nil
		}
	}
}

// end completes the report with the last measurements.
func (r *SoakReport) end(b *bench, reason string) {
	last := r.Samples[len(r.Samples)-1]
	r.Pages, r.Seconds, r.EndReason = last.Pages, last.Seconds, reason
	r.Disk = append(r.Disk, SoakDisk{last.Pages, b.disk()})
	r.MemoryPeaks = b.memoryPeaks()
	for name := range r.PeakMemory { // the kernel's peak is an estimate that can be below a value that was read
		for _, x := range r.Samples {
			r.PeakMemory[name] = max(r.PeakMemory[name], x.By[deploy.StageOf(name)].Memory)
		}
	}
}

// sample measures every process.
func (b *bench) sample(st *schemas.CrawlStatus) (SoakSample, error) {
	x := SoakSample{
		Pages: st.GetPages(), Latency: st.GetLatencyP50Ms(), Queued: st.GetQueued(),
		Passing: strings.HasPrefix(st.GetActivity(), frontier.Rescoring), By: make(map[string]ProcessLoad),
	}
	for _, p := range b.Stack.Processes.List {
		var load ProcessLoad
		var err error
		if load.Memory, err = deploy.Memory(p.PID, "VmRSS"); err != nil {
			return x, err
		}
		files, err := os.ReadDir("/proc/" + strconv.Itoa(p.PID) + "/fd")
		if err != nil {
			return x, err
		}
		load.Files = len(files)
		cpu, err := deploy.CPUTime(p.PID)
		if err != nil {
			return x, err
		}
		load.CPU = cpu.Seconds()
		if address := b.debug[p.Name]; address != "" {
			if load.Goroutines, err = goroutines(address); err != nil {
				return x, err
			}
		}
		x.By[deploy.StageOf(p.Name)] = load
	}
	return x, nil
}

// goroutines reads their number from a process's metrics.
func goroutines(address string) (int, error) {
	resp, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		if value, ok := strings.CutPrefix(lines.Text(), "go_goroutines "); ok {
			return strconv.Atoi(value)
		}
	}
	if err := lines.Err(); err != nil {
		return 0, fmt.Errorf("metrics of %s: %w", address, err)
	}
	return 0, fmt.Errorf("metrics of %s name no go_goroutines", address)
}
