package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"forager/internal/platform/pipeline"
	"forager/internal/platform/process"
)

func main() {
	syscall.Umask(0o077) // files of the parts are accessible to the operator only
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	go func() {
		s := <-signals
		cancel(fmt.Errorf("%w: %s", errStopped, s))
		<-signals
		fmt.Fprintln(os.Stderr, "local: stopped at once")
		os.Exit(1)
	}()
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "local:", err)
		os.Exit(1)
	}
}

var errStopped = errors.New("stopped")

// run serves until ctx ends.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("local", flag.ContinueOnError)
	flags.SetOutput(stderr)
	config := flags.String("config", "pipeline.yaml", "the pipeline `file`: addresses, keys, data folder")
	names := flags.String("parts", "", "parts to serve, a `list` of kafka, s3, clickhouse; default: those with a loopback address")
	if err := flags.Parse(args); err != nil {
		return flag.ErrHelp
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unknown argument %q; parts are named by -parts", flags.Arg(0))
	}
	cfg, err := pipeline.Load(*config)
	if err != nil {
		return err
	}
	var wanted []string
	if *names != "" {
		wanted = strings.Split(*names, ",")
	}
	plan, err := choose(cfg, wanted)
	if err != nil {
		return err
	}
	log := cfg.Log(stderr)
	if text := cfg.S3.Outdated(); text != "" {
		log.Warn(text)
	}
	settings, err := share(cfg.Local, plan)
	if err != nil {
		return err
	}
	stop, err := process.Start(ctx, settings, process.NewRegistry(), log)
	if err != nil {
		return fmt.Errorf("local.%w", err)
	}
	defer stop()
	return serve(ctx, cfg, plan, stdout, log)
}
