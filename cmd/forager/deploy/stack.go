package deploy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"forager/internal/platform/pipeline"
)

// Stack is all programs of one pipeline file on this machine.
type Stack struct {
	configPath string
	Config     *pipeline.Config
	Bin        string
	Processes  *Processes
	// Env is added to the environment of every stage that is started (failpoints in tests).
	Env []string
}

// NewStack returns the stack of a pipeline file. The programs are in bin, by default the folder of this program.
func NewStack(path string, cfg *pipeline.Config, bin string) (*Stack, error) {
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
	p, err := OpenProcesses(cfg.Data)
	if err != nil {
		return nil, err
	}
	return &Stack{configPath: abs, Config: cfg, Bin: bin, Processes: p}, nil
}

func (s *Stack) Logs() string { return filepath.Join(s.Config.Data, "logs") }

// Part is one of the servers that infra/local can embed.
type Part struct {
	name, address string // "kafka", host:port
}

// parts are the servers of the configuration.
func parts(cfg *pipeline.Config) ([]Part, error) {
	list := []Part{{"kafka", cfg.Kafka.Brokers[0]}}
	for _, p := range []struct{ name, raw string }{{"s3", cfg.S3.Endpoint}, {"clickhouse", cfg.ClickHouse.URL}} {
		u, err := url.Parse(p.raw)
		if err != nil {
			return nil, fmt.Errorf("address of %s: %w", p.name, err)
		}
		host := u.Host
		if u.Port() == "" {
			host = net.JoinHostPort(u.Hostname(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
		}
		list = append(list, Part{p.name, host})
	}
	return list, nil
}

// Answers reports whether a TCP connection to the address can be made within a second.
func Answers(address string) bool {
	c, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		return false
	}
	c.Close()
	return true
}

// Loopback reports whether the host of an address is a loopback address.
func Loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	return err == nil && pipeline.Loopback(host)
}

// StartParts starts the embedded servers that are needed and waits until they respond. It returns those it started.
func (s *Stack) StartParts(ctx context.Context, wait time.Duration) ([]Part, error) {
	all, err := parts(s.Config)
	if err != nil {
		return nil, err
	}
	var need []Part
	var names []string
	for _, p := range all {
		if Loopback(p.address) && !Answers(p.address) {
			need = append(need, p)
			names = append(names, p.name)
		}
	}
	if len(need) == 0 {
		return nil, nil
	}
	if x, ok := s.Processes.Running("local"); ok {
		return nil, fmt.Errorf("%s is not answering, though the embedded parts run (process %d); see %s, or forager down first",
			need[0].name, x.PID, x.Log)
	}
	err = s.Processes.Start("local", s.Logs(), nil, filepath.Join(s.Bin, "local"),
		"-config", s.configPath, "-parts", strings.Join(names, ","))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	for _, p := range need {
		for !s.ready(ctx, p) {
			x, ok := s.Processes.Running("local")
			if !ok {
				return nil, fmt.Errorf("the embedded parts ended:\n%s", LastLines(filepath.Join(s.Logs(), "local.log"), 10))
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
func (s *Stack) ready(ctx context.Context, p Part) bool {
	if p.name != "clickhouse" {
		return Answers(p.address)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(s.Config.ClickHouse.URL, "/")+"/ping", nil)
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

// StartStages starts the named stages, each with its number of replicas; those that run already are left unchanged.
func (s *Stack) StartStages(names []string) error {
	for _, name := range names {
		for i := range s.Config.Stages.Common(name).Replicas {
			id := name + "-" + strconv.Itoa(i)
			if _, ok := s.Processes.Running(id); ok {
				continue
			}
			err := s.Processes.Start(id, s.Logs(), s.Env, filepath.Join(s.Bin, name),
				"-config", s.configPath, "-replica", strconv.Itoa(i))
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// Stop ends the stages first, then the embedded parts.
func (s *Stack) Stop(ctx context.Context, wait time.Duration) ([]string, error) {
	var stages, rest []string
	for _, p := range s.Processes.List {
		if p.Name == "local" {
			rest = append(rest, p.Name)
		} else {
			stages = append(stages, p.Name)
		}
	}
	killed, err := s.Processes.Stop(ctx, stages, wait)
	if ctx.Err() != nil {
		return killed, err
	}
	more, other := s.Processes.Stop(ctx, rest, wait)
	return append(killed, more...), errors.Join(err, other)
}

// Ended is an error that names the processes that up started and that have ended, with the last lines of their logs.
func (s *Stack) Ended() error {
	var errs []error
	for _, p := range s.Processes.List {
		if !p.Alive() {
			errs = append(errs, fmt.Errorf("%s has ended:\n%s", p.Name, LastLines(p.Log, 5)))
		}
	}
	return errors.Join(errs...)
}
