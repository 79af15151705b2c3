package stagemain

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"github.com/prometheus/client_golang/prometheus"

	"forager/internal/platform/objects"
	"forager/internal/platform/pipeline"
	"forager/internal/platform/process"
	"forager/internal/stream/kafka"
)

// Env is the environment of a stage.
type Env struct {
	Config *pipeline.Config
	// Stage is the stage's name ("parse-dom"), Replica the number of this process among those of
	// the stage, from 0.
	Stage   string
	Replica int
	// Log has the attributes stage and replica.
	Log *slog.Logger
	// Metrics is served at the configured address, under /metrics.
	Metrics *prometheus.Registry
	// Handle adds a handler to the address of the metrics; nil = there is none.
	Handle func(pattern string, h http.Handler)
	// StateDir is the stage's state directory, shared by its replicas on this machine. It may not
	// exist yet.
	StateDir string
	// Kafka is the client of the broker, and Objects the store if the stage declares it. Run sets both.
	Kafka   *kafka.Client
	Objects *objects.Store
}

// Main runs a stage and ends the process. The first SIGTERM or SIGINT ends the context of Run, which drains and
// returns.
func Main(s Stage) {
	os.Exit(start(s.Name, os.Args[1:], os.Stderr, s.Run))
}

// Exit codes.
const (
	exitOK       = 0
	exitError    = 1
	exitUsage    = 2
	exitBySignal = 128
)

func start(stage string, args []string, stderr io.Writer, run func(context.Context, *Env) error) int {
	flags := flag.NewFlagSet(stage, flag.ContinueOnError)
	flags.SetOutput(stderr)
	path := flags.String("config", "pipeline.yaml", "pipeline `file`")
	replica := flags.Int("replica", 0, "`number` of this process among those of the stage, from 0")
	check := flags.Bool("check", false, "read the pipeline file, report every problem, and end")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case err != nil:
		return exitUsage
	case flags.NArg() > 0:
		fmt.Fprintf(stderr, "%s: unexpected argument %q\n", stage, flags.Arg(0))
		return exitUsage
	case *replica < 0:
		fmt.Fprintf(stderr, "%s: -replica is %d; it counts from 0\n", stage, *replica)
		return exitUsage
	}
	cfg, err := pipeline.Load(*path)
	if err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", stage, err)
		return exitError
	}
	if *check {
		return exitOK
	}
	syscall.Umask(0o077) // only the operator may read the state
	if err := cfg.MakeData(); err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", stage, err)
		return exitError
	}
	ctx, interrupted, stop := untilSignal()
	defer stop()
	err = serve(ctx, cfg, stage, *replica, stderr, run)
	if err != nil && !(interrupted() && errors.Is(err, context.Canceled)) {
		fmt.Fprintf(stderr, "%s: %v\n", stage, err)
		return exitError
	}
	return exitOK
}

// untilSignal returns a context that ends with SIGTERM or SIGINT; another one ends the process.
func untilSignal() (ctx context.Context, interrupted func() bool, stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	done := make(chan struct{})
	go func() {
		for first := true; ; first = false {
			select {
			case s := <-signals:
				if n, ok := s.(syscall.Signal); ok && !first {
					os.Exit(exitBySignal + int(n))
				}
				cancel()
			case <-done:
				return
			}
		}
	}()
	return ctx, func() bool { return ctx.Err() != nil }, func() {
		signal.Stop(signals)
		close(done)
		cancel()
	}
}

// serve runs the stage and its metrics endpoint.
func serve(ctx context.Context, cfg *pipeline.Config, stage string, replica int, stderr io.Writer, run func(context.Context, *Env) error) error {
	env := &Env{
		Config: cfg, Stage: stage, Replica: replica,
		Log:      cfg.Log(stderr).With("stage", stage, "replica", replica),
		Metrics:  process.NewRegistry(),
		StateDir: cfg.StateDir(stage),
	}
	info := prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "forager", Subsystem: "stage", Name: "info",
		Help: "1; its labels are the stage and the replica of the process.", ConstLabels: prometheus.Labels{"stage": stage, "replica": strconv.Itoa(replica)}})
	info.Set(1)
	env.Metrics.MustRegister(info)

	settings := cfg.Stages.Common(stage).Process
	var err error
	if settings.Metrics, err = pipeline.ReplicaAddress(settings.Metrics, replica); err != nil {
		return fmt.Errorf("stages.%s.metrics: %w", stage, err)
	}
	serveMore := func(mux *http.ServeMux, _ prometheus.Gatherer) { env.Handle = mux.Handle }
	stop, err := process.Start(ctx, settings, env.Metrics, env.Log, handleProbes, serveMore)
	if err != nil {
		return fmt.Errorf("stages.%s.%w", stage, err)
	}
	defer stop()
	env.Log.Info("started", "pid", os.Getpid())
	if err := run(ctx, env); err != nil {
		return err
	}
	env.Log.Info("ended")
	return nil
}
