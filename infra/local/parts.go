package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"forager/infra/local/clickhouse"
	"forager/infra/local/kafka"
	"forager/infra/local/s3"
	"forager/internal/platform/archive"
	"forager/internal/platform/pipeline"
)

// part is one server.
type part struct {
	name string
	// addresses to listen on, host:port.
	addresses []string
	// elsewhere is the reason why it is not served here; empty = it is served.
	elsewhere string
}

// choose selects the parts to serve: the wanted ones, or those with loopback addresses.
func choose(cfg *pipeline.Config, wanted []string) ([]part, error) {
	all := []part{
		{name: "clickhouse"}, {name: "s3"}, {name: "kafka", addresses: cfg.Kafka.Brokers},
	}
	var problems [3]error
	all[0].addresses, problems[0] = httpAddress(cfg.ClickHouse.URL)
	all[1].addresses, problems[1] = httpAddress(cfg.S3.Endpoint)
	if cfg.Kafka.TLS.Enabled || cfg.Kafka.SASL.Mechanism != "" {
		problems[2] = errors.New("the embedded broker has no TLS and generates its password by itself; take kafka.tls and kafka.sasl out of the pipeline file")
	}
	if c := cfg.ClickHouse; (c.User != "" && c.User != "default") || c.PasswordEnv != "" {
		problems[0] = errors.Join(problems[0], errors.New("the embedded ClickHouse has the user default only and generates its password by itself; take clickhouse.user and clickhouse.password_env out of the pipeline file"))
	}
	for _, w := range wanted {
		if !slices.ContainsFunc(all, func(p part) bool { return p.name == w }) {
			return nil, fmt.Errorf("no part is called %q; there are kafka, s3, clickhouse", w)
		}
	}
	served := 0
	for i := range all {
		p := &all[i]
		foreign := slices.IndexFunc(p.addresses, func(a string) bool { return !loopback(a) })
		switch {
		case wanted != nil && !slices.Contains(wanted, p.name):
			p.elsewhere = "not asked for"
			continue
		case foreign >= 0 && wanted == nil:
			p.elsewhere = "the pipeline file names " + p.addresses[foreign]
			continue
		case foreign >= 0:
			return nil, fmt.Errorf("%s: %s is not a loopback address, and the embedded parts listen on no other", p.name, p.addresses[foreign])
		case problems[i] != nil:
			return nil, fmt.Errorf("%s: %w", p.name, problems[i])
		}
		served++
	}
	if served == 0 {
		return nil, errors.New("nothing to serve: the pipeline file names no loopback address")
	}
	return all, nil
}

// leastGo is the minimum of local.memory_bytes that remains for the parts written in Go.
const leastGo = 64 << 20

// share returns the settings of the process with the memory that ClickHouse and its engine leave.
func share(set pipeline.Local, plan []part) (pipeline.Process, error) {
	served := slices.ContainsFunc(plan, func(p part) bool { return p.name == "clickhouse" && p.elsewhere == "" })
	if !served || set.MemoryBytes == 0 || set.ClickHouseBytes == 0 {
		return set.Process, nil
	}
	rest := set.MemoryBytes - set.ClickHouseBytes - clickhouse.EngineBytes
	if rest < leastGo {
		return pipeline.Process{}, fmt.Errorf("local.memory_bytes is %d; with this clickhouse_bytes it must be %d at least: the engine's program and the other parts need the rest",
			set.MemoryBytes, set.ClickHouseBytes+clickhouse.EngineBytes+leastGo)
	}
	set.MemoryBytes = rest
	return set.Process, nil
}

func httpAddress(raw string) ([]string, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return nil, err
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443"}[u.Scheme]
	}
	if port == "" {
		port = "80"
	}
	address := []string{net.JoinHostPort(u.Hostname(), port)}
	if u.Scheme != "http" {
		return address, fmt.Errorf("%s: the embedded parts serve http:// only", raw)
	}
	return address, nil
}

func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	return err == nil && pipeline.Loopback(host)
}

// serve runs the parts of the plan until ctx ends or one of them does.
func serve(ctx context.Context, cfg *pipeline.Config, plan []part, out io.Writer, log *slog.Logger) (err error) {
	if err := cfg.MakeData(); err != nil {
		return err
	}
	dir := filepath.Join(cfg.Data, "local")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	unlock, err := lock(filepath.Join(dir, "lock"))
	if err != nil {
		return err
	}
	defer unlock()
	var stops []func() error
	defer func() {
		err = errors.Join(err, stopAll(stops))
		if err == nil {
			fmt.Fprintln(out, "stopped")
		}
	}()
	ended := make(<-chan struct{})
	// ClickHouse is started first: S3 changes the working directory, in which the engine is searched.
	for _, p := range plan {
		if p.elsewhere != "" {
			fmt.Fprintf(out, "%-12s not served: %s\n", p.name, p.elsewhere)
			continue
		}
		at := p.addresses[0]
		login, err := cfg.MakeSecret(p.name)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		switch p.name {
		case "clickhouse":
			s, err := clickhouse.Start(ctx, filepath.Join(dir, p.name), at, clickhouse.Settings{
				MemoryBytes: cfg.Local.ClickHouseBytes, Password: login.Password, Archive: cfg.S3.URL(archive.Folder), Confine: true, Log: log,
			})
			if err != nil {
				return busy(err, "clickhouse.url", at)
			}
			stops = append(stops, s.Close)
		case "s3":
			e, err := s3.Start(ctx, filepath.Join(dir, p.name), at, s3.Settings{AccessKey: login.User, SecretKey: login.Password, Region: cfg.S3.Region})
			if err != nil {
				return busy(err, "s3.endpoint", at)
			}
			ended = e.Ended()
			stops = append(stops, e.Close)
		case "kafka":
			b, err := kafka.Start(ctx, filepath.Join(dir, p.name), p.addresses, kafka.Settings{
				User: login.User, Password: login.Password, MaxRequestBytes: largestRequest(cfg), Log: log,
			})
			if err != nil {
				return busy(err, "kafka.brokers", strings.Join(p.addresses, ", "))
			}
			stops = append(stops, func() error { b.Close(); return nil })
			at = strings.Join(p.addresses, ", ")
		}
		fmt.Fprintf(out, "%-12s ready at %s\n", p.name, at)
	}
	fmt.Fprintln(out, "ready")
	select {
	case <-ctx.Done():
		return nil
	case <-ended:
		return errors.New("the S3 endpoint ended by itself")
	}
}

// largestRequest returns twice the size of the largest record of any topic, in bytes: uncompressed batches may
// be larger than compressed ones.
func largestRequest(cfg *pipeline.Config) int {
	largest := 0
	for _, t := range cfg.Topics {
		largest = max(largest, t.MaxMessageBytes)
	}
	return 2 * largest
}

// busy adds the remedy to the error of an address in use.
func busy(err error, field, address string) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%w; if that is a server of your own, leave the part out of -parts, else change %s (%s)", err, field, address)
	}
	return err
}

// stopAll stops the parts concurrently.
func stopAll(stops []func() error) error {
	errs := make([]error, len(stops))
	var wg sync.WaitGroup
	for i, stop := range stops {
		wg.Go(func() { errs[i] = stop() })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// lock ensures that no other process serves the folder.
func lock(path string) (func(), error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("another process serves the embedded parts of %s (%w)", filepath.Dir(path), err)
	}
	return func() { _ = f.Close() }, nil
}
