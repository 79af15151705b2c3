package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"forager/internal/platform/pipeline"
	"forager/schemas"
)

// stageNames are the stages in the order of a page's journey.
var stageNames = []string{
	"fetch", "parse-dom", "critic-score", "feature-extract", "prioritize", "apprentice-train", "distill", "load-clickhouse",
	"archive-parquet",
}

// stageInputs are the topics whose records wait for a stage. Topics that every process reads by itself
// (crawl.control, model.published) are not included. For archive-parquet records wait by design, until they are
// enough for a file: no command waits for it.
var stageInputs = map[string][]string{
	"fetch": {schemas.TopicFetchRequested}, "parse-dom": {schemas.TopicPageFetched},
	"critic-score": {schemas.TopicPageParsed}, "feature-extract": {schemas.TopicPageJudged},
	"prioritize": {schemas.TopicLinkFound}, "apprentice-train": {schemas.TopicLeapSettled},
	"distill": {schemas.TopicLinkFound},
	"load-clickhouse": {
		schemas.TopicPageFetched, schemas.TopicPageJudged, schemas.TopicLinkFound, schemas.TopicLeapSettled,
		schemas.TopicHubRanked,
	},
}

type upCommand struct {
	Bin      string        `help:"Folder of the programs; by default the folder of this one." type:"path"`
	Parts    bool          `help:"Start the embedded parts only, no stages."`
	External bool          `help:"Start no embedded part, whatever the addresses are."`
	Wait     time.Duration `help:"How long to wait for the parts to be ready." default:"60s"`
}

func (c *upCommand) Help() string {
	return `Embedded parts are started for those addresses of the pipeline file that are loopback addresses at
which nobody answers; then topics, bucket and tables are set up and each stage is started as often as
its setting "replicas" says. Logs go to DATA/logs, state to DATA/state. A program that ends by itself is
started again, after a pause that grows from one second to a minute (DATA/logs/supervisor.log; forager doctor
says how often). forager down ends everything.

  forager up                    everything
  forager up --parts            only Kafka, S3 and ClickHouse
  forager up --external         only the stages, on your own servers`
}

func (c *upCommand) Run(s *session) error {
	cfg, err := s.pipeline()
	if err != nil {
		return err
	}
	if text := cfg.S3.Outdated(); text != "" {
		s.log.Warn(text)
	}
	st, err := newStack(s.config, cfg, c.Bin)
	if err != nil {
		return err
	}
	if err := cfg.MakeData(); err != nil {
		return err
	}
	say := func(format string, args ...any) {
		if !s.json {
			fmt.Fprintf(s.out, format+"\n", args...)
		}
	}
	// The list of processes has one writer at a time.
	before, err := readSupervision(cfg.Data)
	if err != nil {
		return err
	}
	if err := stopSupervisor(s, cfg.Data); err != nil {
		return err
	}
	if st.processes, err = openProcesses(cfg.Data); err != nil {
		return err
	}
	if !c.External {
		started, err := st.startParts(s, c.Wait)
		if err != nil {
			return err
		}
		for _, p := range started {
			say("%-12s ready at %s", p.name, p.address)
		}
	}
	if !c.Parts {
		ctx, cancel := context.WithTimeout(s, c.Wait)
		defer cancel()
		if err := setUp(ctx, cfg, s.log); err != nil {
			return fmt.Errorf("set up topics, bucket and tables: %w", err)
		}
		if err := st.startStages(stageNames); err != nil {
			return err
		}
	}
	if err := st.startSupervisor(s); err != nil {
		return err
	}
	return s.print(st.processes, func(w io.Writer) {
		for _, p := range st.processes.List {
			fmt.Fprintf(w, "%-20s process %-8d log %s\n", p.Name, p.PID, p.Log)
			if text := before.of(p.Name); text != "" {
				fmt.Fprintf(w, "%-20s %s\n", "", text)
			}
		}
	})
}

type downCommand struct {
	Wait time.Duration `help:"How long stages may take to finish what they have in hand." default:"30s"`
}

func (c *downCommand) Run(s *session) error {
	cfg, err := s.pipeline()
	if err != nil {
		return err
	}
	st, err := newStack(s.config, cfg, "")
	if err != nil {
		return err
	}
	if err := stopSupervisor(s, cfg.Data); err != nil {
		return err
	}
	if st.processes, err = openProcesses(cfg.Data); err != nil {
		return err
	}
	n := len(st.processes.List)
	killed, err := st.stop(s, c.Wait)
	if err != nil {
		return err
	}
	err = s.print(map[string]any{"stopped": n, "killed": killed}, func(w io.Writer) {
		fmt.Fprintf(w, "stopped %d processes\n", n)
	})
	if err == nil && len(killed) > 0 {
		return fmt.Errorf("%s did not end within %s and had to be killed; nothing is lost, the next start takes up their work",
			strings.Join(killed, ", "), c.Wait)
	}
	return err
}

// stack is all programs of one pipeline file on this machine.
type stack struct {
	configPath string
	config     *pipeline.Config
	bin        string
	processes  *processes
	// env is added to the environment of every stage that is started (failpoints in tests).
	env []string
}

func newStack(path string, cfg *pipeline.Config, bin string) (*stack, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if bin == "" {
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		bin = filepath.Dir(self)
	}
	p, err := openProcesses(cfg.Data)
	if err != nil {
		return nil, err
	}
	return &stack{configPath: abs, config: cfg, bin: bin, processes: p}, nil
}

func (s *stack) logs() string { return filepath.Join(s.config.Data, "logs") }

// part is one of the servers that infra/local can embed.
type part struct {
	name, address string // "kafka", host:port
}

// parts are the servers of the configuration.
func parts(cfg *pipeline.Config) ([]part, error) {
	list := []part{{"kafka", cfg.Kafka.Brokers[0]}}
	for _, p := range []struct{ name, raw string }{{"s3", cfg.S3.Endpoint}, {"clickhouse", cfg.ClickHouse.URL}} {
		u, err := url.Parse(p.raw)
		if err != nil {
			return nil, fmt.Errorf("address of %s: %w", p.name, err)
		}
		host := u.Host
		if u.Port() == "" {
			host = net.JoinHostPort(u.Hostname(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
		}
		list = append(list, part{p.name, host})
	}
	return list, nil
}

func answers(address string) bool {
	c, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		return false
	}
	c.Close()
	return true
}

func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	return err == nil && pipeline.Loopback(host)
}

// startParts starts the embedded servers that are needed and waits until they respond. It returns those it started.
func (s *stack) startParts(ctx context.Context, wait time.Duration) ([]part, error) {
	all, err := parts(s.config)
	if err != nil {
		return nil, err
	}
	var need []part
	var names []string
	for _, p := range all {
		if loopback(p.address) && !answers(p.address) {
			need = append(need, p)
			names = append(names, p.name)
		}
	}
	if len(need) == 0 {
		return nil, nil
	}
	if x, ok := s.processes.running("local"); ok {
		return nil, fmt.Errorf("%s is not answering, though the embedded parts run (process %d); see %s, or forager down first",
			need[0].name, x.PID, x.Log)
	}
	err = s.processes.start("local", s.logs(), nil, filepath.Join(s.bin, "local"),
		"-config", s.configPath, "-parts", strings.Join(names, ","))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	for _, p := range need {
		for !s.ready(ctx, p) {
			x, ok := s.processes.running("local")
			if !ok {
				return nil, fmt.Errorf("the embedded parts ended:\n%s", lastLines(filepath.Join(s.logs(), "local.log"), 10))
			}
			select {
			case <-ctx.Done():
				return nil, fmt.Errorf("%s at %s is not ready after %s; see %s", p.name, p.address, wait, x.Log)
			case <-time.After(50 * time.Millisecond):
			}
		}
	}
	return need, nil
}

// ready sends a part a request that succeeds only if it works.
func (s *stack) ready(ctx context.Context, p part) bool {
	if p.name != "clickhouse" {
		return answers(p.address)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(s.config.ClickHouse.URL, "/")+"/ping", nil)
	if err != nil {
		return false
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// startStages starts the named stages, each with its number of replicas; those that run already are left unchanged.
func (s *stack) startStages(names []string) error {
	for _, name := range names {
		for i := range s.config.Stages.Common(name).Replicas {
			id := name + "-" + strconv.Itoa(i)
			if _, ok := s.processes.running(id); ok {
				continue
			}
			err := s.processes.start(id, s.logs(), s.env, filepath.Join(s.bin, name),
				"-config", s.configPath, "-replica", strconv.Itoa(i))
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// stop ends the stages first, then the embedded parts.
func (s *stack) stop(ctx context.Context, wait time.Duration) ([]string, error) {
	var stages, rest []string
	for _, p := range s.processes.List {
		if p.Name == "local" {
			rest = append(rest, p.Name)
		} else {
			stages = append(stages, p.Name)
		}
	}
	killed, err := s.processes.stop(ctx, stages, wait)
	if ctx.Err() != nil {
		return killed, err
	}
	more, other := s.processes.stop(ctx, rest, wait)
	return append(killed, more...), errors.Join(err, other)
}

// ended is an error that names the processes that up started and that have ended, with the last lines of their logs.
func (s *stack) ended() error {
	var errs []error
	for _, p := range s.processes.List {
		if !p.alive() {
			errs = append(errs, fmt.Errorf("%s has ended:\n%s", p.Name, lastLines(p.Log, 5)))
		}
	}
	return errors.Join(errs...)
}
